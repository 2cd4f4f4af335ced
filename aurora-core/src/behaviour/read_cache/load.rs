//! The receiving side of a ReadCache: announcements and blocks arrive, then the replica is completed.
//!
//! An announcement is the header of its block's transfer, so a rank knows it when the first bytes of the block
//! arrive. All announcements may be here while blocks are still arriving; a streamed load shows the arrived parts.

use super::arrival::Announced;
use super::cache::{BlockArrived, LOADS};
use super::memory::A_CACHE;
use super::protocol::{Kept, Load, LoadLoan, LoadMessage};
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::kernel::message::malformed;
use crate::memory::{Part, Reading};
use crate::object::{Cx, Loan, Place};
use crate::scope::Opening;
use crate::vector::batch::{Batch, batch_of_runs};
use crate::vector::core::VectorCore;
use crate::window::{Window, common};
use crate::{Error, Kind, Site};
use aurora_net::{Payload, Rank, Received};
use std::ops::Range;

impl Load {
    pub(super) fn place_block(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        (epoch, window): (Epoch, Window),
        len: usize,
        cx: &Cx<'_>,
    ) -> Place {
        let me = cx.me();
        // An object may be faulty because there is no memory for this block. If the epoch is completed, this rank has
        // opened a different scope: the announcement will report the mismatch.
        if !cx.is_sound() || core.ledger().is_settled(epoch) {
            return Place::Discard;
        }
        let place = core.within(from, window);
        let ours = core.nodes().same_node(from, me) || core.nodes().receives(from, me);
        if len != place.len() || !ours {
            return Place::Buffer;
        }
        let home = core.block_mut().slots_mut(window);
        if let Some(slot) = home.and_then(|home| home.open_slot(from, epoch)) {
            slot.open_for(epoch);
            return Place::At(self.loans.add(LoadLoan::Room { owner: from, epoch, len }));
        }
        if !self.cache.may_load(epoch) {
            return Place::Buffer;
        }
        match self.loading(core, (epoch, window)) {
            Some(_) => Place::At(self.loans.add(LoadLoan::In { epoch, base: place.start, len })),
            // The ranks name different windows: the announcement will report the mismatch.
            None => Place::Discard,
        }
    }

    /// Records an announcement, unless it is recorded already.
    pub(crate) fn note_announcement(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        (epoch, opening): (Epoch, &Opening),
        (announced, coming): (Announced, bool),
        cx: &mut Cx<'_>,
    ) {
        if self.arrivals.find(epoch, from).is_some_and(|loading| loading.is_announced) {
            return;
        }
        core.scopes_mut().opened(from, epoch, opening, cx);
        let time = announced.time.clone();
        self.arrivals.merge_marks(epoch, &announced.marks);
        let complete = self.arrivals.of(epoch, from).record(announced, coming);
        core.ledger_mut().record(epoch).from[from.index()].complete = complete;
        core.scopes_mut().released(epoch, opening.window, time.as_ref());
        core.retry();
    }

    /// The transfer of an announcement and its block is complete.
    pub(crate) fn arrived(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        (epoch, opening): (Epoch, &Opening),
        payload: Received,
        cx: &mut Cx<'_>,
    ) {
        let loan = match payload {
            Received::Placed(token) => self.loans.end(Loan::of(token)),
            other => {
                if !other.bytes().is_empty() && cx.is_sound() {
                    return cx.fail_job(malformed(from));
                }
                None
            }
        };
        let (mut pushed, mut short) = (false, None);
        match loan {
            Some(LoadLoan::In { .. }) => {
                let version = self.arrivals.of(epoch, from).announced.version;
                if let Some(replica) = self.cache.find_loading((epoch, opening.window)) {
                    replica.have[from.index()] = version;
                    (pushed, short) = (true, replica.short.clone());
                }
            }
            Some(LoadLoan::Room { .. }) => {
                let slot = core.block_mut().home_mut().and_then(|home| home.cache.slot(from));
                (pushed, short) = (true, slot.and_then(|slot| slot.short().cloned()));
            }
            _ => {}
        }
        if let Some(shortage) = short {
            return drop(cx.no_memory(shortage, A_CACHE, &opening.site));
        }
        let arrival = self.arrivals.of(epoch, from);
        arrival.pushed = pushed;
        arrival.arrived = true;
        core.retry();
    }

    /// All ranks have announced the load: sends as a correction the elements that were written after this rank's push.
    pub(super) fn settle(&mut self, core: &mut VectorCore, epoch: Epoch, cx: &mut Cx<'_>) {
        let (me, others, window) = (cx.me(), cx.others(), core.ledger().scope_of(epoch).0);
        let (element, len, shown) = (core.block().element, core.block().len(), window.range(core.dist().len()));
        let (own, place) = (core.own_part(window), core.within(me, window));
        let elements = own.start / element..own.end / element;
        let touched = core.writes_mut().end_load();
        let touched: Vec<_> = touched.iter().map(|run| common(&elements, run)).filter(|run| !run.is_empty()).collect();
        let (version, writes) = (core.block().version, core.writes().applied);
        let is_final = self.arrivals.is_final(epoch, me);
        let announced = &mut self.arrivals.of(epoch, me).announced;
        let announced_at_home = announced.at_home;
        // A write that no rank has announced belongs to the next load.
        let sent = if is_final && !touched.is_empty() { announced.version } else { version };
        if !announced_at_home {
            announced.version = sent;
        }
        // If the block is at home, no node peer needs a copy of it.
        let by_node_peers = if announced_at_home { 0 } else { sent };
        self.keep(window, Kept { by_node_peers, by_other_nodes: sent });
        core.block_mut().thaw();
        if let Some(home) = core.block_mut().home_mut() {
            home.settled(epoch, shown.start * element..shown.end * element);
        }
        let mut replica = self.cache.find_loading((epoch, window)).filter(|_| !announced_at_home);
        if let Some(replica) = &mut replica {
            replica.have[me.index()] = sent;
        }
        if is_final {
            return;
        }
        let nodes = core.nodes().clone();
        let in_place = announced_at_home && core.block().has_at_home(&own);
        // `None`: the block is lent for writing, which happens only after the scope has failed.
        let changes = core.block_mut().read_range(&own, |bytes| {
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
            self.arrivals.of(epoch, me).correction = Some((version, for_peers.to_vec()));
        }
        let reason = Reason { action: "correction", site: None, kind: Kind::Load };
        let message = LoadMessage::Correct { epoch, version, writes };
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
    pub(crate) fn poll_loaded(
        &mut self,
        core: &mut VectorCore,
        epoch: Epoch,
        site: &Site,
        cx: &mut Cx<'_>,
    ) -> Option<Result<Loaded, Error>> {
        let me = cx.me();
        if !core.ledger().is_settled(epoch) || !self.arrivals.incomplete(epoch, cx.others()).is_empty() {
            return None;
        }
        core.ledger().find(epoch)?;
        match self.install_all(core, epoch, site, cx) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let window = core.ledger().scope_of(epoch).0;
        let bytes = core.block().bytes_of(&window.range(core.dist().len()));
        let streamed = self.stream.as_ref().is_some_and(|stream| stream.epoch == epoch && !stream.unread);
        let arrived: Vec<_> =
            (0..cx.size()).map(|rank| self.block_arrived(core, Rank::new(rank), me, (epoch, window))).collect();
        core.ledger_mut().forget(epoch);
        self.arrivals.forget(epoch);
        let all_is_home = arrived.iter().all(|block| {
            let is_final = block.correction.as_ref().is_none_or(|(_, changes)| changes.is_empty());
            block.range.is_empty() || block.at_home && is_final
        });
        if let Some(home) = core.block_mut().home_mut().filter(|_| all_is_home) {
            let (part, reading) = home.show(epoch, bytes);
            self.cache.give_up(epoch, window);
            return Some(Ok(Loaded { part, reading }));
        }
        let nodes = core.nodes().clone();
        self.loading(core, (epoch, window));
        let replica = self.cache.find_loading((epoch, window)).expect("all agree about the window");
        let mut reading = None;
        if let Some(home) = core.block_mut().home_mut() {
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
        Some(Ok(Loaded { part: self.cache.complete(epoch, &arrived), reading }))
    }

    /// Records a correction, which an owner sends only after this rank has entered the load. False: malformed.
    pub(crate) fn corrected(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        epoch: Epoch,
        correction: (u64, Vec<u8>),
        writes: u64,
    ) -> bool {
        let fits = Batch::parse(&correction.1, core.block().element, core.dist().range(from).len()).is_some();
        if !fits || epoch > core.ledger().epoch {
            return false;
        }
        if core.ledger().find(epoch).is_some() {
            let arrival = self.arrivals.of(epoch, from);
            (arrival.correction, arrival.announced.writes) = (Some(correction), writes);
        }
        true
    }

    /// Records the list of a rank's write marks, which may arrive before or after its announcement. False: malformed.
    pub(super) fn list_arrived(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        epoch: Epoch,
        marks: &[(u32, u64)],
    ) -> bool {
        if core.ledger().is_settled(epoch) {
            // This rank has opened a different scope: the announcement will report the mismatch.
            return true;
        }
        if !self.arrivals.has(epoch) && self.arrivals.lists_ahead(from) >= LOADS {
            return false;
        }
        self.arrivals.merge_marks(epoch, marks);
        let loading = self.arrivals.of(epoch, from);
        let is_expected = loading.list_arrived();
        core.ledger_mut().record(epoch).from[from.index()].complete = loading.is_announced;
        is_expected
    }

    /// A rank's block as it has arrived for a load whose blocks are all here.
    fn block_arrived(&self, core: &VectorCore, rank: Rank, me: Rank, (epoch, window): (Epoch, Window)) -> BlockArrived {
        let arrival = self.arrival(rank, epoch);
        let range = core.within(rank, window);
        if core.block().home().is_some() && !core.nodes().same_node(rank, me) {
            // The rank that received the block for this node has already applied the correction.
            let (version, at_home) = (arrival.final_version(), self.is_installed(core, rank, (epoch, window)));
            return BlockArrived { range, version, at_home, correction: None };
        }
        let correction = arrival.correction.as_ref();
        let correction = correction.map(|(version, _)| (*version, self.changes(core, rank, (epoch, window))));
        let at_home = arrival.announced.at_home && core.nodes().same_node(rank, me);
        BlockArrived { range, version: arrival.announced.version, at_home, correction }
    }
}

pub(crate) struct Loaded {
    pub(crate) part: Part,
    /// Set if `part`, or a piece shown before, lies in memory that the node shares.
    pub(crate) reading: Option<Reading>,
}
