//! A caller's own memory, lent to the I/O loop for one call.
//!
//! `distmemcpy` sends from and receives into slices of the caller. The loop may run on another thread, so it gets a
//! pointer. Why that is sound:
//!
//! 1. The pointer comes from a borrowed slice and is valid for its length as long as that borrow lasts.
//! 2. It is dereferenced only through a table of the kernel, under the endpoint's lock.
//! 3. [`with_lent`] and [`with_lent_mut`] withdraw it from that table, under the same lock, before they return or
//!    unwind. They hold the borrow until then, and keep the guard that withdraws, so it cannot be forgotten.
//! 4. The bytes of an [`Element`] may be read and written freely: it is plain data without padding.
//! 5. Between lending and withdrawal the caller's code does not run, so nobody else uses a slice lent mutably.

#![allow(unsafe_code)]

use crate::Element;

pub(crate) struct Lent(*const [u8]);

pub(crate) struct LentMut(*mut [u8]);

// SAFETY: invariants 1 to 3: valid on any thread that holds the endpoint's lock, and withdrawn before the borrow ends.
unsafe impl Send for Lent {}
// SAFETY: as above, and by invariant 5 no other access exists.
unsafe impl Send for LentMut {}

impl Lent {
    /// Copies bytes from `offset` on; false outside the slice.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        // SAFETY: invariants 1 and 4.
        let lent = unsafe { &*self.0 };
        let bytes = offset.checked_add(into.len()).and_then(|end| lent.get(offset..end));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}

impl LentMut {
    /// Writes bytes at `offset`; false outside the slice.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) -> bool {
        // SAFETY: invariants 1, 4 and 5.
        let lent = unsafe { &mut *self.0 };
        let place = offset.checked_add(bytes.len()).and_then(|end| lent.get_mut(offset..end));
        place.map(|place| place.copy_from_slice(bytes)).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Gives `slices` to `lend`, runs `during`, and calls `withdraw` before it returns (invariant 3).
pub(crate) fn with_lent<T: Element, R>(
    slices: &[&[T]],
    lend: impl FnOnce(Vec<Lent>),
    withdraw: impl FnOnce(),
    during: impl FnOnce() -> R,
) -> R {
    scopeguard::defer!(withdraw());
    lend(slices.iter().map(|slice| Lent(bytemuck::cast_slice(slice))).collect());
    during()
}

pub(crate) fn with_lent_mut<T: Element, R>(
    slices: &mut [&mut [T]],
    lend: impl FnOnce(Vec<LentMut>),
    withdraw: impl FnOnce(),
    during: impl FnOnce() -> R,
) -> R {
    scopeguard::defer!(withdraw());
    lend(slices.iter_mut().map(|slice| LentMut(bytemuck::cast_slice_mut(slice))).collect());
    during()
}
