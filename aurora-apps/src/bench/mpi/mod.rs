//! The operations over MPI, as a careful user of MPI would write them.
//!
//! Buffers live as long as the job and types are contiguous. A *collective* is the one call that MPI has for the purpose.
//! *Isend* posts everything at once: all receives, then all sends, beginning with the rank after the own one.

mod exchange;
mod gather;
mod get;
mod put;
mod read_cache;
mod stream;
mod target;

use super::barrier::Barrier;
use super::contestant::Any;
use super::job::{Implementation, Operation, Refusal};
use crate::meeting::Meeting;
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;

/// Collective. The contestant for `operation` by MPI.
pub fn contestant(world: &World, operation: Operation, implementation: Implementation) -> Result<Any<'_>> {
    use Implementation::{MpiCollective, MpiIsend};
    let ranks = MpiRanks::new(world)?;
    Ok(match (operation, implementation) {
        (Operation::ReadCache { bytes, .. }, MpiCollective) => Box::new(read_cache::Collective::new(ranks, bytes)?),
        (Operation::ReadCache { bytes, .. }, MpiIsend) => Box::new(read_cache::Isend::new(ranks, bytes)?),
        (Operation::Exchange { keys }, MpiCollective) => Box::new(exchange::Collective::new(ranks, keys)?),
        (Operation::Exchange { keys }, MpiIsend) => Box::new(exchange::Isend::new(ranks, keys)?),
        (Operation::Gather { bytes, .. }, MpiCollective) => Box::new(gather::Collective::new(ranks, bytes)?),
        (Operation::Gather { bytes, .. }, MpiIsend) => Box::new(gather::Isend::new(ranks, bytes)?),
        (Operation::Get { target }, MpiIsend) => Box::new(get::Messages::new(ranks, target)),
        (Operation::Put { target }, MpiIsend) => Box::new(put::Messages::new(ranks, target)),
        (Operation::Barrier, MpiCollective) => Box::new(Barrier::new(ranks)?),
        (Operation::Stream { bytes }, MpiIsend) => Box::new(stream::Isend::new(ranks, bytes)?),
        _ => return Err(Error::user(Refusal::Missing { operation, implementation })),
    })
}

/// MPI's way in which the ranks wait for each other.
pub fn meeting(world: &World) -> Result<Box<dyn Meeting + '_>> {
    Ok(Box::new(MpiRanks::new(world)?))
}
