//! Ranks in a line. Each rank exchanges edges with the rank before it and the rank behind it, by the MPI collective
//! that is made for the purpose, which rsmpi lacks.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. MPI reads and writes only within the buffer that the caller has lent for the call: all ranges are checked against
//!    the buffer.
//! 2. The ranges that MPI writes overlap neither each other nor the ranges that MPI reads: this is checked too.
//! 3. The call returns when MPI has finished: MPI keeps no pointer.
//! 4. There are two counts and two displacements, as the communicator is a line: one for each neighbour, also at an end
//!    of the line, where a neighbour is missing.
#![allow(unsafe_code)]

use super::{MpiRanks, Parts, TooMany};
use aurora_core::prelude::*;
use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::CartesianCommunicator;
use mpi::traits::{Communicator, Equivalence};
use std::ops::Range;

/// The ranges to exchange with the rank before this one, and with the rank behind it.
pub type Both = [Range<usize>; 2];

/// A line of ranks.
pub struct Neighbours {
    comm: CartesianCommunicator,
    edges: Parts,
    rooms: Parts,
    end: usize,
}

impl Neighbours {
    /// Collective. Makes a line of the ranks in their order. The ranges `edges` of a buffer go to the two neighbours,
    /// and the neighbours' edges are received into the ranges `rooms` of the buffer. Nothing is exchanged with a
    /// missing neighbour.
    ///
    /// # Errors
    /// [`TooMany`].
    ///
    /// # Panics
    /// If a room overlaps the other room or an edge.
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
    /// If the buffer is shorter than the ranges to exchange.
    pub fn exchange<T: Equivalence>(&self, buffer: &mut [T]) {
        assert!(self.end <= buffer.len(), "{} elements, of which {} are exchanged", buffer.len(), self.end);
        let (start, datatype) = (buffer.as_mut_ptr(), T::equivalent_datatype());
        // SAFETY: invariants 1 to 4. Sends and receives use one pointer, so that neither use invalidates the other.
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
