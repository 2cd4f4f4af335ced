//! MPI_Allreduce, from one buffer into another in turns.

use crate::bench::all_reduce::Reduce;
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;
use mpi::collective::SystemOperation;
use mpi::traits::CommunicatorCollectives;

pub struct Collective<'w> {
    ranks: MpiRanks<'w>,
    sums: Vec<u64>,
}

impl<'w> Collective<'w> {
    pub fn new(ranks: MpiRanks<'w>, values: usize) -> Self {
        Collective { ranks, sums: vec![0; values] }
    }
}

impl Reduce for Collective<'_> {
    fn all_reduce(&mut self, values: &mut Vec<u64>) -> Result<()> {
        self.ranks.comm.all_reduce_into(&values[..], &mut self.sums[..], SystemOperation::sum());
        std::mem::swap(values, &mut self.sums);
        Ok(())
    }
}
