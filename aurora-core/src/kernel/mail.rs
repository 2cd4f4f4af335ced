//! Messages out, counted: per peer for the watch, per object and line for the user.

use super::tally::Tally;
use crate::Site;
use crate::error::ObjectName;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::object::How;
use aurora_net::{Outbox, Payload, Rank};
use std::collections::{BTreeMap, VecDeque};

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
pub struct Reason {
    pub(crate) object: Option<ObjectId>,
    pub(crate) action: &'static str,
    pub(crate) site: Option<Site>,
}

/// The same with the object's name, which alike objects have in common.
pub(crate) type Named = (Option<String>, &'static str, Option<Site>);

/// The way out for everything that this rank says.
pub(crate) struct Mail {
    me: Rank,
    /// What this rank has sent to itself.
    pub(crate) to_self: VecDeque<(Vec<u8>, Payload)>,
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

impl Mail {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        Mail {
            me,
            to_self: VecDeque::new(),
            sent: vec![0; size],
            received: vec![0; size],
            usage: BTreeMap::new(),
            past: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Sends a message of kernels, on the account of no line.
    pub(crate) fn say(&mut self, out: &mut Outbox, to: Rank, message: &Message, payload: Payload) {
        self.say_for(out, to, message, payload, None);
    }

    /// The same on the account of a line of the program.
    pub(crate) fn say_for(
        &mut self,
        out: &mut Outbox,
        to: Rank,
        message: &Message,
        payload: Payload,
        reason: Option<&Reason>,
    ) {
        let object = match message {
            Message::Dropped { object } => Some(*object),
            Message::Fault { object } => *object,
            _ => None,
        };
        let header = (message.encode(&[]), message.is_counted());
        self.post(out, to, header, payload, object, &How { kind: message.kind(), lazy: false, reason });
    }

    /// Sends a transfer, on the account of an object and of a line of the program.
    pub(crate) fn post(
        &mut self,
        out: &mut Outbox,
        to: Rank,
        (header, counted): (Vec<u8>, bool),
        payload: Payload,
        object: Option<ObjectId>,
        how: &How<'_>,
    ) {
        if let Some(reason) = how.reason {
            self.charge(reason, payload.len() as u64);
        }
        if counted {
            self.sent[to.index()] += 1;
        }
        self.tally.sent(object, how.kind, header.len() + payload.len());
        match how.lazy {
            _ if to == self.me => self.to_self.push_back((header, payload)),
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
    pub(crate) fn reap(&mut self, id: ObjectId, name: &ObjectName) {
        self.tally.reap(id, name);
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
        let mut mail = Mail::new(Rank::new(0), 2);
        for (id, bytes) in [(1, 10), (2, 20), (3, 30)] {
            mail.charge(&Reason { object: Some(ObjectId(id)), action: "at", site: None }, bytes);
        }
        // Two that are alike are gone; of another nothing is known.
        mail.reap(ObjectId(1), &name);
        mail.reap(ObjectId(3), &name);
        mail.reap(ObjectId(4), &name);
        let usage: Vec<_> = mail.usage(|id| Some(format!("{id:?}"))).into_iter().collect();
        let row = |name: String, messages, bytes| ((Some(name), "at", None), Usage { messages, bytes });
        assert_eq!(usage, [row(format!("{:?}", ObjectId(2)), 1, 20), row(name.to_string(), 2, 40)]);
        assert_eq!(mail.usage.len(), 1);
    }
}
