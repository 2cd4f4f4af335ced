//! Edges are exchanged by Isend and Irecv, as in the paper's programs, while the rows between them are computed.
//!
//! A step of a small plate takes some microseconds: a step allocates nothing, and it reads the clock as often as the
//! other versions.

use super::rows::Rows;
use crate::clock::{Clock, Laps, Turns};
use crate::diffusion::parallel::{EDGES, STENCIL};
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;
use mpi::request::{Request, scope};
use mpi::traits::{Destination, Source};
use std::time::Duration;

/// Both neighbours: the ranks before and behind.
pub struct Isend {
    neighbours: [Option<usize>; 2],
}

impl Isend {
    /// Takes the neighbours of `rows`.
    pub fn new(_: &MpiRanks<'_>, rows: &Rows) -> Self {
        Isend { neighbours: rows.neighbours }
    }

    /// Collective. Computes `steps` steps.
    pub fn steps(&self, ranks: &MpiRanks<'_>, rows: &mut Rows, steps: usize) -> Result<Laps> {
        let mut clock = Clock::start(ranks)?;
        clock.overlapping((EDGES, STENCIL), |turns| {
            // The present plate's edges are exchanged before anything is computed.
            rows.turn();
            self.exchange(ranks, rows, turns, false);
            rows.turn();
            for _ in 0..steps {
                self.exchange(ranks, rows, turns, true);
                rows.turn();
            }
            // The time for which edges were in transit is unknown.
            Ok(Duration::ZERO)
        })?;
        clock.stop()
    }

    /// Collective. Exchanges the edges of the next plate. If `computes`, it first computes the edges, and then the rows
    /// between them while edges are in transit. Receives are posted before anything else: the rows that they overwrite
    /// were last read in the step before.
    fn exchange(&self, ranks: &MpiRanks<'_>, rows: &mut Rows, turns: &mut Turns, computes: bool) {
        let (count, cols) = (rows.count(), rows.cols);
        let (present, next) = rows.both();
        let (before, rest) = next.split_at_mut(cols);
        let (own, behind) = rest.split_at_mut(count * cols);
        let (first, others) = own.split_at_mut(cols.min(count * cols));
        let (between, last) = others.split_at_mut(count.saturating_sub(2) * cols);
        let step = |row: usize, next: &mut [f64]| {
            if computes {
                present.step(row..row + next.len() / cols, next);
            }
        };
        let neighbours = self.neighbours.map(|neighbour| neighbour.map(|rank| ranks.rank(rank)));
        let [above, below] = &neighbours;
        scope(|scope| {
            let receives = [
                above.as_ref().map(|rank| rank.immediate_receive_into(scope, before)),
                below.as_ref().map(|rank| rank.immediate_receive_into(scope, behind)),
            ];
            turns.computing(|| {
                step(1, first);
                step(count, last);
            });
            let (first, last) = (&*first, &*last);
            // If there is one row, both edges are the same row.
            let last = if last.is_empty() { first } else { last };
            let sends = [
                above.as_ref().map(|rank| rank.immediate_send(scope, first)),
                below.as_ref().map(|rank| rank.immediate_send(scope, last)),
            ];
            turns.computing(|| step(2, between));
            receives.into_iter().chain(sends).flatten().for_each(Request::wait_without_status);
        });
    }
}
