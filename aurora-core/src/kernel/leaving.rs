//! The end of objects and of the job: forgotten guards, drop notices, and which ranks have left the closure.

use super::Kernel;
use crate::Error;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::object::{Frame, How};
use aurora_net::{Outbox, Payload, Rank};

impl Kernel {
    /// The program drops the handle of an object. The other ranks get a drop notice.
    pub(crate) fn drop_object(&mut self, id: ObjectId, panicking: bool, out: &mut Outbox) {
        self.call(id, out, |_, cx| {
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
        self.core.drop_notices[self.core.me.index()] += 1;
        self.call(id, out, |object, cx| {
            let notice = object.drop_notice(cx);
            let notice = if cx.is_sound() && !panicking { notice } else { Vec::new() };
            let message = Message::Dropped { object: cx.id() };
            for rank in cx.others() {
                let header = (message.encode(&notice), message.is_counted());
                let how = How { kind: message.kind(), lazy: false, reason: None };
                cx.core.mail.post(cx.out, rank, header, Payload::Empty, Some(cx.frame.id), &how);
            }
        });
        self.reap(id);
    }

    /// This rank leaves the closure. A guard that is still open was forgotten.
    pub(crate) fn leave(&mut self, out: &mut Outbox) -> Result<(), Error> {
        let leak = |frame: &Frame| frame.open.first().map(|guard| frame.leak(self.core.me, guard));
        if let Some(leak) = self.objects.values().find_map(|entry| leak(&entry.frame)) {
            self.fail_job(leak.clone(), out);
            return Err(leak);
        }
        self.core.leaving = true;
        for rank in self.core.others() {
            let dropped = self.core.drop_notices[self.core.me.index()];
            self.core.mail.say(out, rank, &Message::Left { dropped }, Payload::Empty);
        }
        Ok(())
    }

    /// True if a rank has left and all its drop notices are here. A notice may report a scope that not all have
    /// entered.
    pub(crate) fn has_left(&self, rank: Rank) -> bool {
        self.core.left[rank.index()] == Some(self.core.drop_notices[rank.index()])
    }
}
