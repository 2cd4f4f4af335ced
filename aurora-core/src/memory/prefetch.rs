//! Prefetches elements into the processor's cache before they are needed.
//!
//! Why the unsafe code is sound:
//!
//! 1. A prefetch is a hint: nothing that the program can observe changes, and no address faults.
#![allow(unsafe_code)]

#[derive(Debug)]
pub(crate) struct Prefetch<T>(*const T);

impl<T> Prefetch<T> {
    pub(crate) fn of(elements: &[T]) -> Self {
        Prefetch(elements.as_ptr())
    }

    /// The elements from `start` on.
    pub(super) fn from(start: *const T) -> Self {
        Prefetch(start)
    }

    /// Prefetches element `at`, if there is such an element.
    #[inline(always)]
    pub(crate) fn fetch(&self, at: usize) {
        let element = self.0.wrapping_add(at);
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: invariant 1.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(element.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = element;
    }
}
