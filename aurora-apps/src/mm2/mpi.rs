//! The same program over MPI: each rank has its rows in memory of its own, and B is gathered on all by Allgather.

use super::parallel::{FIRST, SECOND, Stage};
use super::run::{Multiplication, Shared};
use super::{Kernel, Matrices};
use crate::block::block;
use crate::check;
use crate::clock::{Clock, Laps, Pace};
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;

/// Room for this rank's rows of all matrices, and for the whole of one.
pub struct Collective<'w> {
    ranks: MpiRanks<'w>,
    columns: usize,
    /// Each rank's rows, as elements.
    rows: Parts,
    q: Vec<i32>,
    r: Vec<i32>,
    p: Vec<i32>,
    whole: Vec<i32>,
}

impl<'w> Collective<'w> {
    /// Collective. For matrices of `size` rows and columns.
    pub fn new(world: &'w World, size: usize) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let lengths = (0..ranks.size()).map(|rank| block(size, ranks.size(), rank).len() * size);
        let rows = Parts::of_lengths(lengths)?;
        let mine = || vec![0; rows.range(ranks.me()).len()];
        let (q, r, p, whole) = (mine(), mine(), mine(), vec![0; size * size]);
        Ok(Collective { columns: size, rows, q, r, p, whole, ranks })
    }

    /// Both stages.
    fn multiply(&mut self, kernel: Kernel, pace: Pace) -> Result<Laps> {
        let Collective { ranks, columns, rows, q, r, p, whole } = self;
        let mut clock = Clock::paced(&*ranks, pace)?;
        let mut stage = |stage: Stage, b: &[i32], c: &mut [i32]| {
            clock.sharing(stage.load, || {
                ranks.all_gather(b, rows, whole);
                Ok(())
            })?;
            clock.computing(stage.multiply, || {
                kernel.multiply(q, whole, c, *columns);
                Ok(())
            })
        };
        stage(FIRST, r, p)?;
        stage(SECOND, p, r)?;
        clock.stop()
    }
}

impl Multiplication for Collective<'_> {
    fn run(&mut self, kernel: Kernel, entries: Matrices, pace: Pace, shared: &mut Shared) -> Result<Laps> {
        let start = self.rows.range(self.ranks.me()).start;
        for (i, (q, r)) in self.q.iter_mut().zip(&mut self.r).enumerate() {
            (*q, *r) = (entries.q(start + i), entries.r(start + i));
        }
        let laps = self.multiply(kernel, pace)?;
        check::fill(&mut shared.p, |i| self.p[i - start])?;
        check::fill(&mut shared.r, |i| self.r[i - start])?;
        Ok(laps)
    }
}
