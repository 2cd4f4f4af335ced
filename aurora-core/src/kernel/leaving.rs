//! The end of objects and of the job: what was forgotten, what not all have entered, and who has left.

use super::Kernel;
use crate::Error;
use crate::epoch::Ledger;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::object::{Cx, Frame};
use crate::vector::object::Object;
use aurora_net::{Outbox, Payload, Rank};

impl Kernel {
    /// The handle of an object is gone.
    pub(crate) fn drop_object(&mut self, id: ObjectId, panicking: bool, out: &mut Outbox) {
        self.with(id, out, |_, cx| {
            let me = cx.me();
            cx.frame.dropped[me.index()] = true;
            let forgotten = cx.frame.open.first().filter(|_| cx.is_sound() && !panicking);
            if let Some(leak) = forgotten.map(|guard| cx.frame.leak(me, guard)) {
                cx.defer(leak.clone());
                cx.fail(leak);
            }
        });
        if !self.core.is_usable() || !self.objects.contains_key(&id) {
            return;
        }
        self.core.farewells[self.core.me.index()] += 1;
        self.with(id, out, |object, cx| {
            object.compare_ends(cx);
            let sound = cx.is_sound() && !panicking;
            let scopes = sound.then(|| (object.ledger.epoch, object.ledger.last.clone()));
            for rank in cx.others() {
                let message = Message::Dropped { object: cx.id(), scopes: scopes.clone() };
                cx.core.mail.post(cx.out, rank, &message, Payload::Empty);
            }
        });
        self.bury(id);
    }

    /// This rank has left the closure. A guard that is still open was forgotten.
    pub(crate) fn leave(&mut self, out: &mut Outbox) -> Result<(), Error> {
        let leak = |frame: &Frame| frame.open.first().map(|guard| frame.leak(self.core.me, guard));
        if let Some(leak) = self.objects.values().find_map(|entry| leak(&entry.frame)) {
            self.fail_job(leak.clone(), out);
            return Err(leak);
        }
        self.core.leaving = true;
        for rank in self.core.others() {
            let dropped = self.core.farewells[self.core.me.index()];
            self.core.mail.post(out, rank, &Message::Left { dropped }, Payload::Empty);
        }
        Ok(())
    }

    /// Whether every rank has left, and all its farewells to objects, which come in any order, are here: they may tell
    /// of scopes that not all ranks have entered.
    pub(crate) fn all_left(&self) -> bool {
        self.core.others().all(|rank| self.has_left(rank))
    }

    pub(crate) fn has_left(&self, rank: Rank) -> bool {
        self.core.left[rank.index()] == Some(self.core.farewells[rank.index()])
    }
}

impl Object {
    /// All who have dropped the object must have entered the same scopes of it. Ranks that drop it amid a failure have not:
    /// so this is told only at the end of `run`, if it ends well otherwise; who waits for such a rank hears of it at once.
    pub(crate) fn compare_ends(&self, cx: &mut Cx<'_>) {
        if !cx.is_sound() {
            return;
        }
        let (mine, name, gone) = (&self.ledger, &cx.frame.name, cx.frame.dropped[cx.core.me.index()]);
        let error = self.ends.iter().enumerate().find_map(|(rank, end)| {
            let (epoch, last) = end.as_ref()?;
            let differs = match (&mine.last, last) {
                (Some(mine), Some(theirs)) if *epoch == self.ledger.epoch => !mine.agrees_with(theirs),
                _ => false,
            };
            let fewer = *epoch < mine.epoch;
            if !(fewer || differs || gone && *epoch > mine.epoch) {
                return None;
            }
            let mut theirs = Ledger::claim_of(Rank::new(rank), last.as_ref(), name);
            if fewer {
                theirs.action.insert_str(0, "has dropped it since it ");
            }
            Some(crate::collective::counted((&mine.last_claim(name), mine.epoch), (&theirs, *epoch)))
        });
        if let Some(error) = error {
            cx.defer(error);
        }
    }
}
