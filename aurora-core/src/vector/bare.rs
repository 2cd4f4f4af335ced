//! The compiler's message about `v[i]` on a bare vector. An element may lie on another rank, so there is no `&T` for
//! `Index` to return. The implementation applies to no type of index: it exists for the message of [`BareIndex`].

use super::GVector;
use crate::Element;
use std::ops::Index;

/// A type that indexes a bare vector: there is none.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a bare `GVector` cannot be indexed",
    label = "the element may lie on another rank: `v.at(i)?` reads it, `v.put(i, x)?` writes it",
    note = "`v[i]` is for the guard of a scope: `let v = v.read_cache()?;` shows all of it, `let v = v.owner_computes()?;` this rank's part, \
            `let mut v = v.owner_computes_mut()?;` the same for writing"
)]
#[allow(unnameable_types, reason = "there for the message of the compiler")]
pub trait BareIndex {
    /// Never called, because no type implements this.
    fn never(&self) -> !;
}

#[doc(hidden)]
impl<T: Element, I: BareIndex> Index<I> for GVector<T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}
