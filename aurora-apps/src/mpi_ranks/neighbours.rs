//! Ranks in a line, each of which exchanges edges with the one before it and the one behind it, by MPI's collective
//! operation that is made for it, which rsmpi lacks.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. What MPI reads and writes lies in the buffer that the caller has lent for the call: all ranges are checked
//!    against it.
//! 2. What it writes does not overlap what it reads, or anything else that it writes: checked too.
//! 3. The call returns when both is done: MPI keeps no pointer.
//! 4. Counts and displacements are two each, as the communicator is a line: one for each neighbour, also where there is
//!    none.
#![allow(unsafe_code)]

use super::{MpiRanks, Parts, TooMany};
use aurora_core::prelude::*;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::CartesianCommunicator;
use mpi::traits::{Communicator, Equivalence};
use std::ops::Range;

/// What is exchanged with the rank before this one, and with the one behind it.
pub type Both = [Range<usize>; 2];

/// A line of ranks.
pub struct Neighbours {
    comm: CartesianCommunicator,
    edges: Parts,
    rooms: Parts,
    end: usize,
}

impl Neighbours {
    /// Collective. The ranks in their order. `edges` of a buffer go to the two neighbours, and theirs come into `rooms`
    /// of it; with a neighbour that is not there nothing is exchanged.
    ///
    /// # Errors
    /// [`TooMany`].
    ///
    /// # Panics
    /// If a room overlaps the other or an edge.
    pub fn new(ranks: &MpiRanks<'_>, edges: Both, rooms: Both) -> Result<Self> {
        let size = i32::try_from(ranks.size()).map_err(|_| Error::user(TooMany::of(ranks.size())))?;
        let comm = ranks.comm.create_cartesian_communicator(&[size], &[false], false);
        let comm = comm.expect("as many places as ranks");
        let apart =
            |a: &Range<usize>, b: &Range<usize>| a.is_empty() || b.is_empty() || a.end <= b.start || b.end <= a.start;
        assert!(apart(&rooms[0], &rooms[1]), "rooms apart");
        assert!(edges.iter().all(|edge| rooms.iter().all(|room| apart(edge, room))), "edges apart from rooms");
        let end = edges.iter().chain(&rooms).map(|range| range.end).max().unwrap_or(0);
        Ok(Neighbours { comm, edges: Parts::new(edges)?, rooms: Parts::new(rooms)?, end })
    }

    /// Collective. Exchanges the edges of this buffer.
    ///
    /// # Panics
    /// If it is shorter than what is exchanged.
    pub fn exchange<T: Equivalence>(&self, buffer: &mut [T]) {
        assert!(self.end <= buffer.len(), "{} elements, of which {} are exchanged", buffer.len(), self.end);
        let (start, datatype) = (buffer.as_mut_ptr(), T::equivalent_datatype());
        // SAFETY: invariants 1 to 4; one pointer for both, so that neither use forbids the other.
        unsafe {
            ffi::MPI_Neighbor_alltoallv(
                start.cast_const().cast(),
                self.edges.counts.as_ptr(),
                self.edges.starts.as_ptr(),
                datatype.as_raw(),
                start.cast(),
                self.rooms.counts.as_ptr(),
                self.rooms.starts.as_ptr(),
                datatype.as_raw(),
                self.comm.as_raw(),
            );
        }
    }
}
