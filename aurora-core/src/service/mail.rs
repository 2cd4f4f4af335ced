//! Messages out, counted: per peer for the watch, per object and line for the user.

use crate::Site;
use crate::message::Message;
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

/// Why a message is sent: the object's name, what was done with it, and the line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Reason {
    pub(crate) object: Option<crate::message::ObjectId>,
    pub(crate) action: &'static str,
    pub(crate) site: Option<Site>,
}

/// The way out for everything that this rank says.
pub(crate) struct Mail {
    /// Messages to each rank, as far as the watch counts them.
    pub(crate) sent: Vec<u64>,
    /// Messages delivered from each rank, likewise.
    pub(crate) received: Vec<u64>,
    usage: BTreeMap<Reason, Usage>,
}

impl Mail {
    pub(crate) fn new(size: usize) -> Self {
        Mail { sent: vec![0; size], received: vec![0; size], usage: BTreeMap::new() }
    }

    /// Sends without accounting to a line: answers, the watch, the end.
    pub(crate) fn post(&mut self, out: &mut Outbox, to: Rank, message: &Message, payload: Payload) {
        self.count(to, message);
        if message.is_in_no_hurry() {
            out.send_quietly(to, message.encode(), payload);
        } else {
            out.send(to, message.encode(), payload);
        }
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
        self.post(out, to, message, payload);
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
        self.count(to, message);
        out.send_quietly(to, message.encode(), payload);
    }

    fn count(&mut self, to: Rank, message: &Message) {
        if message.is_counted() {
            self.sent[to.index()] += 1;
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

    pub(crate) fn usage(&self) -> &BTreeMap<Reason, Usage> {
        &self.usage
    }
}
