//! How the ranks of an implementation wait for each other around what is measured.
//!
//! What runs over MPI is measured between MPI's barriers: a message of Aurora's on the same network or core would
//! disturb it, and so would the other way round.

use aurora_core::prelude::*;
use std::fmt::Debug;
use std::time::Duration;

/// Long enough for acknowledgements that are still due, and for ranks on their way from a barrier to their next wait.
const QUIET: Duration = Duration::from_millis(5);

/// The ranks of a job, with their way of waiting for each other.
pub trait Meeting: Debug {
    /// The job.
    fn world(&self) -> &World;

    /// Collective. Returns when every rank has called it.
    ///
    /// # Errors
    /// Whatever ended the job.
    fn barrier(&self) -> Result<()>;

    /// Whether a rank that is through may still work for the others: as a daemon does, and a library without one does
    /// not.
    fn serves_afterwards(&self) -> bool;

    /// Collective. A barrier that finds no other traffic under way, and that all have left: the first to leave would
    /// send so much that the last leave it later, and they would begin milliseconds apart where many share a core.
    ///
    /// # Errors
    /// Whatever ended the job.
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
