//! Sends the messages of a rank and counts them: for the watch over waiting ranks, and in [`Counters`].

use super::counters::{Counters, Reason};
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::object::How;
use aurora_net::{Outbox, Payload, Rank};
use std::collections::VecDeque;

pub(crate) struct Mail {
    me: Rank,
    pub(crate) to_self: VecDeque<(Vec<u8>, Payload)>,
    /// Messages to each rank that the watch counts.
    pub(crate) sent: Vec<u64>,
    /// Messages delivered from each rank that the watch counts.
    pub(crate) received: Vec<u64>,
    pub(crate) counters: Counters,
}

impl Mail {
    pub(crate) fn new(me: Rank, size: usize) -> Self {
        let (sent, received) = (vec![0; size], vec![0; size]);
        Mail { me, to_self: VecDeque::new(), sent, received, counters: Counters::default() }
    }

    /// Sends a message between kernels that no line of the program has caused.
    pub(crate) fn say(&mut self, out: &mut Outbox, to: Rank, message: &Message, payload: Payload) {
        self.say_for(out, to, message, payload, None);
    }

    /// Sends a message between kernels that the line `reason` has caused.
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

    /// Sends a transfer and counts it, under an object or none.
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
            // A message to itself is no transfer.
            return self.to_self.push_back((header, payload));
        }
        self.counters.sent(object, how, header.len(), payload.len());
        match how.lazy {
            true => out.send_lazily(to, header, payload),
            false => out.send(to, header, payload),
        }
    }
}
