//! Memory for the copy of a load: the limit for a rank, and the taking.

use super::cache::Replica;
use crate::memory::STEP;
use crate::object::Cx;
use crate::vector::machine::Vector;
use crate::window::Window;
use crate::{Error, Site};

pub(crate) const A_CACHE: &str = "a ReadCache";

impl Vector {
    /// Checks that this rank may take the memory that a load needs. If all ranks share memory, a load needs none.
    pub(crate) fn admit_cache(&mut self, window: Window, site: &Site, cx: &mut Cx<'_>) -> Result<(), Error> {
        let (has_others, bytes) = (self.has_other_nodes(cx), self.block.bytes_of(&window.range(self.dist.len())).len());
        let epoch = self.scopes.ledger.epoch + 1;
        let demand = match self.block.home_mut() {
            Some(home) if window.is_whole() => home.cache.size(),
            Some(_) if !has_others => (0, 0),
            _ => self.loading((epoch, window)).map_or((0, 0), |replica| (bytes, replica.meter.untouched())),
        };
        cx.admit_copy(A_CACHE, demand, site)
    }

    /// Takes one step of memory for the next load, while no earlier scope is open; false once all is taken.
    pub(crate) fn take_cache(&mut self, window: Window, site: &Site, cx: &mut Cx<'_>) -> Result<bool, Error> {
        let (has_others, epoch) = (self.has_other_nodes(cx), self.scopes.ledger.epoch + 1);
        let taken = match self.block.home_mut() {
            // The whole probably needs no copy, only this rank's share of the node cache.
            Some(home) if window.is_whole() => home.cache.take(STEP),
            Some(_) if !has_others => Ok(false),
            _ => self.loading((epoch, window)).map_or(Ok(false), Replica::take),
        };
        taken.map_err(|shortage| cx.no_memory(shortage, A_CACHE, site))
    }

    /// True if some rank does not share memory with this rank. Otherwise a load of a part probably needs no copy.
    fn has_other_nodes(&self, cx: &Cx<'_>) -> bool {
        self.nodes.with(cx.me()).len() < cx.size()
    }
}
