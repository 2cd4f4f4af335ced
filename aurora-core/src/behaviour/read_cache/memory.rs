//! Memory for the copy of a load: how much a rank may spend on one, and taking it.

use super::cache::STEP;
use crate::object::Cx;
use crate::vector::machine::Vector;
use crate::window::Window;
use crate::{Error, Site};

/// What the memory of a load is for.
pub(crate) const A_CACHE: &str = "a ReadCache";

impl Vector {
    /// Whether this rank may spend as much on the copy of a ReadCache as that takes. Where all is shared it takes
    /// nothing.
    pub(crate) fn admit_cache(&mut self, window: Window, site: &Site, cx: &mut Cx<'_>) -> Result<(), Error> {
        let apart = self.is_apart(cx);
        let (epoch, len) = (self.ledger.epoch + 1, self.dist.len());
        let bytes = window.range(len).len() * self.block.element;
        let (bytes, untaken) = match self.block.home() {
            _ if !window.is_whole() => {
                let part = if apart { self.part(epoch, window) } else { None };
                part.map_or((0, 0), |part| (bytes, part.replica.untaken()))
            }
            Some(home) => home.cache.size(),
            None => (bytes, self.loading(epoch).untaken()),
        };
        cx.admit_copy(A_CACHE, (bytes, untaken), site)
    }

    /// Takes some memory for the next ReadCache, while earlier scopes are over; false once all is taken.
    pub(crate) fn take_cache(&mut self, window: Window, site: &Site, cx: &mut Cx<'_>) -> Result<bool, Error> {
        let apart = self.is_apart(cx);
        let epoch = self.ledger.epoch + 1;
        let taken = match self.block.home() {
            _ if !window.is_whole() => {
                let part = if apart { self.part(epoch, window) } else { None };
                part.map_or(Ok(false), |part| part.replica.take())
            }
            // Most likely it needs no copy: only our share of the places for other nodes' blocks.
            Some(home) => home.cache.take(STEP),
            None => self.loading(epoch).take(),
        };
        taken.map_err(|shortage| cx.no_memory(shortage, A_CACHE, site))
    }

    /// Whether some rank does not share this one's memory: where all do, the copy of a part most likely needs none.
    fn is_apart(&self, cx: &Cx<'_>) -> bool {
        self.nodes.with(cx.me()).len() < cx.size()
    }
}
