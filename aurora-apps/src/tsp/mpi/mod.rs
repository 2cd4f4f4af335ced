//! The search over MPI.

mod collective;
mod isend;
mod record;

use super::Instance;
use super::parallel::Outcome;
use crate::implementation::Implementation;
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;

/// The program over MPI.
pub struct OverMpi<'w> {
    ranks: MpiRanks<'w>,
    /// The communicator for messages during a search. Nothing else is received on it.
    talk: SimpleCommunicator,
    search: Search,
}

type Search = fn(&MpiRanks<'_>, &SimpleCommunicator, &Instance, u32) -> Result<Outcome>;

impl<'w> OverMpi<'w> {
    /// Collective. Prepares the search.
    pub fn new(world: &'w World, implementation: Implementation) -> Result<Self> {
        let ranks = MpiRanks::new(world)?;
        let search = if implementation == Implementation::MpiIsend { isend::search } else { collective::search };
        Ok(OverMpi { talk: ranks.comm.duplicate(), ranks, search })
    }

    /// Collective. Searches rank 0's `instance`. A rank takes `chunk` parts at a time.
    pub fn search(&self, instance: &Instance, chunk: u64) -> Result<Outcome> {
        // There are never more parts than a u32 can count.
        (self.search)(&self.ranks, &self.talk, instance, u32::try_from(chunk).unwrap_or(u32::MAX))
    }
}
