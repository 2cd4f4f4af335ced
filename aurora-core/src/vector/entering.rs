//! Entering collective scopes.

use crate::Error;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::Cx;
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use aurora_net::Payload;

/// A rank may have ended so many scopes of one object that the slowest has not, of all of its parts together, before it
/// waits in the next, so that what it sends ahead stays bounded. Those that it has open do not count, nor those that
/// all others are known to have entered, who may hold them open for long: how many of these there are is what the
/// program has written down.
pub(crate) const SCOPES_AHEAD: usize = 8;

impl Vector {
    /// Enters a collective scope.
    pub(crate) fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        // What others have said before us, by the first packets of what they send.
        self.take_announcements(cx);
        let entered = self.ledger.enter_as(opening, &cx.frame.name);
        self.refresh_permit(cx);
        entered.inspect_err(|error| cx.fail(error.clone()))
    }

    /// Tells all that this rank has entered a scope beside so many others that who has ended all of these would wait in
    /// his next for their end: which may come behind that.
    pub(crate) fn tell_if_many_are_open(&mut self, epoch: Epoch, reason: &Reason, cx: &mut Cx<'_>) {
        let open = cx.frame.open.iter().filter(|guard| guard.awaited).count();
        if open + 1 >= SCOPES_AHEAD {
            for rank in cx.others() {
                let message = Message::Come { epoch };
                message.send(reason, rank, Payload::Empty, cx);
            }
        }
    }

    /// `fill` is over on this rank: its epoch needs nothing of the others, who have all come before.
    pub(crate) fn end_fill(&mut self, epoch: Epoch) {
        self.ledger.set_settled(epoch);
        self.ledger.forget(epoch);
        self.has_changed = true;
    }
}
