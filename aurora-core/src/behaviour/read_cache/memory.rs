//! Memory for the copy of a load: the limit for a rank, and the taking.

use super::cache::Replica;
use super::protocol::Load;
use crate::memory::STEP;
use crate::object::Cx;
use crate::vector::core::VectorCore;
use crate::window::Window;
use crate::{Error, Site};

pub(crate) const A_CACHE: &str = "a ReadCache";

impl Load {
    /// Checks that this rank may take the memory that a load needs. If all ranks share memory, a load needs none.
    pub(crate) fn admit_cache(
        &mut self,
        core: &mut VectorCore,
        window: Window,
        site: &Site,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let bytes = core.block().bytes_of(&window.range(core.dist().len())).len();
        let demand = match core.block_mut().slots_mut(window) {
            Some(home) => home.cache.size(),
            None => self.copy_ahead(core, window).map_or((0, 0), |replica| (bytes, replica.meter.untouched())),
        };
        cx.admit_copy(A_CACHE, demand, site)
    }

    /// Takes one step of memory for the next load, while no earlier scope is open; false once all is taken.
    pub(crate) fn take_cache(
        &mut self,
        core: &mut VectorCore,
        window: Window,
        site: &Site,
        cx: &mut Cx<'_>,
    ) -> Result<bool, Error> {
        let taken = match core.block_mut().slots_mut(window) {
            Some(home) => home.cache.take(STEP),
            None => self.copy_ahead(core, window).map_or(Ok(false), Replica::take),
        };
        taken.map_err(|shortage| cx.no_memory(shortage, A_CACHE, site))
    }

    /// The copy that the next load, which uses no slots, fills. `None`: all ranks share memory, and no copy is needed.
    fn copy_ahead(&mut self, core: &VectorCore, window: Window) -> Option<&mut Replica> {
        let in_place = core.block().home().is_some() && core.is_on_one_node();
        if in_place { None } else { self.loading(core, (core.ledger().epoch + 1, window)) }
    }
}
