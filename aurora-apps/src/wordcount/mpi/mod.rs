//! The program over MPI.

mod collective;

use super::Texts;
use crate::clock::{Clock, Laps};
use crate::mpi_ranks::MpiRanks;
use aurora_core::prelude::*;
use rustc_hash::FxHashMap;

/// The program over MPI.
pub struct OverMpi<'w> {
    ranks: MpiRanks<'w>,
}

impl<'w> OverMpi<'w> {
    /// Collective. Prepares the program.
    pub fn new(world: &'w World) -> Result<Self> {
        Ok(OverMpi { ranks: MpiRanks::new(world)? })
    }

    /// Collective. Counts the words of `texts`. Returns the counts of the words that this rank owns.
    pub fn run(&mut self, texts: Texts) -> Result<(Laps, FxHashMap<String, u64>)> {
        let text = texts.of(self.ranks.me());
        let mut counts = FxHashMap::default();
        let mut clock = Clock::start(&self.ranks)?;
        clock.sharing("count", || {
            counts = collective::count(&self.ranks, &text)?;
            Ok(())
        })?;
        Ok((clock.stop()?, counts))
    }
}
