//! Entering collective scopes.

use crate::Error;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::vector::machine::Vector;

impl Vector {
    pub(crate) fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        // Announcements that others have sent before, of which perhaps only the first packets are here.
        self.take_announcements(cx);
        let entered = self.ledger.enter_as(opening, &cx.frame.name);
        self.refresh_permit(cx);
        entered.inspect_err(|error| cx.fail(error.clone()))
    }

    /// `fill` is over on this rank. Its epoch needs no other rank: all have met before.
    pub(crate) fn end_fill(&mut self, epoch: Epoch) {
        self.ledger.set_settled(epoch);
        self.ledger.forget(epoch);
        self.has_changed = true;
    }
}
