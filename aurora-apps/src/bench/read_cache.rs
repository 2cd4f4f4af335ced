//! Every rank gets all of a vector: an allgather (the paper's section 3.3).

use super::full_read::Load;
use super::pattern::Round;
use aurora_core::prelude::*;

/// By a ReadCache. Each block is written before, because one that has not changed is not sent again.
pub struct Aurora {
    vector: GVector<u8>,
}

impl Aurora {
    /// Collective.
    pub fn new(world: &World, bytes: usize) -> Result<Self> {
        Ok(Aurora { vector: GVector::new(world, bytes)? })
    }
}

impl Load for Aurora {
    type Loaded<'l> = ReadCache<'l, u8>;

    fn fill(&mut self, round: Round) -> Result<()> {
        round.fill_own(&mut self.vector)
    }

    fn load(&mut self) -> Result<ReadCache<'_, u8>> {
        self.vector.read_cache()
    }
}
