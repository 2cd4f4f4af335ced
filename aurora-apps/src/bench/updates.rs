//! Every rank adds 1 to random elements of a table that lies over all ranks: a histogram, or HPC Challenge's
//! RandomAccess.

use super::prelude::*;
use super::recount::Recount;

/// By `update` in a ReleaseC with `Add`.
pub struct Aurora<'w> {
    me: usize,
    table: GVector<u64>,
    updates: usize,
    recount: Recount<'w>,
}

impl<'w> Aurora<'w> {
    /// Collective.
    pub fn new(world: &'w World, table: usize, updates: usize) -> Result<Self> {
        let recount = Recount::new(world, table, updates);
        Ok(Aurora { me: world.rank().index(), table: GVector::new(world, table)?, updates, recount })
    }
}

impl Contestant for Aurora<'_> {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let mut part = self.table.owner_computes_mut()?;
        let start = part.indices().start;
        self.recount.clear(round, part.local_mut(), start);
        part.finish()?;
        let indices = round.indices(self.me, self.table.len()).take(self.updates);
        watch.measure(|| {
            let mut counters = self.table.release_c_with::<Add>()?;
            for index in indices {
                counters.update(index, 1)?;
            }
            counters.finish()
        })?;
        let part = self.table.owner_computes()?;
        self.recount.wrong(round, part.local(), start)
    }
}
