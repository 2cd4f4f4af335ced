//! A rank's rows in its own memory, with one more row on either side, twice: for the present plate and the next.

use crate::block::block;
use crate::diffusion::step_row;
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::room::Room;
use aurora_core::prelude::*;
use std::ops::Range;

/// Both plates of a rank. In the memory of a plate, row 0 is the row before this rank's rows.
pub struct Rows {
    plate: usize,
    numbers: Range<usize>,
    pub cols: usize,
    /// The rank that has the row before this rank's rows, and the rank that has the row behind them.
    pub neighbours: [Option<usize>; 2],
    pub now: Room<f64>,
    pub next: Room<f64>,
}

impl Rows {
    /// Allocates this rank's rows of a plate of `rows` rows.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new(ranks: &MpiRanks<'_>, rows: usize, cols: usize) -> Result<Self> {
        let (me, size) = (ranks.me(), ranks.size());
        let numbers = block(rows, size, me);
        // If there are fewer rows than ranks, the last ranks have no rows.
        let owns = |rank: &usize| !block(rows, size, *rank).is_empty();
        let neighbours =
            [me.checked_sub(1).filter(|_| owns(&me)), Some(me + 1).filter(|behind| *behind < size && owns(behind))];
        let plate = || Room::new((numbers.len() + 2) * cols);
        let (now, next) = (plate()?, plate()?);
        Ok(Rows { plate: rows, numbers, cols, neighbours, now, next })
    }

    /// Returns this rank's rows, numbered as in the plate.
    pub fn numbers(&self) -> Range<usize> {
        self.numbers.clone()
    }

    /// Returns the number of this rank's rows.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the range of row `row` in the memory of a plate.
    pub fn place(&self, row: usize) -> Range<usize> {
        row * self.cols..(row + 1) * self.cols
    }

    /// Returns this rank's rows of the present plate.
    pub fn own(&self) -> &[f64] {
        &self.now[self.cols..(self.count() + 1) * self.cols]
    }

    /// Sets this rank's rows of both plates.
    pub fn fill(&mut self, cell: impl Fn(usize) -> f64) {
        let start = self.numbers.start * self.cols;
        for i in 0..self.numbers.len() * self.cols {
            let cell = cell(start + i);
            (self.now[self.cols + i], self.next[self.cols + i]) = (cell, cell);
        }
    }

    /// Makes the next plate the present one.
    pub fn turn(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

/// The present plate, which a step reads. The next plate is lent in pieces meanwhile.
#[derive(Clone, Copy)]
pub struct Present<'p> {
    pub now: &'p [f64],
    pub cols: usize,
    /// The number of the plate's rows, and the number of this rank's first row.
    pub plate: usize,
    pub first: usize,
}

impl Rows {
    /// Returns the present plate and the next.
    pub fn both(&mut self) -> (Present<'_>, &mut [f64]) {
        let present = Present { now: &self.now, cols: self.cols, plate: self.plate, first: self.numbers.start };
        (present, &mut self.next)
    }
}

impl Present<'_> {
    /// Computes a step of `rows` of the memory of a plate, into `next`, which has these rows alone.
    pub fn step(self, rows: Range<usize>, next: &mut [f64]) {
        let at = |row: usize| &self.now[row * self.cols..(row + 1) * self.cols];
        for (row, next) in rows.zip(next.chunks_exact_mut(self.cols)) {
            let number = self.first + row - 1;
            if number > 0 && number + 1 < self.plate {
                step_row(at(row - 1), at(row), at(row + 1), next);
            }
        }
    }
}
