//! The operations over MPI, as a careful user of MPI would write them.
//!
//! Buffers live as long as the job and types are contiguous. A *collective* is the one call that MPI has for the
//! purpose. *Isend* posts everything at once: all receives, then all sends, beginning with the rank after the own one.
//! *Alltoallv* collects small things for each owner and exchanges them in batches that stay in a cache.

mod all_reduce;
mod exchange;
mod gather;
mod get;
mod put;
mod read_cache;
mod reads;
mod stream;
mod target;
mod updates;

use super::all_reduce::AllReduce;
use super::barrier::Barrier;
use super::contestant::Any;
use super::full_read::Loads;
use super::job::Operation;
use super::reads::Workload;
use crate::implementation::{Implementation, Offer, Refusal};
use crate::meeting::Meeting;
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;

/// Collective. The contestant for `operation` by MPI.
pub fn contestant(world: &World, operation: Operation, implementation: Implementation) -> Result<Any<'_>> {
    use Implementation::{MpiAlltoallv, MpiCollective, MpiIsend};
    let ranks = MpiRanks::new(world)?;
    Ok(match (operation, implementation) {
        (Operation::ReadCache { bytes, .. }, by @ (MpiCollective | MpiIsend)) => {
            Box::new(Loads(read_cache::Loading::new(ranks, by, bytes)?))
        }
        (Operation::Exchange { keys }, by @ (MpiCollective | MpiIsend)) => {
            Box::new(exchange::Exchange::new(ranks, by, keys)?)
        }
        (Operation::Gather { bytes, .. }, by @ (MpiCollective | MpiIsend)) => {
            Box::new(gather::Gather::new(ranks, by, bytes)?)
        }
        (Operation::Get { target }, MpiIsend) => Box::new(get::Messages::new(ranks, target)),
        (Operation::Put { target }, MpiIsend) => Box::new(put::Messages::new(ranks, target)),
        (Operation::Barrier, MpiCollective) => Box::new(Barrier::new(ranks)?),
        (Operation::AllReduce { values }, MpiCollective) => {
            Box::new(AllReduce::new(world, all_reduce::Collective::new(ranks, values), values))
        }
        (Operation::Stream { bytes }, MpiIsend) => Box::new(stream::Isend::new(ranks, bytes)?),
        (Operation::Updates { table, updates }, MpiAlltoallv) => {
            Box::new(updates::Alltoallv::new(world, ranks, table, updates)?)
        }
        (Operation::Reads { table, reads, batch }, MpiAlltoallv) => {
            Box::new(reads::Alltoallv::new(ranks, Workload { table, reads, batch })?)
        }
        _ => {
            let (what, why, allowed) = (operation.name(), operation.lack(implementation), operation.implementations());
            return Err(Error::user(Refusal::Missing { what, why, allowed }));
        }
    })
}

/// MPI's way in which the ranks wait for each other.
pub fn meeting(world: &World) -> Result<Box<dyn Meeting + '_>> {
    Ok(Box::new(MpiRanks::new(world)?))
}
