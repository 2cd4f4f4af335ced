//! Edges are exchanged by Neighbor_alltoallv on a line of ranks, the MPI collective that is made for the purpose.

use super::rows::Rows;
use crate::clock::{Clock, Kind, Laps};
use crate::diffusion::parallel::{EDGES, STENCIL};
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::neighbours::Neighbours;
use aurora_core::prelude::*;

/// The line of ranks.
pub struct Collective(Neighbours);

impl Collective {
    /// Collective. Makes the line of ranks.
    pub fn new(ranks: &MpiRanks<'_>, rows: &Rows) -> Result<Self> {
        let count = rows.count();
        let with = |neighbour: usize, row: usize| rows.neighbours[neighbour].map_or(0..0, |_| rows.place(row));
        let (edges, rooms) = ([with(0, 1), with(1, count)], [with(0, 0), with(1, count + 1)]);
        Ok(Collective(Neighbours::new(ranks, edges, rooms)?))
    }

    /// Collective. Computes `steps` steps.
    pub fn steps(&self, ranks: &MpiRanks<'_>, rows: &mut Rows, steps: usize) -> Result<Laps> {
        let own = rows.cols..(rows.count() + 1) * rows.cols;
        let mut clock = Clock::start(ranks)?;
        clock.part(EDGES, Kind::Sharing, || {
            self.0.exchange(&mut rows.now);
            Ok(())
        })?;
        for _ in 0..steps {
            clock.part(STENCIL, Kind::Computing, || {
                let count = rows.count();
                let (present, next) = rows.both();
                present.step(1..count + 1, &mut next[own.clone()]);
                Ok(())
            })?;
            clock.part(EDGES, Kind::Sharing, || {
                self.0.exchange(&mut rows.next);
                Ok(())
            })?;
            rows.turn();
        }
        clock.stop()
    }
}
