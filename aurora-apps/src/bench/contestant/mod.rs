//! One implementation of one operation, ready to run. Each operation has a file with all its implementations.

mod all_reduce;
mod barrier;
mod copy;
mod counter;
mod exchange;
mod first_touch;
mod flow;
mod local;
mod read_cache;
mod reads;
mod remote;
mod tcp;
mod updates;

use super::job::{Access, By, Fresh, Operation, Way};
use super::pattern::Round;
use super::watch::Watch;
use crate::implementation::Implementation;
use crate::meeting::Meeting;
use aurora_core::prelude::*;
pub use counter::TASKS;
pub use exchange::piece;
use flow::Flow;

/// Collective. Runs one repetition in three steps: it writes new data at the source, carries out the operation between
/// the starts and ends of the watch, and verifies all data that has reached this rank. Returns the number of errors.
/// The contestant's memory lives as long as the contestant, so that no memory is fresh when it is measured.
pub type Contestant<'w> = Box<dyn FnMut(Round, &mut Watch<'_>) -> Result<u64> + 'w>;

/// The common imports of the operations' files.
mod prelude {
    pub use super::Contestant;
    pub use crate::bench::pattern::Round;
    pub use crate::bench::watch::Watch;
    #[cfg(feature = "mpi")]
    pub use crate::implementation::Implementation;
    #[cfg(feature = "mpi")]
    pub use crate::mpi_ranks::{MpiRanks, Parts, room::Room};
    pub use aurora_core::prelude::*;
    #[cfg(feature = "mpi")]
    pub use mpi::traits::{CommunicatorCollectives, Destination, Root, Source};
}

/// The maximum number of updates or reads in a batch for Alltoallv.
#[cfg(feature = "mpi")]
const BATCH: usize = 64 * 1024;

/// Collective. Makes the contestant for `operation` by `implementation`, which is one of its implementations.
pub fn new(world: &World, operation: Operation, implementation: Implementation) -> Result<Contestant<'_>> {
    if implementation.is_mpi() {
        return over_mpi(world, operation, implementation);
    }
    match operation {
        Operation::ReadCache { bytes, .. } => read_cache::aurora(world, bytes),
        Operation::Exchange { keys } => exchange::aurora(world, keys),
        Operation::Gather { bytes, by } => flow::aurora(world, Flow::gather(world.size(), bytes), by),
        Operation::Get { target } => remote::get(world, target),
        Operation::Put { target } => remote::put(world, target),
        Operation::FetchAdd { tasks: false } => remote::fetch_add(world),
        Operation::FetchAdd { tasks: true } => counter::tasks(world),
        Operation::ScalarSum => counter::sum(world),
        Operation::Local { access } => local::aurora(world, access.unwrap_or(Access::At8)),
        Operation::Barrier => barrier::by(world),
        Operation::AllReduce { values } => all_reduce::aurora(world, values),
        Operation::Stream { bytes } if implementation == Implementation::Tcp => flow::tcp(world, Flow::stream(bytes)),
        Operation::Stream { bytes } => flow::aurora(world, Flow::stream(bytes), By::Push),
        Operation::Copy { bytes, target, way } => copy::aurora(world, bytes, target, way.unwrap_or(Way::Distmemcpy)),
        Operation::Updates { table, updates } => updates::aurora(world, table, updates),
        Operation::Reads { table, reads, batch } => reads::aurora(world, reads::Workload { table, reads, batch }),
        Operation::FirstTouch { bytes, memory } => {
            first_touch::aurora(world, bytes, memory.unwrap_or(Fresh::Anonymous))
        }
    }
}

/// Collective. Makes a contestant over MPI, as a careful user of MPI would write it: buffers live as long as the job
/// and types are contiguous. A *collective* is the one call that MPI has for the purpose. *Isend* posts everything at
/// once: all receives, then all sends, beginning with the rank after the own rank. *Alltoallv* collects small items for
/// each owner and exchanges them in batches that stay in a cache.
#[cfg(feature = "mpi")]
fn over_mpi(world: &World, operation: Operation, by: Implementation) -> Result<Contestant<'_>> {
    use crate::implementation::{Offer, Refusal};
    let ranks = crate::mpi_ranks::MpiRanks::new(world)?;
    match operation {
        Operation::ReadCache { bytes, .. } => read_cache::mpi(ranks, by, bytes),
        Operation::Exchange { keys } => exchange::mpi(ranks, by, keys),
        Operation::Gather { bytes, .. } => flow::mpi(ranks, Flow::gather(world.size(), bytes), by),
        Operation::Get { target } => remote::mpi_get(ranks, target),
        Operation::Put { target } => remote::mpi_put(ranks, target),
        Operation::Barrier => barrier::by(ranks),
        Operation::AllReduce { values } => all_reduce::mpi(world, ranks, values),
        Operation::Stream { bytes } => flow::mpi(ranks, Flow::stream(bytes), by),
        Operation::Updates { table, updates } => updates::mpi(world, ranks, table, updates),
        Operation::Reads { table, reads, batch } => reads::mpi(ranks, reads::Workload { table, reads, batch }),
        Operation::FetchAdd { .. }
        | Operation::ScalarSum
        | Operation::Local { .. }
        | Operation::Copy { .. }
        | Operation::FirstTouch { .. } => {
            let (what, allowed) = (operation.name(), operation.implementations());
            Err(Error::user(Refusal::Missing { what, allowed }))
        }
    }
}

#[cfg(not(feature = "mpi"))]
fn over_mpi(_: &World, _: Operation, _: Implementation) -> Result<Contestant<'_>> {
    Err(Error::user(crate::implementation::Refusal::NotBuilt))
}

/// Returns the way in which the ranks of an implementation wait for each other.
pub fn meeting(world: &World, implementation: Implementation) -> Result<Box<dyn Meeting + '_>> {
    #[cfg(feature = "mpi")]
    if implementation.is_mpi() {
        return Ok(Box::new(crate::mpi_ranks::MpiRanks::new(world)?));
    }
    let _ = implementation;
    Ok(Box::new(world))
}
