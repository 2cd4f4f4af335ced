//! Entering a load, and announcing it to all ranks.

use super::arrival::{Announced, Loading};
use super::memory::A_CACHE;
use super::protocol::{Load, LoadLoan, LoadMessage};
use crate::Kind;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::memory::{BarrierRound, Sharing};
use crate::object::Cx;
use crate::scope::Opening;
use crate::vector::core::VectorCore;
use crate::window::Window;
use aurora_net::Payload;
use std::ops::Range;
use std::sync::Arc;

/// More write marks in an announcement would not fit a header.
const ANNOUNCED_WRITES: usize = 32;

/// Shorter blocks are sent from a copy: a short packet's acknowledgement is delayed, and writes would wait for it.
const COPIED_BLOCK: usize = 1024;

impl Load {
    /// This rank has entered a ReadCache. If all ranks share memory, it arrives at their node barrier: there ranks find
    /// out if all blocks are at home and no rank has anything to announce. Otherwise it announces the load at once.
    pub(super) fn begin(&mut self, core: &mut VectorCore, epoch: Epoch, opening: &Opening, cx: &mut Cx<'_>) {
        let (me, window) = (cx.me(), opening.window);
        // In checking mode ranks exchange more than the barrier can carry.
        if core.block().home().is_none() || !core.is_on_one_node() || core.is_checked() {
            return self.announce(core, epoch, cx);
        }
        let own = core.own_part(window);
        let at_home = core.block_mut().bring_home(&own);
        let to_tell = self.needs_copy(core, window, at_home) || core.writes().any();
        self.barriers += 1;
        // Equal on all ranks that have nothing to announce.
        let word = epoch << 24 | if to_tell { me.index() as u64 + 1 } else { 0 };
        self.node_barrier = Some(BarrierRound { number: self.barriers, word: word ^ opening.digest() });
    }

    /// True if this rank loads into a copy of its own: its block is not at home, or loads of the whole use such a copy
    /// already, or other nodes get a part of the block from it.
    fn needs_copy(&self, core: &VectorCore, window: Window, at_home: bool) -> bool {
        !at_home || if window.is_whole() { self.cache.is_used() } else { !core.is_on_one_node() }
    }

    /// The node barrier at which this rank has arrived for a ReadCache.
    pub(crate) fn node_barrier<'c>(&self, core: &'c VectorCore) -> Option<(&'c Arc<Sharing>, BarrierRound)> {
        Some((core.block().home()?.sharing(), self.node_barrier?))
    }

    /// All ranks have passed the node barrier. `agreed`: no rank has anything to announce, all announcements are known.
    pub(crate) fn pass_node_barrier(&mut self, core: &mut VectorCore, epoch: Epoch, agreed: bool, cx: &mut Cx<'_>) {
        self.node_barrier = None;
        if !agreed {
            return self.announce(core, epoch, cx);
        }
        let record = core.ledger_mut().record(epoch);
        record.mine_complete = true;
        record.from.iter_mut().for_each(|arrival| arrival.complete = true);
        self.arrivals.all(epoch).iter_mut().for_each(Loading::arrived_at_home);
        core.retry();
    }

    /// Announces the load to all ranks, with this rank's block to receivers that do not have this version.
    fn announce(&mut self, core: &mut VectorCore, epoch: Epoch, cx: &mut Cx<'_>) {
        let (me, size) = (cx.me(), cx.size());
        let opening = core.ledger_mut().record(epoch).mine.clone().expect("just entered");
        let (window, site, nodes) = (opening.window, opening.site.clone(), core.nodes().clone());
        let (own, place) = (core.own_part(window), core.within(me, window));
        let is_alone = core.is_on_one_node();
        if !is_alone {
            // A push to other nodes must contain all earlier writes.
            core.block_mut().freeze();
        }
        let at_home = core.block_mut().bring_home(&own);
        let version = core.block().version;
        // A part is sent from a copy, so that writes to the rest of the block need not wait.
        let from_block = at_home && window.is_whole();
        if let Some(home) = core.block_mut().slots_mut(window) {
            home.cache.enter(epoch);
        }
        if self.needs_copy(core, window, at_home) {
            self.loading(core, (epoch, window));
            let Some(replica) = self.cache.find_loading((epoch, window)) else {
                // The ranks name different windows: the announcement will report the mismatch.
                return;
            };
            if !from_block && replica.have[me.index()] != version {
                let written = core.block_mut().read_range(&own, |bytes| replica.write(place.start, bytes));
                written.expect("no write guard is open");
                replica.have[me.index()] = version;
            }
            if let Some(shortage) = replica.short.clone() {
                return drop(cx.no_memory(shortage, A_CACHE, &site));
            }
        }
        core.writes_mut().begin_load();
        let mut marks = core.writes_mut().take();
        let writes = core.writes().applied;
        let kept = self.kept(window);
        // Node peers see a block that is at home; on each other node one rank receives the block for all.
        let to_peers = !at_home && version != kept.by_node_peers && !own.is_empty();
        let to_other_nodes = version != kept.by_other_nodes && !own.is_empty() && !is_alone;
        let sends_to =
            |rank| if nodes.same_node(me, rank) { to_peers } else { to_other_nodes && nodes.receives(me, rank) };
        self.arrivals.merge_marks(epoch, &marks);
        core.ledger_mut().record(epoch).mine_complete = true;
        let reason = Reason::new("ReadCache", Kind::Load, &site);
        let list = (marks.len() > ANNOUNCED_WRITES).then(|| {
            let list = postcard::to_allocvec(&std::mem::take(&mut marks)).expect("pairs of numbers");
            bytes::Bytes::from(list)
        });
        let announced = Announced { version, at_home, writes, marks, list_follows: list.is_some(), time: cx.release() };
        self.arrivals.of(epoch, me).announced = announced.clone();
        let message = LoadMessage::Enter { epoch, opening, announced };
        let is_short = (to_peers || to_other_nodes) && own.len() <= COPIED_BLOCK;
        let copied = if is_short { core.block_mut().read_range(&own, bytes::Bytes::copy_from_slice) } else { None };
        for rank in me.others(size) {
            let payload = match &copied {
                _ if !sends_to(rank) => Payload::Empty,
                Some(copied) => Payload::Bytes(copied.clone()),
                None if from_block => core.lend_block(0, own.len(), cx),
                None => self.lend_copy(epoch, place.clone(), cx),
            };
            message.send(&reason, rank, payload, cx);
            if let Some(list) = &list {
                LoadMessage::Made { epoch }.send(&reason, rank, Payload::Bytes(list.clone()), cx);
            }
        }
        core.retry();
    }

    /// A part of the copy that is loaded for `epoch`, to be sent.
    pub(super) fn lend_copy(&mut self, epoch: Epoch, place: Range<usize>, cx: &Cx<'_>) -> Payload {
        let serial = self.cache.begin_send(epoch);
        cx.lent(self.loans.add(LoadLoan::Out { serial, base: place.start }), place.len())
    }
}
