//! The program over MPI. It takes the plates of the repetitions and copies its result to the vector that is verified.

mod collective;
mod isend;
mod rows;

use super::run::{Heating, Shared};
use super::{Diffusion, Plate};
use crate::check;
use crate::clock::Laps;
use crate::implementation::Implementation;
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;
use rows::Rows;

/// The program over MPI.
pub struct OverMpi<'w> {
    ranks: MpiRanks<'w>,
    rows: Rows,
    form: Form,
}

/// The way in which edges are exchanged.
enum Form {
    Isend(isend::Isend),
    Collective(collective::Collective),
}

impl<'w> OverMpi<'w> {
    /// Collective. Prepares the plate of `job`.
    pub fn new(world: &'w World, job: &Diffusion, implementation: Implementation) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let rows = Rows::new(&ranks, job.rows, job.cols)?;
        let form = match implementation {
            Implementation::MpiIsend => Form::Isend(isend::Isend::new(&ranks, &rows)),
            _ => Form::Collective(collective::Collective::new(&ranks, &rows)?),
        };
        Ok(OverMpi { ranks, rows, form })
    }
}

impl Heating for OverMpi<'_> {
    fn run(&mut self, job: &Diffusion, plate: Plate, shared: &mut Shared) -> Result<Laps> {
        let OverMpi { ranks, rows, form } = self;
        rows.fill(|i| plate.cell(i));
        let laps = match form {
            Form::Isend(isend) => isend.steps(ranks, rows, job.steps)?,
            Form::Collective(collective) => collective.steps(ranks, rows, job.steps)?,
        };
        let start = rows.numbers().start * job.cols;
        check::fill(shared.result(job), |i| rows.own()[i - start])?;
        Ok(laps)
    }
}
