//! The end of objects and of the job: what was forgotten, what not all have entered, and who has left.

use super::Service;
use crate::Error;
use crate::epoch::Ledger;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use aurora_net::{Outbox, Payload, Rank};

impl Service {
    /// The handle of an object is gone.
    pub(crate) fn drop_object(&mut self, id: ObjectId, panicking: bool, out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        object.dropped[self.me.index()] = true;
        if let Some(guard) = object.open.first()
            && object.fault.is_none()
            && !panicking
        {
            let leak = object.leak(self.me, guard);
            self.defer(id, leak.clone());
            self.fail(Some(id), leak, out);
        }
        if self.ended || self.fault.is_some() {
            return;
        }
        self.farewells[self.me.index()] += 1;
        self.compare_ends(id);
        let object = self.objects.get(&id).expect("still there");
        let sound = object.fault.is_none() && !panicking;
        let scopes = sound.then(|| (object.ledger.epoch, object.ledger.last.clone()));
        for rank in self.others() {
            let message = Message::Dropped { object: id, scopes: scopes.clone() };
            self.mail.post(out, rank, &message, Payload::Empty);
        }
        self.bury(id);
    }

    /// All who have dropped an object must have entered the same scopes of it. Ranks that drop it amid a failure have not:
    /// so this is told only at the end of `run`, if it ends well otherwise; who waits for such a rank hears of it at once.
    pub(crate) fn compare_ends(&mut self, id: ObjectId) {
        let Some(object) = self.objects.get(&id).filter(|o| o.fault.is_none()) else {
            return;
        };
        let (mine, gone) = (&object.ledger, object.dropped[self.me.index()]);
        let error = object.ends.iter().enumerate().find_map(|(rank, end)| {
            let (epoch, last) = end.as_ref()?;
            let differs = match (&mine.last, last) {
                (Some(mine), Some(theirs)) if *epoch == object.ledger.epoch => !mine.agrees_with(theirs),
                _ => false,
            };
            let fewer = *epoch < mine.epoch;
            if !(fewer || differs || gone && *epoch > mine.epoch) {
                return None;
            }
            let mut theirs = Ledger::claim_of(Rank::new(rank), last.as_ref(), &object.name);
            if fewer {
                theirs.action.insert_str(0, "has dropped it since it ");
            }
            Some(crate::collective::counted((&mine.last_claim(&object.name), mine.epoch), (&theirs, *epoch)))
        });
        if let Some(error) = error {
            self.defer(id, error);
        }
    }

    /// This rank has left the closure. A guard that is still open was forgotten.
    pub(crate) fn leave(&mut self, out: &mut Outbox) -> Result<(), Error> {
        let leak = self.objects.values().find_map(|o| o.open.first().map(|guard| o.leak(self.me, guard)));
        if let Some(leak) = leak {
            self.fail(None, leak.clone(), out);
            return Err(leak);
        }
        self.leaving = true;
        for rank in self.others() {
            let dropped = self.farewells[self.me.index()];
            self.mail.post(out, rank, &Message::Left { dropped }, Payload::Empty);
        }
        Ok(())
    }

    /// Whether every rank has left, and all its farewells to objects, which come in any order, are here: they may tell
    /// of scopes that not all ranks have entered.
    pub(crate) fn all_left(&self) -> bool {
        self.others().all(|rank| self.has_left(rank))
    }

    pub(crate) fn has_left(&self, rank: Rank) -> bool {
        self.left[rank.index()] == Some(self.farewells[rank.index()])
    }
}
