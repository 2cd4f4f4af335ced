//! Memory for the copy of a load: how much a rank may spend on one, and taking it.

use super::cache::{Replica, STEP};
use crate::object::Cx;
use crate::vector::machine::Vector;
use crate::window::Window;
use crate::{Error, Site};

/// What the memory of a load is for.
pub(crate) const A_CACHE: &str = "a ReadCache";

impl Vector {
    /// Whether this rank may spend as much on the copy of a load as that takes. Where all is shared it takes nothing.
    pub(crate) fn admit_cache(&mut self, window: Window, site: &Site, cx: &mut Cx<'_>) -> Result<(), Error> {
        let (apart, bytes) = (self.is_apart(cx), self.block.bytes_of(&window.range(self.dist.len())).len());
        let epoch = self.ledger.epoch + 1;
        let demand = match self.block.home() {
            Some(home) if window.is_whole() => home.cache.size(),
            Some(_) if !apart => (0, 0),
            _ => self.loading((epoch, window)).map_or((0, 0), |replica| (bytes, replica.untaken())),
        };
        cx.admit_copy(A_CACHE, demand, site)
    }

    /// Takes some memory for the next load, while earlier scopes are over; false once all is taken.
    pub(crate) fn take_cache(&mut self, window: Window, site: &Site, cx: &mut Cx<'_>) -> Result<bool, Error> {
        let (apart, epoch) = (self.is_apart(cx), self.ledger.epoch + 1);
        let taken = match self.block.home() {
            // Most likely the whole needs no copy: only our share of the places for other nodes' blocks.
            Some(home) if window.is_whole() => home.cache.take(STEP),
            Some(_) if !apart => Ok(false),
            _ => self.loading((epoch, window)).map_or(Ok(false), Replica::take),
        };
        taken.map_err(|shortage| cx.no_memory(shortage, A_CACHE, site))
    }

    /// Whether some rank does not share this one's memory: where all do, the copy of a part most likely needs none.
    fn is_apart(&self, cx: &Cx<'_>) -> bool {
        self.nodes.with(cx.me()).len() < cx.size()
    }
}
