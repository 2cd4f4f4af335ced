//! Every rank gets all of a vector: an allgather (the paper's section 3.3).

use super::contestant::Contestant;
use super::pattern::Round;
use super::watch::Watch;
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

impl Contestant for Aurora {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        round.fill_own(&mut self.vector)?;
        let whole = watch.measure(|| self.vector.read_cache())?;
        Ok(round.wrong(&whole, 0))
    }
}
