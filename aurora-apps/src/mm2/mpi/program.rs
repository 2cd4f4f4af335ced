//! Both stages over MPI: each rank has its rows of the matrices in memory of its own.

use crate::block::block;
use crate::clock::{Clock, Laps, Pace, Turns};
use crate::mm2::Kernel;
use crate::mm2::parallel::{FIRST, SECOND, Stage};
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;
use std::ops::Range;

/// What a rank needs for `c <- a x b`.
pub struct Operands<'o, 'w> {
    pub ranks: &'o MpiRanks<'w>,
    pub kernel: Kernel,
    pub columns: usize,
    /// Each rank's rows, as elements.
    pub rows: &'o Parts,
    /// This rank's rows.
    pub a: &'o [i32],
    /// The same of the matrix that every rank needs whole.
    pub b: &'o [i32],
    pub c: &'o mut [i32],
    /// Room for all of B.
    pub whole: &'o mut [i32],
}

/// One way to bring B to all ranks and to multiply with it.
pub type Mmultiply = fn(Operands<'_, '_>, Stage, &mut Clock<'_>) -> Result<()>;

/// Room for this rank's rows of all matrices, and for the whole of one.
pub struct Program<'w> {
    ranks: MpiRanks<'w>,
    mmultiply: Mmultiply,
    columns: usize,
    rows: Parts,
    pub q: Vec<i32>,
    pub r: Vec<i32>,
    pub p: Vec<i32>,
    whole: Vec<i32>,
}

impl<'w> Program<'w> {
    /// Collective. For matrices of `size` rows and columns.
    pub fn new(world: &'w World, size: usize, mmultiply: Mmultiply) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let lengths = (0..ranks.size()).map(|rank| block(size, ranks.size(), rank).len() * size);
        let rows = Parts::of_lengths(lengths)?;
        let mine = || vec![0; rows.range(ranks.me()).len()];
        let (q, r, p, whole) = (mine(), mine(), mine(), vec![0; size * size]);
        Ok(Program { ranks, mmultiply, columns: size, rows, q, r, p, whole })
    }

    /// The first element of this rank's rows.
    pub fn start(&self) -> usize {
        self.rows.range(self.ranks.me()).start
    }

    /// P <- Q x R, then R <- Q x P.
    pub fn run(&mut self, kernel: Kernel, pace: Pace) -> Result<Laps> {
        let Program { ranks, mmultiply, columns, rows, q, r, p, whole } = self;
        let (ranks, columns) = (&*ranks, *columns);
        let mut clock = Clock::paced(ranks, pace)?;
        mmultiply(Operands { ranks, kernel, columns, rows, a: q, b: r, c: p, whole }, FIRST, &mut clock)?;
        mmultiply(Operands { ranks, kernel, columns, rows, a: q, b: p, c: r, whole }, SECOND, &mut clock)?;
        clock.stop()
    }
}

/// Rows of B that are multiplied between two looks at MPI, which goes on with messages only while it is called.
const STRIP: usize = 128;

/// Adds what these elements of B, whole rows, have in the product; every now and then `progress` lets MPI go on.
pub fn add_rows(
    (kernel, columns): (Kernel, usize),
    a: &[i32],
    (elements, block): (Range<usize>, &[i32]),
    c: &mut [i32],
    turns: &mut Turns,
    progress: &mut dyn FnMut(),
) {
    if block.is_empty() {
        return;
    }
    let mut row = elements.start / columns;
    for strip in block.chunks(STRIP * columns) {
        let rows = row..row + strip.len() / columns;
        row = rows.end;
        turns.computing(|| kernel.add(a, strip, rows, c, columns));
        progress();
    }
}
