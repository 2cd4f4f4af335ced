//! A rank's part of the shared object: the machine and its counts.

use crate::counts::{Counts, Requests};
use crate::machine::{Machine, Message, Peer};
use aurora_core::object::{
    Awaited, Cx, Holds, How, Kind, Malformed, Obstacle, Reason, Received, SharedObject, Until, Wait, decode,
};
use aurora_core::prelude::*;
use aurora_core::{ObjectName, Site};
use std::collections::BTreeMap;

/// A wait for the departure from a barrier.
pub(crate) const BARRIER: Wait = Wait { number: 0, until: Until::Acted };
/// A wait for differences of a page.
pub(crate) const DIFFS: Wait = Wait { number: 1, until: Until::Answered };
/// A wait for a lock.
pub(crate) const LOCK: Wait = Wait { number: 2, until: Until::Answered };

pub(crate) struct Node {
    pub(crate) machine: Machine,
    pub(crate) counts: Counts,
    pub(crate) requests: Requests,
    /// The locks that this rank holds, and the lines that have acquired them.
    pub(crate) held: BTreeMap<u32, Site>,
    /// The maximum bytes of history that the rank may keep.
    limit: usize,
}

impl Node {
    pub(crate) fn new(rank: Rank, ranks: usize, limit: usize) -> Self {
        let machine = Machine::new(rank.index(), ranks);
        Node { machine, counts: Counts::default(), requests: Requests::default(), held: BTreeMap::new(), limit }
    }

    /// Sends messages of the machine. Messages of a call of the program have a reason.
    pub(crate) fn send(&mut self, sent: Vec<(Peer, Message)>, reason: Option<&Reason>, cx: &mut Cx<'_>) {
        for (to, message) in sent {
            let bytes = match postcard::to_allocvec(&message) {
                Ok(bytes) => bytes,
                Err(error) => return cx.fail(cx.error(error)),
            };
            self.counts.sent(&message, bytes.len());
            let how = How::default();
            cx.send(Rank::new(to.into()), &message.kind(), bytes, reason.map_or(how, |reason| how.on(reason)));
        }
    }
}

impl SharedObject for Node {
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        decode::<u8>(header)?;
        let message = postcard::from_bytes(payload.bytes()).map_err(|_| Malformed)?;
        let sent = self.machine.handle(from.index() as Peer, message).map_err(|_| Malformed)?;
        self.send(sent, None, cx);
        cx.progress();
        Ok(())
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        let (history, limit) = (self.machine.history(), self.limit);
        if history > limit && cx.is_sound() {
            cx.fail(cx.error(format_args!(
                "the differences and intervals of this run have {history} bytes, more than the limit of {limit}: \
                 nothing of them is ever forgotten; run fewer iterations, or make it by `Tmk::with_history`"
            )));
        }
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let ranks = |peers: &mut dyn Iterator<Item = Peer>| peers.map(|peer| Rank::new(peer.into())).collect();
        let machine = &self.machine;
        let (ranks, doing) = match wait {
            BARRIER => (ranks(&mut machine.awaited_in_barrier()), format!("waits in a barrier of {name}")),
            DIFFS => (ranks(&mut machine.asked()), format!("waits for differences of a page of {name}")),
            _ => {
                let lock = machine.awaited_lock().unwrap_or_default();
                let mut doing = format!("waits for lock {lock} of {name}");
                if let Some((lock, since)) = self.held.first_key_value() {
                    let more = self.held.len() - 1;
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    doing += &format!(", with lock {lock} that it has acquired at {since}{more},");
                }
                (ranks(&mut machine.others()), doing)
            }
        };
        Awaited { ranks, doing }
    }

    /// Reports the ranks to which this rank owes a lock: they wait for this rank's program.
    fn holds(&self, held: &mut Holds<'_>) {
        for peer in self.machine.owed() {
            held.call(Rank::new(peer.into()), Obstacle { by_itself: true, behind: Vec::new() });
        }
    }

    fn wait_kind(&self, _: Wait) -> Kind {
        Kind::Object
    }

    fn describe(&self, header: &[u8], _: bool) -> &'static str {
        let kind = decode::<u8>(header).ok().and_then(|kind| Message::KINDS.get(usize::from(kind)));
        kind.copied().unwrap_or("message")
    }
}
