//! Allgather of parts that stand in their places already: with MPI_IN_PLACE no rank copies its own. rsmpi lacks it, as
//! it is a macro, so its value is known here of the MPIs that are.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. MPI reads and writes the buffer that the caller has lent for the call, and of it the parts alone: they are
//!    checked against it.
//! 2. The call returns when that is done: MPI keeps no pointer.
//! 3. MPI_IN_PLACE is told from pointers by its value, and not followed.
#![allow(unsafe_code)]

use super::Parts;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Equivalence;
use std::ffi::c_void;

/// MPI_IN_PLACE.
#[derive(Clone, Copy, Debug)]
pub struct InPlace(*const c_void);

impl InPlace {
    /// That of this MPI, if it is known.
    pub fn known() -> Option<Self> {
        let version = mpi::environment::library_version().ok()?;
        let values = [("Open MPI", 1), ("MPICH", usize::MAX)];
        let value = values.into_iter().find_map(|(name, value)| version.starts_with(name).then_some(value))?;
        Some(InPlace(std::ptr::without_provenance(value)))
    }

    /// Collective. The parts of `whole`, each from the rank whose it is, to all.
    ///
    /// # Panics
    /// If the buffer is shorter than they are.
    pub fn all_gather<T: Equivalence>(self, comm: &SimpleCommunicator, parts: &Parts, whole: &mut [T]) {
        assert!(parts.total() <= whole.len(), "{} elements, and parts of {}", whole.len(), parts.total());
        let (start, datatype, InPlace(in_place)) = (whole.as_mut_ptr(), T::equivalent_datatype(), self);
        if parts.are_equal() {
            let each = parts.counts.first().copied().unwrap_or(0);
            // SAFETY: invariants 1 to 3.
            unsafe {
                ffi::MPI_Allgather(
                    in_place,
                    0,
                    datatype.as_raw(),
                    start.cast(),
                    each,
                    datatype.as_raw(),
                    comm.as_raw(),
                );
            }
        } else {
            // SAFETY: invariants 1 to 3.
            unsafe {
                ffi::MPI_Allgatherv(
                    in_place,
                    0,
                    datatype.as_raw(),
                    start.cast(),
                    parts.counts.as_ptr(),
                    parts.starts.as_ptr(),
                    datatype.as_raw(),
                    comm.as_raw(),
                );
            }
        }
    }
}
