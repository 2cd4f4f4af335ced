//! The program over MPI. It takes the keys of the repetitions and copies its result to the vector that is verified.

mod collective;
mod isend;
mod merging;
mod program;

use super::Keys;
use super::run::Sorting;
use crate::check;
use crate::clock::{Laps, Pace};
use crate::implementation::Implementation;
use aurora_core::prelude::*;
use program::Program;

/// The program over MPI.
pub struct OverMpi<'w> {
    program: Program<'w>,
    sort: fn(&mut Program<'_>, Pace) -> Result<Laps>,
    sorted: GVector<u32>,
}

impl<'w> OverMpi<'w> {
    /// Collective. Allocates memory for `length` keys.
    pub fn new(world: &'w World, length: usize, implementation: Implementation) -> Result<Self> {
        let sort = if implementation == Implementation::MpiIsend { isend::sort } else { collective::sort };
        Ok(OverMpi { program: Program::new(world, length)?, sort, sorted: GVector::new(world, length)? })
    }
}

impl Sorting for OverMpi<'_> {
    fn run(&mut self, keys: &Keys, pace: Pace) -> Result<Laps> {
        let start = self.program.block().start;
        for (i, key) in self.program.keys.iter_mut().enumerate() {
            *key = keys.key(start + i);
        }
        let laps = (self.sort)(&mut self.program, pace)?;
        check::fill(&mut self.sorted, |i| self.program.keys[i - start])?;
        Ok(laps)
    }

    fn sorted(&mut self) -> &mut GVector<u32> {
        &mut self.sorted
    }
}
