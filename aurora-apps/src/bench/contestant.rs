//! One implementation of one operation, ready to run: what has to be written for each of them.

use super::full_read::Loads;
use super::job::{Access, Fresh, Operation};
use super::pattern::Round;
use super::watch::Watch;
use super::{
    all_reduce, barrier, exchange, fetch_add, first_touch, gather, get, local, mpi, put, read_cache, reads, scalar_sum,
    stream, tcp, updates,
};
use crate::implementation::Implementation;
use crate::meeting::Meeting;
use aurora_core::prelude::*;

/// Carries out an operation. Its memory lives as long as it does, so that none is fresh when it is measured.
pub trait Contestant {
    /// Collective. One repetition in three steps: new data where it has its source, the operation between the starts
    /// and the ends of `watch`, and the verification of all that has reached this rank. Returns how much of it is
    /// wrong.
    ///
    /// # Errors
    /// Whatever ended the job.
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64>;
}

/// What the file of a contestant begins with.
pub mod prelude {
    pub use super::Contestant;
    pub use crate::bench::pattern::Round;
    pub use crate::bench::watch::Watch;
    pub use aurora_core::prelude::*;
}

/// A contestant.
pub type Any<'w> = Box<dyn Contestant + 'w>;

/// Collective. The contestant for `operation` by `implementation`.
pub fn new(world: &World, operation: Operation, implementation: Implementation) -> Result<Any<'_>> {
    if implementation.is_mpi() {
        return mpi::contestant(world, operation, implementation);
    }
    Ok(match operation {
        Operation::ReadCache { bytes, .. } => Box::new(Loads(read_cache::Aurora::new(world, bytes)?)),
        Operation::Exchange { keys } => Box::new(exchange::Aurora::new(world, keys)?),
        Operation::Gather { bytes, by } => gather::aurora(world, bytes, by)?,
        Operation::Get { target } => Box::new(get::Aurora::new(world, target)?),
        Operation::Put { target } => Box::new(put::Aurora::new(world, target)?),
        Operation::FetchAdd { tasks: false } => Box::new(fetch_add::Alone::new(world)?),
        Operation::FetchAdd { tasks: true } => Box::new(fetch_add::Tasks::new(world)?),
        Operation::ScalarSum => Box::new(scalar_sum::ScalarSum::new(world)?),
        Operation::Local { access } => local::contestant(world, access.unwrap_or(Access::At8))?,
        Operation::Barrier => Box::new(barrier::Barrier::new(world)?),
        Operation::AllReduce { values } => Box::new(all_reduce::AllReduce::new(world, world, values)),
        Operation::Stream { bytes } if implementation == Implementation::Tcp => Box::new(tcp::Tcp::new(world, bytes)?),
        Operation::Stream { bytes } => Box::new(stream::Aurora::new(world, bytes)?),
        Operation::Updates { table, updates } => Box::new(updates::Aurora::new(world, table, updates)?),
        Operation::Reads { table, reads, batch } => {
            Box::new(reads::Aurora::new(world, reads::Workload { table, reads, batch })?)
        }
        Operation::FirstTouch { bytes, memory } => {
            first_touch::contestant(world, bytes, memory.unwrap_or(Fresh::Anonymous))?
        }
    })
}

/// The way in which the ranks of an implementation wait for each other.
pub fn meeting(world: &World, implementation: Implementation) -> Result<Box<dyn Meeting + '_>> {
    if implementation.is_mpi() { mpi::meeting(world) } else { Ok(Box::new(world)) }
}
