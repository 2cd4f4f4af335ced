//! Edges are exchanged by Isend and Irecv, as the paper's programs do, while the rows between them are computed.

use super::rows::Rows;
use crate::clock::{Clock, Kind, Laps};
use crate::diffusion::parallel::{EDGES, STENCIL};
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;
use mpi::request::multiple_scope;
use mpi::traits::{Destination, Source};

/// Both neighbours: the ranks before and behind.
pub struct Isend {
    neighbours: [Option<usize>; 2],
}

impl Isend {
    /// Those of these rows.
    pub fn new(_: &MpiRanks<'_>, rows: &Rows) -> Self {
        Isend { neighbours: rows.neighbours }
    }

    /// Collective. So many steps.
    pub fn steps(&self, ranks: &MpiRanks<'_>, rows: &mut Rows, steps: usize) -> Result<Laps> {
        let mut clock = Clock::start(ranks)?;
        // The present plate's edges, and nothing is computed yet.
        rows.turn();
        self.exchange(ranks, rows, &mut clock, false)?;
        rows.turn();
        for _ in 0..steps {
            self.exchange(ranks, rows, &mut clock, true)?;
            rows.turn();
        }
        clock.stop()
    }

    /// Collective. Exchanges the edges of the next plate, where `computes` of which it computes first; then what is between them, while edges are
    /// on their way. Receives are posted before anything else: what they write was last read in the step before.
    fn exchange(&self, ranks: &MpiRanks<'_>, rows: &mut Rows, clock: &mut Clock<'_>, computes: bool) -> Result<()> {
        let (count, cols) = (rows.count(), rows.cols);
        let (present, next) = rows.both();
        let (before, rest) = next.split_at_mut(cols);
        let (own, behind) = rest.split_at_mut(count * cols);
        let (first, others) = own.split_at_mut(cols.min(count * cols));
        let (between, last) = others.split_at_mut(count.saturating_sub(2) * cols);
        let step = |clock: &mut Clock<'_>, row: usize, next: &mut [f64]| {
            if !computes {
                return Ok(());
            }
            clock.part(STENCIL, Kind::Computing, || {
                present.step(row..row + next.len() / cols, next);
                Ok(())
            })
        };
        multiple_scope(4, |scope, requests| {
            let other = |side: usize| self.neighbours[side].map(|rank| ranks.rank(rank));
            clock.part(EDGES, Kind::Sharing, || {
                for (side, room) in [before, behind].into_iter().enumerate() {
                    if let Some(neighbour) = other(side) {
                        requests.add(neighbour.immediate_receive_into(scope, room));
                    }
                }
                Ok(())
            })?;
            step(clock, 1, first)?;
            step(clock, count, last)?;
            let (first, last) = (&*first, &*last);
            // Of one row both edges are the same.
            let edges = [first, if last.is_empty() { first } else { last }];
            clock.part(EDGES, Kind::Sharing, || {
                for (side, edge) in edges.into_iter().enumerate() {
                    if let Some(neighbour) = other(side) {
                        requests.add(neighbour.immediate_send(scope, edge));
                    }
                }
                Ok(())
            })?;
            step(clock, 2, between)?;
            clock.part(EDGES, Kind::Sharing, || {
                requests.wait_all(&mut Vec::with_capacity(4));
                Ok(())
            })
        })
    }
}
