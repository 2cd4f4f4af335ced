//! Both stages over MPI: each rank has its rows of the matrices in its own memory.

use crate::block::block;
use crate::clock::{Clock, Laps, Pace, Turns};
use crate::mm2::Kernel;
use crate::mm2::parallel::{FIRST, SECOND, Stage};
use crate::mpi_ranks::room::Room;
use crate::mpi_ranks::{MpiRanks, Parts};
use aurora_core::prelude::*;
use std::ops::Range;

/// The operands of `c <- a x b` on a rank.
pub struct Operands<'o, 'w> {
    pub ranks: &'o MpiRanks<'w>,
    pub kernel: Kernel,
    pub columns: usize,
    /// The elements of each rank's rows.
    pub rows: &'o Parts,
    /// This rank's rows.
    pub a: &'o [i32],
    /// A buffer for the whole of B, which every rank needs, with this rank's rows in their place.
    pub b: &'o mut [i32],
    pub c: &'o mut [i32],
}

/// One way to bring B to all ranks and to multiply with it.
pub type Mmultiply = fn(Operands<'_, '_>, Stage, &mut Clock<'_>) -> Result<()>;

/// Memory for this rank's rows of Q, and for the whole of R and P: other ranks' rows are received next to this rank's
/// rows, and no rows are copied.
pub struct Program<'w> {
    ranks: MpiRanks<'w>,
    mmultiply: Mmultiply,
    columns: usize,
    rows: Parts,
    pub q: Room<i32>,
    pub r: Room<i32>,
    pub p: Room<i32>,
}

impl<'w> Program<'w> {
    /// Collective. Allocates matrices of `size` rows and columns.
    pub fn new(world: &'w World, size: usize, mmultiply: Mmultiply) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let lengths = (0..ranks.size()).map(|rank| block(size, ranks.size(), rank).len() * size);
        let rows = Parts::of_lengths(lengths)?;
        let q = Room::new(rows.range(ranks.me()).len())?;
        let (r, p) = (Room::new(size * size)?, Room::new(size * size)?);
        Ok(Program { ranks, mmultiply, columns: size, rows, q, r, p })
    }

    /// Returns the elements of this rank's rows.
    pub fn own(&self) -> Range<usize> {
        self.rows.range(self.ranks.me())
    }

    /// Computes P <- Q x R, then R <- Q x P.
    pub fn run(&mut self, kernel: Kernel, pace: Pace) -> Result<Laps> {
        let own = self.own();
        let Program { ranks, mmultiply, columns, rows, q, r, p } = self;
        let (ranks, columns) = (&*ranks, *columns);
        let mut clock = Clock::paced(ranks, pace)?;
        let c = &mut p[own.clone()];
        mmultiply(Operands { ranks, kernel, columns, rows, a: q, b: r, c }, FIRST, &mut clock)?;
        let c = &mut r[own];
        mmultiply(Operands { ranks, kernel, columns, rows, a: q, b: p, c }, SECOND, &mut clock)?;
        clock.stop()
    }
}

/// The number of B's rows that are multiplied between two calls of MPI, which transfers messages only while it is
/// called.
const STRIP: usize = 128;

/// Adds the contribution of these elements of B, whole rows, to the product. From time to time `progress` lets MPI go
/// on and returns whether a transfer is incomplete. When none is, the rest is added in one call, because each call of
/// the tiled kernel passes through A and C once for every 256 rows.
pub fn add_rows(
    (kernel, columns): (Kernel, usize),
    a: &[i32],
    (elements, block): (Range<usize>, &[i32]),
    c: &mut [i32],
    turns: &mut Turns,
    progress: &mut dyn FnMut() -> bool,
) {
    let (mut start, mut rest) = (elements.start, block);
    while !rest.is_empty() {
        let length = if progress() { rest.len().min(STRIP * columns) } else { rest.len() };
        let (strip, behind) = rest.split_at(length);
        let end = start + length;
        turns.computing(|| kernel.add(a, strip, start / columns..end / columns, c, columns));
        (start, rest) = (end, behind);
    }
}
