//! Entering collective scopes.

use crate::Error;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::vector::machine::Vector;

impl Vector {
    /// Enters a collective scope.
    pub(crate) fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        // What others have said before us, by the first packets of what they send.
        self.take_announcements(cx);
        let entered = self.ledger.enter_as(opening, &cx.frame.name);
        self.refresh_permit(cx);
        entered.inspect_err(|error| cx.fail(error.clone()))
    }

    /// `fill` is over on this rank: its epoch needs nothing of the others, who have all come before.
    pub(crate) fn end_fill(&mut self, epoch: Epoch) {
        self.ledger.set_settled(epoch);
        self.ledger.forget(epoch);
        self.has_changed = true;
    }
}
