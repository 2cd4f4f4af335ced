//! Kinds of scopes, for code that is generic over scopes, and for writing out the type of a guard.
//!
//! A guard is a [`Scope`](crate::Scope) of a kind: [`ReadCache<'v, T>`](crate::ReadCache) is `Scope<'v, Cached<T>>`.
//! The traits say which methods the guards of a kind have. They bound the kind `B` of a `Scope<'_, B>`, not the guard
//! itself, and they are sealed: the kinds are those of this crate. `guard[i]` belongs to none of these traits: guards
//! implement `Index` directly.
//!
//! | trait | guards | methods |
//! |---|---|---|
//! | [`Behaviour`] | every scope | `finish`, `window` |
//! | [`ShowsElements`] | OwnerComputes, HaloCache, ReadCache, ReadCacheReleaseC | `get`, `iter`, `iter_rows` |
//! | [`ShowsElementsMut`] | OwnerComputesMut, HaloCacheMut | `iter_mut`, `iter_rows_mut` |
//! | [`HasOwnPart`] | OwnerComputes, HaloCache | `indices`, `local` |
//! | [`ShowsOwnPart`] | OwnerComputes | `at` of [`GlobalRead`](crate::GlobalRead) |
//! | [`Buffered`] | ReleaseC, ReleaseAlone | `put`, `put_slice`, `update` |
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

pub use crate::behaviour::kinds::*;
pub use crate::scalar::behaviour::{
    Last as ScalarLast, Mostly as ScalarMostly, Partial as ScalarPartial, ScalarBehaviour, Shown as ScalarShown,
};

use crate::encoding::ScalarValue;
use std::fmt;

/// `Debug` of a kind shows its name only; `Debug` of the guard shows the rest.
macro_rules! named {
    ($([$($generics:tt)*] $kind:ty;)*) => {$(
        impl<$($generics)*> fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Self::NAME)
            }
        }
    )*};
}

named! {
    [T: ScalarValue] ScalarLast<T>;
    [T: ScalarValue, O] ScalarMostly<T, O>;
    [T: ScalarValue, O] ScalarPartial<T, O>;
    [T: ScalarValue] ScalarShown<T>;
}
