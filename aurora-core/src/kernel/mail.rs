//! The way out for the messages of a rank. Each is counted: for the watch over waiting ranks, and in [`Counters`].

use super::counters::{Counters, Reason};
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::object::How;
use aurora_net::{Outbox, Payload, Rank};
use std::collections::VecDeque;

/// Sends messages and counts them.
pub(crate) struct Mail {
    me: Rank,
    /// What this rank has sent to itself.
    pub(crate) to_self: VecDeque<(Vec<u8>, Payload)>,
    /// Messages to each rank, as far as the watch counts them.
    pub(crate) sent: Vec<u64>,
    /// Messages delivered from each rank, likewise.
    pub(crate) received: Vec<u64>,
    pub(crate) counters: Counters,
}

impl Mail {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        let (sent, received) = (vec![0; size], vec![0; size]);
        Mail { me, to_self: VecDeque::new(), sent, received, counters: Counters::default() }
    }

    /// Sends a message between kernels, on account of no line.
    pub(crate) fn say(&mut self, out: &mut Outbox, to: Rank, message: &Message, payload: Payload) {
        self.say_for(out, to, message, payload, None);
    }

    /// Sends a message between kernels on account of a line of the program.
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

    /// Sends a transfer and counts it, as one of an object or of none.
    pub(crate) fn post(
        &mut self,
        out: &mut Outbox,
        to: Rank,
        (header, counted): (Vec<u8>, bool),
        payload: Payload,
        object: Option<ObjectId>,
        how: &How<'_>,
    ) {
        if counted {
            self.sent[to.index()] += 1;
        }
        if to == self.me {
            // No transfer.
            return self.to_self.push_back((header, payload));
        }
        self.counters.sent(object, how, header.len(), payload.len());
        match how.lazy {
            true => out.send_lazily(to, header, payload),
            false => out.send(to, header, payload),
        }
    }
}
