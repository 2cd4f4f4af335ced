//! The program over MPI. It takes the matrices of the repetitions and copies its result to the vectors that are
//! verified.

mod collective;
mod isend;
mod isend_whole;
mod program;
mod ring;

use super::run::{Multiplication, Shared};
use super::{Kernel, Matrices};
use crate::check;
use crate::clock::{Laps, Pace};
use crate::implementation::Implementation;
use aurora_core::prelude::*;
use program::Program;

/// The program over MPI.
pub struct OverMpi<'w>(Program<'w>);

impl<'w> OverMpi<'w> {
    /// Collective. Prepares matrices of `size` rows and columns.
    pub fn new(world: &'w World, size: usize, implementation: Implementation) -> Result<Self> {
        let mmultiply = match implementation {
            Implementation::MpiIsend => isend::mmultiply,
            Implementation::MpiIsendWhole => isend_whole::mmultiply,
            Implementation::MpiRing => ring::mmultiply,
            _ => collective::mmultiply,
        };
        Ok(OverMpi(Program::new(world, size, mmultiply)?))
    }
}

impl Multiplication for OverMpi<'_> {
    fn run(&mut self, kernel: Kernel, entries: Matrices, pace: Pace, shared: &mut Shared) -> Result<Laps> {
        let OverMpi(program) = self;
        let own = program.own();
        for ((i, q), r) in own.clone().zip(program.q.iter_mut()).zip(&mut program.r[own]) {
            (*q, *r) = (entries.q(i), entries.r(i));
        }
        let laps = program.run(kernel, pace)?;
        check::fill(&mut shared.p, |i| program.p[i])?;
        check::fill(&mut shared.r, |i| program.r[i])?;
        Ok(laps)
    }
}
