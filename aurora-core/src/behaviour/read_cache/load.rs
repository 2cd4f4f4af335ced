//! The receiving side of a ReadCache: announcements and blocks arrive, then the replica is completed.
//!
//! An announcement is the header of its block's transfer, so a rank knows it when the first bytes of the block
//! arrive. All announcements may be here while blocks are still arriving; a streamed load shows the arrived parts.

use super::arrival::Announced;
use super::cache::{BlockArrived, Cache};
use super::memory::A_CACHE;
use super::message::LoadMessage;
use super::stream::Stream;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::kernel::message::malformed;
use crate::memory::{BarrierRound, Part, Reading};
use crate::object::{Cx, Place};
use crate::scope::Opening;
use crate::stats::Kind;
use crate::vector::batch::{Batch, batch_of_runs};
use crate::vector::loans::VectorLoan;
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use crate::window::{Window, common};
use crate::{Error, Site};
use aurora_net::{Payload, Rank, Received};
use std::ops::Range;

/// An announcement that is not recorded yet: the rank, its opening, and true if its block follows and has a place in
/// this rank's memory.
type PendingAnnouncement = (Rank, (Epoch, Opening), (Announced, bool));

/// The state of the loads of one vector on this rank.
#[derive(Default)]
pub(crate) struct Load {
    /// Copies in memory of this rank's own.
    pub(crate) cache: Cache,
    /// A load that is not complete. Its guard shows the arrived blocks, or was dropped already.
    pub(crate) stream: Option<Stream>,
    /// Announcements whose header has arrived, to be recorded when messages can be sent.
    pub(crate) pending: Vec<PendingAnnouncement>,
    /// Version of this rank's block that its node peers have in copies of their own.
    pub(super) pushed: u64,
    /// Version of this rank's block that the other nodes have.
    pub(super) sent_to_other_nodes: u64,
    /// Number of node barriers that this rank has arrived at.
    pub(super) barriers: u64,
    /// The node barrier at which this rank waits.
    pub(super) node_barrier: Option<BarrierRound>,
}

impl Load {
    pub(crate) fn release(&mut self) {
        (self.pushed, self.sent_to_other_nodes) = (0, 0);
        self.cache.release();
    }
}

impl Vector {
    pub(super) fn place_block(
        &mut self,
        from: Rank,
        (epoch, window): (Epoch, Window),
        len: usize,
        cx: &Cx<'_>,
    ) -> Place {
        let me = cx.me();
        // An object may be faulty because there is no memory for this block. If the epoch is completed, this rank has
        // opened a different scope: the announcement will report the mismatch.
        if !cx.is_sound() || self.scopes.ledger.is_settled(epoch) {
            return Place::Discard;
        }
        let place = self.within(from, window);
        let ours = self.nodes.same_node(from, me) || self.nodes.receives(from, me);
        if len != place.len() || !ours {
            return Place::Buffer;
        }
        let home = self.block.home_mut().filter(|_| window.is_whole());
        if let Some(slot) = home.and_then(|home| home.open_slot(from, epoch)) {
            slot.open_for(epoch);
            return Place::At(self.loans.add(VectorLoan::RoomIn { owner: from, epoch, len }));
        }
        if !self.load.cache.may_load(epoch) {
            return Place::Buffer;
        }
        match self.loading((epoch, window)) {
            Some(_) => Place::At(self.loans.add(VectorLoan::CacheIn { epoch, base: place.start, len })),
            // The ranks name different windows: the announcement will report the mismatch.
            None => Place::Discard,
        }
    }

    pub(crate) fn take_announcements(&mut self, cx: &mut Cx<'_>) {
        for (from, (epoch, opening), said) in std::mem::take(&mut self.load.pending) {
            self.note_announcement(from, (epoch, &opening), said, cx);
        }
    }

    /// Records an announcement, unless it is recorded already.
    pub(crate) fn note_announcement(
        &mut self,
        from: Rank,
        (epoch, opening): (Epoch, &Opening),
        (said, coming): (Announced, bool),
        cx: &mut Cx<'_>,
    ) {
        if self.scopes.ledger.find(epoch).is_some_and(|record| record.from[from.index()].kept.is_announced) {
            return;
        }
        self.scopes.opened(from, epoch, opening, cx);
        let time = said.time.clone();
        self.scopes.ledger.record(epoch).announced(from, said, coming);
        self.scopes.released(epoch, opening.window, time.as_ref());
        self.scopes.has_changed = true;
    }

    /// The transfer of an announcement and its block is complete.
    pub(crate) fn arrived(
        &mut self,
        from: Rank,
        (epoch, opening): (Epoch, &Opening),
        payload: Received,
        cx: &mut Cx<'_>,
    ) {
        let loan = match payload {
            Received::Placed(token) => self.end_loan(token),
            other => {
                if !other.bytes().is_empty() && cx.is_sound() {
                    return cx.fail_job(malformed(from));
                }
                None
            }
        };
        let (mut came, mut short) = (false, None);
        match loan {
            Some(VectorLoan::CacheIn { .. }) => {
                let version = self.scopes.ledger.record(epoch).from[from.index()].kept.said.version;
                if let Some(replica) = self.load.cache.find_loading((epoch, opening.window)) {
                    replica.have[from.index()] = version;
                    (came, short) = (true, replica.short.clone());
                }
            }
            Some(VectorLoan::RoomIn { .. }) => {
                let slot = self.block.home_mut().and_then(|home| home.cache.slot(from));
                (came, short) = (true, slot.and_then(|slot| slot.short().cloned()));
            }
            _ => {}
        }
        if let Some(shortage) = short {
            return drop(cx.no_memory(shortage, A_CACHE, &opening.site));
        }
        let arrival = &mut self.scopes.ledger.record(epoch).from[from.index()].kept;
        arrival.came = came;
        arrival.arrived = true;
        self.scopes.has_changed = true;
    }

    /// All ranks have announced the load: sends as a correction the elements that were written after this rank's push.
    pub(crate) fn settle_load(&mut self, epoch: Epoch, cx: &mut Cx<'_>) {
        let (me, others, window) = (cx.me(), cx.others(), self.scopes.ledger.scope_of(epoch).0);
        let (element, len, shown) = (self.block.element, self.block.len(), window.range(self.dist.len()));
        let (own, place) = (self.own_part(window), self.within(me, window));
        let elements = own.start / element..own.end / element;
        let touched = self.writes.end_load();
        let touched: Vec<_> = touched.iter().map(|run| common(&elements, run)).filter(|run| !run.is_empty()).collect();
        let (version, writes) = (self.block.version, self.writes.applied);
        let record = self.scopes.ledger.record(epoch);
        let (is_final, announced_at_home) = (record.is_final(me), record.from[me.index()].kept.said.at_home);
        // A write that no rank has announced belongs to the next load.
        let sent = if is_final && !touched.is_empty() { record.from[me.index()].kept.said.version } else { version };
        if window.is_whole() {
            // If the block is at home, no rank needs a copy of it.
            self.load.pushed = if announced_at_home { 0 } else { sent };
            self.load.sent_to_other_nodes = sent;
        }
        if !announced_at_home {
            record.from[me.index()].kept.said.version = sent;
        }
        self.block.thaw();
        if let Some(home) = self.block.home_mut() {
            home.settled(epoch, shown.start * element..shown.end * element);
        }
        let mut replica = self.load.cache.find_loading((epoch, window)).filter(|_| !announced_at_home);
        if let Some(replica) = &mut replica {
            replica.have[me.index()] = sent;
        }
        if is_final {
            return;
        }
        let nodes = self.nodes.clone();
        let in_place = announced_at_home && self.block.has_at_home(&own);
        // `None`: the block is lent for writing, which happens only after the scope has failed.
        let changes = self.block.read_range(&own, |bytes| {
            let run = |run: &Range<usize>| {
                let within = run.start * element - own.start..run.end * element - own.start;
                (run.clone(), within.start, &bytes[within])
            };
            if let Some(replica) = replica {
                touched.iter().map(run).for_each(|(_, at, values)| replica.write(place.start + at, values));
            }
            batch_of_runs(len, element, touched.iter().map(run).map(|(run, _, values)| (run, values)))
        });
        let Some(changes) = changes else {
            return;
        };
        let (changes, nothing) =
            (bytes::Bytes::from(changes), bytes::Bytes::from(batch_of_runs(len, element, std::iter::empty())));
        // Node peers that see the block in place, or get it from a node peer, need only the message that it is final.
        let for_peers = if in_place { &nothing } else { &changes };
        if announced_at_home {
            self.scopes.ledger.record(epoch).from[me.index()].kept.correction = Some((version, for_peers.to_vec()));
        }
        let reason = Reason { action: "correction", site: None, kind: Kind::Load };
        let message = Message::Load(LoadMessage::Correct { epoch, version, writes });
        for rank in others {
            let changes = match (nodes.same_node(me, rank), nodes.receives(me, rank)) {
                (true, _) => for_peers,
                (false, true) => &changes,
                (false, false) => &nothing,
            };
            message.send(&reason, rank, Payload::Bytes(changes.clone()), cx);
        }
    }

    /// The loaded window, once all blocks of it are here and final.
    pub(crate) fn poll_loaded(&mut self, epoch: Epoch, site: &Site, cx: &mut Cx<'_>) -> Option<Result<Loaded, Error>> {
        let me = cx.me();
        if !self.scopes.ledger.is_settled(epoch) || self.scopes.ledger.incomplete_blocks(epoch).next().is_some() {
            return None;
        }
        self.scopes.ledger.find(epoch)?;
        match self.install_all(epoch, site, cx) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let window = self.scopes.ledger.scope_of(epoch).0;
        let bytes = self.block.bytes_of(&window.range(self.dist.len()));
        let streamed = self.load.stream.as_ref().is_some_and(|stream| stream.epoch == epoch && !stream.unread);
        let arrived: Vec<_> =
            (0..cx.size()).map(|rank| self.block_arrived(Rank::new(rank), me, (epoch, window))).collect();
        self.scopes.ledger.forget(epoch);
        let all_is_home = arrived.iter().all(|block| {
            let is_final = block.correction.as_ref().is_none_or(|(_, changes)| changes.is_empty());
            block.range.is_empty() || block.at_home && is_final
        });
        if let Some(home) = self.block.home_mut().filter(|_| all_is_home) {
            let (part, reading) = home.show(epoch, bytes);
            self.load.cache.give_up(epoch, window);
            return Some(Ok(Loaded { part, reading }));
        }
        let nodes = self.nodes.clone();
        self.loading((epoch, window));
        let replica = self.load.cache.find_loading((epoch, window)).expect("all agree about the window");
        let mut reading = None;
        if let Some(home) = self.block.home_mut() {
            // Ranks may have changed a node peer's block in place since its owner announced the version.
            let lacking = |rank: usize, block: &BlockArrived| {
                nodes.same_node(Rank::new(rank), me) || replica.have[rank] != block.version
            };
            let blocks = arrived.iter().enumerate().filter(|(_, block)| block.at_home);
            for (rank, block) in blocks.filter(|(rank, block)| lacking(*rank, block)).collect::<Vec<_>>() {
                let place = bytes.start + block.range.start..bytes.start + block.range.end;
                replica.write(block.range.start, home.part(place).bytes());
                replica.have[rank] = block.version;
            }
            reading = home.pass(epoch, streamed);
        }
        if let Some(shortage) = replica.short.clone() {
            return Some(Err(cx.no_memory(shortage, A_CACHE, site)));
        }
        Some(Ok(Loaded { part: self.load.cache.complete(epoch, &arrived), reading }))
    }

    /// Records a correction, which an owner sends only after this rank has entered the load. False: malformed.
    pub(crate) fn corrected(&mut self, from: Rank, epoch: Epoch, correction: (u64, Vec<u8>), writes: u64) -> bool {
        let fits = Batch::parse(&correction.1, self.block.element, self.dist.range(from).len()).is_some();
        if !fits || epoch > self.scopes.ledger.epoch {
            return false;
        }
        if let Some(record) = self.scopes.ledger.find_mut(epoch) {
            let arrival = &mut record.from[from.index()].kept;
            (arrival.correction, arrival.said.writes) = (Some(correction), writes);
        }
        true
    }

    /// A rank's block as it has arrived for a load whose blocks are all here.
    fn block_arrived(&self, rank: Rank, me: Rank, (epoch, window): (Epoch, Window)) -> BlockArrived {
        let arrival =
            &self.scopes.ledger.find(epoch).expect("a load is remembered until it is complete").from[rank.index()].kept;
        let range = self.within(rank, window);
        if self.block.home().is_some() && !self.nodes.same_node(rank, me) {
            // The rank that received the block for this node has already applied the correction.
            let (version, at_home) = (arrival.final_version(), self.is_installed(rank, (epoch, window)));
            return BlockArrived { range, version, at_home, correction: None };
        }
        let correction = arrival.correction.as_ref();
        let correction = correction.map(|(version, _)| (*version, self.changes(rank, (epoch, window))));
        let at_home = arrival.said.at_home && self.nodes.same_node(rank, me);
        BlockArrived { range, version: arrival.said.version, at_home, correction }
    }
}

pub(crate) struct Loaded {
    pub(crate) part: Part,
    /// Set if `part`, or a piece shown before, lies in memory that the node shares.
    pub(crate) reading: Option<Reading>,
}
