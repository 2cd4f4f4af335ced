//! Allgather of parts that are in their places already: with MPI_IN_PLACE no rank copies its own part. MPI_IN_PLACE is
//! a macro, so rsmpi lacks it; this file has its values for the known MPI implementations.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. MPI reads and writes only the parts of the buffer that the caller has lent for the call. The parts are checked
//!    against the buffer.
//! 2. The call returns when MPI has finished: MPI keeps no pointer.
//! 3. MPI recognises MPI_IN_PLACE by its value and does not dereference it.
#![allow(unsafe_code)]

use super::Parts;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Equivalence;
use std::ffi::c_void;

/// The value of MPI_IN_PLACE.
#[derive(Clone, Copy, Debug)]
pub struct InPlace(*const c_void);

impl InPlace {
    /// Returns the value in this MPI, if it is known.
    pub fn known() -> Option<Self> {
        let version = mpi::environment::library_version().ok()?;
        let values = [("Open MPI", 1), ("MPICH", usize::MAX)];
        let value = values.into_iter().find_map(|(name, value)| version.starts_with(name).then_some(value))?;
        Some(InPlace(std::ptr::without_provenance(value)))
    }

    /// Collective. Sends each rank's part of `whole` to all ranks.
    ///
    /// # Panics
    /// If the buffer is shorter than the parts.
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
