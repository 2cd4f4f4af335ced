//! A rank's rows in memory of its own, between one more on either side, twice: now and after the step.

use crate::block::block;
use crate::diffusion::step_row;
use crate::mpi_ranks::MpiRanks;
use crate::mpi_ranks::room::Room;
use aurora_core::prelude::*;
use std::ops::Range;

/// Both plates of a rank. In the memory of a plate row 0 is the one before ours.
pub struct Rows {
    plate: usize,
    numbers: Range<usize>,
    pub cols: usize,
    /// Who has the row before ours, and who the one behind.
    pub neighbours: [Option<usize>; 2],
    pub now: Room<f64>,
    pub next: Room<f64>,
}

impl Rows {
    /// Of a plate of `rows` rows.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(ranks: &MpiRanks<'_>, rows: usize, cols: usize) -> Result<Self> {
        let (me, size) = (ranks.me(), ranks.size());
        let numbers = block(rows, size, me);
        // Where there are fewer rows than ranks, the last ranks have none.
        let owns = |rank: &usize| !block(rows, size, *rank).is_empty();
        let neighbours =
            [me.checked_sub(1).filter(|_| owns(&me)), Some(me + 1).filter(|behind| *behind < size && owns(behind))];
        let plate = || Room::new((numbers.len() + 2) * cols);
        let (now, next) = (plate()?, plate()?);
        Ok(Rows { plate: rows, numbers, cols, neighbours, now, next })
    }

    /// Our rows, as numbers of the plate's.
    pub fn numbers(&self) -> Range<usize> {
        self.numbers.clone()
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Where row `row` is in the memory of a plate.
    pub fn place(&self, row: usize) -> Range<usize> {
        row * self.cols..(row + 1) * self.cols
    }

    /// Our rows as they are now.
    pub fn own(&self) -> &[f64] {
        &self.now[self.cols..(self.count() + 1) * self.cols]
    }

    /// Sets our rows of both plates.
    pub fn fill(&mut self, cell: impl Fn(usize) -> f64) {
        let start = self.numbers.start * self.cols;
        for i in 0..self.numbers.len() * self.cols {
            let cell = cell(start + i);
            (self.now[self.cols + i], self.next[self.cols + i]) = (cell, cell);
        }
    }

    /// The next step is now.
    pub fn turn(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

/// What a step reads: the present plate. The next one is lent in pieces meanwhile.
#[derive(Clone, Copy)]
pub struct Present<'p> {
    pub now: &'p [f64],
    pub cols: usize,
    /// Rows of the plate, and the number of our first one.
    pub plate: usize,
    pub first: usize,
}

impl Rows {
    /// The present plate, and the next.
    pub fn both(&mut self) -> (Present<'_>, &mut [f64]) {
        let present = Present { now: &self.now, cols: self.cols, plate: self.plate, first: self.numbers.start };
        (present, &mut self.next)
    }
}

impl Present<'_> {
    /// A step of `rows` of the memory of a plate, into `next`, which is these alone.
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
