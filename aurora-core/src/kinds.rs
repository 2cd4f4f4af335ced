//! Kinds of scopes, for code that is generic over them, and for types that spell a guard out.
//!
//! A guard is a [`Scope`](crate::Scope) of a kind: [`ReadCache<'v, T>`](crate::ReadCache) is `Scope<'v, Cached<T>>`.
//! The traits say which methods the guards of a kind have. They are sealed: the kinds are those of this crate.
//!
//! | trait | of the guards of | methods |
//! |---|---|---|
//! | [`Behaviour`] | every scope | `finish`, `window` |
//! | [`ShowsElements`] | OwnerComputes, HaloCache, ReadCache, ReadCacheReleaseC | `[i]`, `get`, `iter`, `iter_rows` |
//! | [`ShowsElementsMut`] | OwnerComputesMut, HaloCacheMut | `iter_mut`, `iter_rows_mut` |
//! | [`HasOwnPart`] | OwnerComputes, HaloCache | `indices`, `local` |
//! | [`Buffered`] | ReleaseC, ReleaseAlone, ReadCacheReleaseC | `put`, `put_slice`, `update` |
//! | [`ScalarBehaviour`] | every [`ScalarScope`](crate::ScalarScope) | `finish` |
//!
//! ```
//! use aurora_core::kinds::ShowsElements;
//! use aurora_core::{Scope, prelude::*};
//!
//! /// The mean of the elements that a guard shows, of any kind.
//! fn mean<B: ShowsElements<Element = f64>>(shown: &Scope<'_, B>) -> f64 {
//!     shown.iter().sum::<f64>() / shown.iter().len() as f64
//! }
//!
//! Config::threads(2).run(|world| {
//!     let v = GVector::<f64>::from_fn(world, 4, |i| i as f64)?;
//!     assert_eq!(mean(&v.read_cache()?), 1.5);
//!     assert_eq!(mean(&v.owner_computes()?), [0.5, 2.5][world.rank().index()]);
//!     Ok(())
//! })?;
//! # Ok::<(), Error>(())
//! ```

pub use crate::behaviour::{
    Accumulated, Alone, Batched, Behaviour, Buffered, Cached, Combined, Haloed, HasOwnPart, Owner, OwnerMut, Pages,
    PutOnly, ShowsElements, ShowsElementsMut, ShowsOwnPart, Streamed, Together,
};
pub use crate::scalar::behaviour::{
    Last as ScalarLast, Mostly as ScalarMostly, Partial as ScalarPartial, ScalarBehaviour, Shown as ScalarShown,
};
