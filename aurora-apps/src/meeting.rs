//! The way in which the ranks of an implementation wait for each other around a measurement.
//!
//! Programs over MPI are measured between MPI's barriers, because Aurora's messages on the same network or core would
//! disturb them. For the same reason Aurora is measured between its own barriers.

use aurora_core::prelude::*;
use std::fmt::Debug;
use std::time::Duration;

/// Long enough for outstanding acknowledgements, and for ranks between a barrier and their next wait.
const QUIET: Duration = Duration::from_millis(5);

/// The ranks of a job, with their way of waiting for each other.
pub trait Meeting: Debug {
    /// The job.
    fn world(&self) -> &World;

    /// Collective. Waits until all ranks have called this.
    ///
    /// # Errors
    /// The error that ended the job.
    fn barrier(&self) -> Result<()>;

    /// Returns whether a rank that has finished may still work for the other ranks. Aurora's daemon does so; a library
    /// without a daemon does not.
    fn serves_afterwards(&self) -> bool;

    /// Collective. Waits until no other traffic is in transit and all ranks have left the barrier. Otherwise the first
    /// ranks to leave would send so much that the last ranks leave late: many ranks on one core would begin
    /// milliseconds apart.
    ///
    /// # Errors
    /// The error that ended the job.
    fn quiet(&self) -> Result<()> {
        self.world().barrier()?;
        std::thread::sleep(QUIET);
        self.barrier()?;
        std::thread::sleep(QUIET);
        Ok(())
    }
}

impl Meeting for World {
    fn world(&self) -> &World {
        self
    }

    fn barrier(&self) -> Result<()> {
        World::barrier(self)
    }

    fn serves_afterwards(&self) -> bool {
        true
    }
}

impl<M: Meeting + ?Sized> Meeting for &M {
    fn world(&self) -> &World {
        M::world(self)
    }

    fn barrier(&self) -> Result<()> {
        M::barrier(self)
    }

    fn serves_afterwards(&self) -> bool {
        M::serves_afterwards(self)
    }
}
