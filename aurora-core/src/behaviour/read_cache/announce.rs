//! Entering a load, and announcing it to all ranks.

use super::arrival::Announced;
use super::memory::A_CACHE;
use super::message::LoadMessage;
use crate::Error;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::memory::{BarrierRound, Sharing};
use crate::object::Cx;
use crate::scope::{Opening, Served};
use crate::stats::Kind;
use crate::vector::loans::VectorLoan;
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use aurora_net::Payload;
use std::ops::Range;
use std::sync::Arc;

/// More write marks in an announcement would not fit a header.
const ANNOUNCED_WRITES: usize = 32;

/// Shorter blocks are sent from a copy: a short packet's acknowledgement is delayed, and writes would wait for it.
const COPIED_BLOCK: usize = 1024;

impl Vector {
    /// Enters a ReadCache. If all ranks share memory, arrives at their node barrier: there ranks find out if all blocks
    /// are at home and no rank has anything to announce. Otherwise announces the load at once.
    pub(crate) fn enter_read_cache(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        let (me, size) = (cx.me(), cx.size());
        let (digest, window) = (opening.digest(), opening.window);
        let epoch = self.enter(opening, cx)?;
        // In checking mode ranks exchange more than the barrier can carry.
        if self.block.home().is_none() || self.nodes.with(me).len() < size || self.check.is_some() {
            self.announce(epoch, cx);
            return Ok(epoch);
        }
        let own = self.own_part(window);
        let at_home = self.block.bring_home(&own);
        let to_tell = !at_home || window.is_whole() && self.load.cache.is_used() || self.writes.any();
        self.load.barriers += 1;
        // Equal on all ranks that have nothing to announce.
        let word = epoch << 24 | if to_tell { me.index() as u64 + 1 } else { 0 };
        self.load.node_barrier = Some(BarrierRound { number: self.load.barriers, word: word ^ digest });
        Ok(epoch)
    }

    /// The node barrier at which this rank has arrived for a ReadCache.
    pub(crate) fn node_barrier(&self) -> Option<(&Arc<Sharing>, BarrierRound)> {
        Some((self.block.home()?.sharing(), self.load.node_barrier?))
    }

    /// All ranks have passed the node barrier. `agreed`: no rank has anything to announce, all announcements are known.
    pub(crate) fn pass_node_barrier(&mut self, epoch: Epoch, agreed: bool, cx: &mut Cx<'_>) {
        self.load.node_barrier = None;
        if !agreed {
            return self.announce(epoch, cx);
        }
        let record = self.scopes.ledger.record(epoch);
        record.mine_complete = true;
        for arrival in &mut record.from {
            arrival.complete = true;
            arrival.kept.arrived_at_home();
        }
        self.scopes.has_changed = true;
    }

    /// Announces the load to all ranks, with this rank's block to receivers that do not have this version.
    fn announce(&mut self, epoch: Epoch, cx: &mut Cx<'_>) {
        let (me, size) = (cx.me(), cx.size());
        let opening = self.scopes.ledger.record(epoch).mine.clone().expect("just entered");
        let (window, site, nodes) = (opening.window, opening.site.clone(), self.nodes.clone());
        let (own, place) = (self.own_part(window), self.within(me, window));
        let is_alone = nodes.with(me).len() == size;
        if !is_alone {
            // A push to other nodes must contain all earlier writes.
            self.block.freeze();
        }
        let at_home = self.block.bring_home(&own);
        let version = self.block.version;
        // A part is sent from a copy, so that writes to the rest of the block need not wait.
        let from_block = at_home && window.is_whole();
        if let Some(home) = self.block.home_mut().filter(|_| window.is_whole()) {
            home.cache.enter(epoch);
        }
        if !at_home || if window.is_whole() { self.load.cache.is_used() } else { !is_alone } {
            self.loading((epoch, window));
            let Some(replica) = self.load.cache.find_loading((epoch, window)) else {
                // The ranks name different windows: the announcement will report the mismatch.
                return;
            };
            if !from_block && replica.have[me.index()] != version {
                let written = self.block.read_range(&own, |bytes| replica.write(place.start, bytes));
                written.expect("no write guard is open");
                replica.have[me.index()] = version;
            }
            if let Some(shortage) = replica.short.clone() {
                return drop(cx.no_memory(shortage, A_CACHE, &site));
            }
        }
        self.writes.begin_load();
        let mut marks = self.writes.take();
        let writes = self.writes.applied;
        // No rank keeps a copy of a part.
        let (pushed, sent) = if window.is_whole() { (self.load.pushed, self.load.sent_to_other_nodes) } else { (0, 0) };
        // Node peers see a block that is at home; on each other node one rank receives the block for all.
        let to_peers = !at_home && version != pushed && !own.is_empty();
        let to_other_nodes = version != sent && !own.is_empty() && !is_alone;
        let sends_to =
            |rank| if nodes.same_node(me, rank) { to_peers } else { to_other_nodes && nodes.receives(me, rank) };
        let record = self.scopes.ledger.record(epoch);
        record.merge_marks(&marks);
        record.mine_complete = true;
        let reason = Reason::new("ReadCache", Kind::Load, &site);
        let list = (marks.len() > ANNOUNCED_WRITES).then(|| {
            let list = postcard::to_allocvec(&std::mem::take(&mut marks)).expect("pairs of numbers");
            bytes::Bytes::from(list)
        });
        let said = Announced { version, at_home, writes, marks, list_follows: list.is_some(), time: cx.release() };
        record.from[me.index()].kept.said = said.clone();
        let message = Message::Load(LoadMessage::Enter { epoch, opening, said });
        let is_short = (to_peers || to_other_nodes) && own.len() <= COPIED_BLOCK;
        let copied = if is_short { self.block.read_range(&own, bytes::Bytes::copy_from_slice) } else { None };
        for rank in me.others(size) {
            let payload = match &copied {
                _ if !sends_to(rank) => Payload::Empty,
                Some(copied) => Payload::Bytes(copied.clone()),
                None if from_block => {
                    // No rank writes there before the transfer is acknowledged.
                    self.block.lend_to_transfer();
                    self.lend(VectorLoan::Block { base: 0 }, own.len(), cx)
                }
                None => self.lend_copy(epoch, place.clone(), cx),
            };
            message.send(&reason, rank, payload, cx);
            if let Some(list) = &list {
                let message = Message::Load(LoadMessage::Made { epoch });
                message.send(&reason, rank, Payload::Bytes(list.clone()), cx);
            }
        }
        self.scopes.has_changed = true;
    }

    /// A part of the copy that is loaded for `epoch`, to be sent.
    pub(super) fn lend_copy(&mut self, epoch: Epoch, place: Range<usize>, cx: &Cx<'_>) -> Payload {
        let serial = self.load.cache.begin_send(epoch);
        self.lend(VectorLoan::CacheOut { serial, base: place.start }, place.len(), cx)
    }
}
