//! The same program over MPI: each rank has its rows in memory of its own, between one more on either side.

use super::parallel::{EDGES, STENCIL};
use super::run::{Heating, Shared};
use super::{Diffusion, Plate, step_row};
use crate::block::block;
use crate::check;
use crate::clock::{Clock, Kind, Laps};
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;
use mpi::point_to_point::send_receive_into;
use mpi::traits::{Destination, Source};
use std::ops::Range;

/// A rank's rows of both plates.
pub struct Sendrecv<'w> {
    ranks: MpiRanks<'w>,
    rows: Range<usize>,
    cols: usize,
    /// Who has the row before ours, and who the one behind.
    neighbours: (Option<usize>, Option<usize>),
    now: Vec<f64>,
    next: Vec<f64>,
}

impl<'w> Sendrecv<'w> {
    /// Collective. For the plate of `job`.
    pub fn new(world: &'w World, job: &Diffusion) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let (me, size) = (ranks.me(), ranks.size());
        let rows = block(job.rows, size, me);
        let owns = |rank: usize| !block(job.rows, size, rank).is_empty();
        let before = me.checked_sub(1).filter(|_| owns(me));
        let behind = Some(me + 1).filter(|behind| *behind < size && owns(*behind));
        let room = vec![0.0; (rows.len() + 2) * job.cols];
        Ok(Sendrecv { ranks, rows, cols: job.cols, neighbours: (before, behind), now: room.clone(), next: room })
    }

    /// Row `row` of the memory of a plate: 0 is the one before ours.
    fn row(&self, row: usize) -> Range<usize> {
        row * self.cols..(row + 1) * self.cols
    }

    /// Our last row to the rank behind, the one before ours from the rank before; then the other way round.
    fn exchange(&mut self) {
        let (before, behind) = self.neighbours;
        let count = self.rows.len();
        let down = (self.row(count), behind, self.row(0), before);
        let up = (self.row(1), before, self.row(count + 1), behind);
        for (edge, to, place, from) in [down, up] {
            let edge = self.next[edge].to_vec();
            let place = &mut self.next[place];
            match (to.map(|to| self.ranks.rank(to)), from.map(|from| self.ranks.rank(from))) {
                (Some(to), Some(from)) => drop(send_receive_into(&edge[..], &to, place, &from)),
                (Some(to), None) => to.send(&edge[..]),
                (None, Some(from)) => drop(from.receive_into(place)),
                (None, None) => {}
            }
        }
    }
}

impl Heating for Sendrecv<'_> {
    fn run(&mut self, job: &Diffusion, plate: Plate, shared: &mut Shared) -> Result<Laps> {
        let (first, cols) = (self.rows.start * self.cols, self.cols);
        let own = cols..(self.rows.len() + 1) * cols;
        for (i, cell) in self.next[own.clone()].iter_mut().enumerate() {
            *cell = plate.cell(first + i);
        }
        let ranks = self.ranks.clone();
        let mut clock = Clock::start(&ranks)?;
        clock.part(EDGES, Kind::Sharing, || {
            self.exchange();
            self.now.clone_from(&self.next);
            Ok(())
        })?;
        for _ in 0..job.steps {
            clock.part(STENCIL, Kind::Computing, || {
                let row_of = |row: usize| row * cols..(row + 1) * cols;
                for (local, row) in self.rows.clone().enumerate() {
                    if row > 0 && row + 1 < job.rows {
                        let [above, now, below] = [local, local + 1, local + 2].map(|row| &self.now[row_of(row)]);
                        step_row(above, now, below, &mut self.next[row_of(local + 1)]);
                    }
                }
                Ok(())
            })?;
            clock.part(EDGES, Kind::Sharing, || {
                self.exchange();
                Ok(())
            })?;
            std::mem::swap(&mut self.now, &mut self.next);
        }
        let laps = clock.stop()?;
        check::fill(shared.result(job), |i| self.now[own.start + i - first])?;
        Ok(laps)
    }
}
