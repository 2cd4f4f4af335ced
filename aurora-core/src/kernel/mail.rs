//! Messages out, counted: per peer for the watch, per object and line for the user.

use super::tally::Tally;
use crate::Site;
use crate::error::ObjectName;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::stats::Kind;
use aurora_net::{Outbox, Payload, Rank};
use std::collections::BTreeMap;

/// What one line of the program cost in messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Transfers sent.
    pub messages: u64,
    /// Bytes of payload sent.
    pub bytes: u64,
}

/// Why a message is sent: the object, what was done with it, and the line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Reason {
    pub(crate) object: Option<ObjectId>,
    pub(crate) action: &'static str,
    pub(crate) site: Option<Site>,
}

/// The same with the object's name, which alike objects have in common.
pub(crate) type Named = (Option<String>, &'static str, Option<Site>);

/// The way out for everything that this rank says.
pub(crate) struct Mail {
    /// Messages to each rank, as far as the watch counts them.
    pub(crate) sent: Vec<u64>,
    /// Messages delivered from each rank, likewise.
    pub(crate) received: Vec<u64>,
    usage: BTreeMap<Reason, Usage>,
    /// What went out for objects that are gone.
    past: BTreeMap<Named, Usage>,
    /// All that went out, and what was waited for.
    pub(crate) tally: Tally,
}

/// To whose account a message goes.
type Account = (Option<ObjectId>, Kind);

impl Mail {
    pub(crate) fn new(size: usize) -> Self {
        Mail {
            sent: vec![0; size],
            received: vec![0; size],
            usage: BTreeMap::new(),
            past: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Sends without accounting to a line: the watch, the end.
    pub(crate) fn post(&mut self, out: &mut Outbox, to: Rank, message: &Message, payload: Payload) {
        let quiet = message.is_in_no_hurry();
        self.send(out, to, message, payload, (message.object(), message.kind("")), quiet);
    }

    /// Sends the answer to a request about an object.
    pub(crate) fn answer(&mut self, out: &mut Outbox, to: Rank, object: ObjectId, answer: &Message, payload: Payload) {
        let quiet = answer.is_in_no_hurry();
        self.send(out, to, answer, payload, (Some(object), Kind::Answer), quiet);
    }

    /// Tells the sender of a batch that there is room for another; `kind`: what its writes are for.
    pub(crate) fn batch_done(&mut self, out: &mut Outbox, to: Rank, object: ObjectId, kind: Kind) {
        let message = Message::BatchDone { object };
        let quiet = message.is_in_no_hurry();
        self.send(out, to, &message, Payload::Empty, (Some(object), kind), quiet);
    }

    /// Sends, on the account of a line of the program.
    pub(crate) fn post_for(
        &mut self,
        out: &mut Outbox,
        reason: &Reason,
        to: Rank,
        message: &Message,
        payload: Payload,
    ) {
        self.charge(reason, payload.len() as u64);
        let quiet = message.is_in_no_hurry();
        self.send(out, to, message, payload, (message.object(), message.kind(reason.action)), quiet);
    }

    /// The same, with more to follow that the receiver will be woken for.
    pub(crate) fn post_more_for(
        &mut self,
        out: &mut Outbox,
        reason: &Reason,
        to: Rank,
        message: &Message,
        payload: Payload,
    ) {
        self.charge(reason, payload.len() as u64);
        self.send(out, to, message, payload, (message.object(), message.kind(reason.action)), true);
    }

    fn send(
        &mut self,
        out: &mut Outbox,
        to: Rank,
        message: &Message,
        payload: Payload,
        (object, kind): Account,
        quiet: bool,
    ) {
        if message.is_counted() {
            self.sent[to.index()] += 1;
        }
        let header = message.encode();
        self.tally.sent(object, kind, header.len() + payload.len());
        match quiet {
            true => out.send_lazily(to, header, payload),
            false => out.send(to, header, payload),
        }
    }

    fn charge(&mut self, reason: &Reason, bytes: u64) {
        match self.usage.get_mut(reason) {
            Some(usage) => {
                usage.messages += 1;
                usage.bytes += bytes;
            }
            None => {
                self.usage.insert(reason.clone(), Usage { messages: 1, bytes });
            }
        }
    }

    /// An object is gone: what went out for it is kept under its name.
    pub(crate) fn bury(&mut self, id: ObjectId, name: &ObjectName) {
        self.tally.bury(id, name);
        let first = Reason { object: Some(id), action: "", site: None };
        let own = self.usage.range(first..).map(|(reason, _)| reason).take_while(|reason| reason.object == Some(id));
        for reason in own.cloned().collect::<Vec<_>>() {
            if let Some(usage) = self.usage.remove(&reason) {
                self.past.entry((Some(name.to_string()), reason.action, reason.site)).or_default().add(usage);
            }
        }
    }

    /// What went out, by the names of objects.
    pub(crate) fn usage(&self, name: impl Fn(ObjectId) -> Option<String>) -> BTreeMap<Named, Usage> {
        let mut named = self.past.clone();
        for (Reason { object, action, site }, usage) in &self.usage {
            named.entry((object.and_then(&name), action, site.clone())).or_default().add(*usage);
        }
        named
    }
}

impl Usage {
    fn add(&mut self, other: Usage) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_out_for_an_object_keeps_its_name() {
        let name = ObjectName { what: "GVector<u64>".into(), made_at: Site::here() };
        let mut mail = Mail::new(2);
        for (id, bytes) in [(1, 10), (2, 20), (3, 30)] {
            mail.charge(&Reason { object: Some(ObjectId(id)), action: "at", site: None }, bytes);
        }
        // Two that are alike are gone; of another nothing is known.
        mail.bury(ObjectId(1), &name);
        mail.bury(ObjectId(3), &name);
        mail.bury(ObjectId(4), &name);
        let usage: Vec<_> = mail.usage(|id| Some(format!("{id:?}"))).into_iter().collect();
        let row = |name: String, messages, bytes| ((Some(name), "at", None), Usage { messages, bytes });
        assert_eq!(usage, [row(format!("{:?}", ObjectId(2)), 1, 20), row(name.to_string(), 2, 40)]);
        assert_eq!(mail.usage.len(), 1);
    }
}
