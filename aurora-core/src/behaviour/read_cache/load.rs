//! Loading a ReadCache, on the receiving side: blocks arrive, epochs settle, a replica becomes whole.
//!
//! An announcement is the header of its block, and known before the block has come: it is *heard* when the first bytes
//! are here. So an epoch may be settled while blocks are still on their way, and who streams a load sees what is here
//! of them.

use super::cache::{BlockArrived, Cache, Correction, LOADS};
use super::memory::A_CACHE;
use super::message::LoadMessage;
use super::stream::Stream;
use super::write_marks::WriteMarks;
use super::write_marks::merge_marks;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::kernel::message::malformed;
use crate::memory::{Part, Reading, Shortage, Turn};
use crate::object::{Cx, Place};
use crate::vector::batch::{Batch, batch_of_runs};
use crate::vector::loans::VectorLoan;
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use crate::window::{Window, common};
use aurora_net::{Payload, Rank, Received};
use std::ops::Range;

/// An announcement whose header is here, and that is not recorded yet.
pub(crate) struct PendingAnnouncement {
    from: Rank,
    epoch: Epoch,
    opening: Opening,
    said: Announced,
}

/// What an announcement says.
pub(crate) struct Announced {
    pub(crate) version: u64,
    pub(crate) at_home: bool,
    pub(crate) writes: u64,
    pub(crate) marks: Vec<(u32, u64)>,
    pub(crate) list_follows: bool,
    /// Its block comes behind it, and has been let in.
    pub(crate) coming: bool,
}

/// What this rank knows of the loads of one vector.
pub(crate) struct Load {
    /// Copies in memory of its own.
    pub(crate) cache: Cache,
    /// The load that comes while its guard shows what is here, or has been dropped already.
    pub(crate) stream: Option<Stream>,
    /// Of writes by one-sided calls.
    pub(crate) write_marks: WriteMarks,
    /// Announcements whose first bytes have come.
    pub(super) pending: Vec<PendingAnnouncement>,
    /// Local ranges that one-sided writes have touched since our block was pushed, while a load is being entered.
    pub(crate) touched: Option<Vec<Range<usize>>>,
    /// Version of our block that our node peers have in copies of their own.
    pub(super) pushed: u64,
    /// Version of it that the other nodes have.
    pub(super) sent_abroad: u64,
    /// Loads for which this rank has passed a barrier with its node peers.
    pub(super) barriers: u64,
    /// The one for which it does at this moment.
    pub(super) node_barrier: Option<Turn>,
}

impl Load {
    /// Of a vector of so many ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        Load {
            cache: Cache::default(),
            stream: None,
            write_marks: WriteMarks::new(ranks),
            pending: Vec::new(),
            touched: None,
            pushed: 0,
            sent_abroad: 0,
            barriers: 0,
            node_barrier: None,
        }
    }

    /// Gives back the memory of copies.
    pub(crate) fn release(&mut self) {
        (self.pushed, self.sent_abroad) = (0, 0);
        self.cache.release();
    }
}

impl Vector {
    /// Where what a rank owns of a load's window goes.
    pub(super) fn place_block(
        &mut self,
        from: Rank,
        (epoch, window): (Epoch, Window),
        len: usize,
        cx: &Cx<'_>,
    ) -> Place {
        let me = cx.me();
        // A faulty object may be faulty because there is no memory for this. If the scope is settled, we have opened
        // something else, as is about to be found out.
        if !cx.is_sound() || self.ledger.is_settled(epoch) {
            return Place::Discard;
        }
        let place = self.within(from, window);
        let ours = self.nodes.same_node(from, me) || self.nodes.receives(from, me);
        if len != place.len() || !ours {
            return Place::Buffer;
        }
        let home = self.block.home().filter(|_| window.is_whole());
        if let Some(slot) = home.and_then(|home| home.open_slot(from, epoch)) {
            slot.open_for(epoch);
            return Place::At(self.loans.add(VectorLoan::RoomIn { owner: from, epoch, len }));
        }
        if !self.load.cache.may_load(epoch) {
            return Place::Buffer;
        }
        match self.loading((epoch, window)) {
            Some(_) => Place::At(self.loans.add(VectorLoan::CacheIn { epoch, base: place.start, len })),
            // Ranks disagree about the window, as is about to be found out.
            None => Place::Discard,
        }
    }

    /// The header of an announcement is here, but nothing can be sent at this moment.
    pub(crate) fn keep_announcement(&mut self, from: Rank, (epoch, opening): (Epoch, Opening), said: Announced) {
        self.load.pending.push(PendingAnnouncement { from, epoch, opening, said });
    }

    /// Records the announcements whose headers are here.
    pub(crate) fn take_announcements(&mut self, cx: &mut Cx<'_>) {
        for PendingAnnouncement { from, epoch, opening, said } in std::mem::take(&mut self.load.pending) {
            self.note_announcement(from, (epoch, &opening), said, cx);
        }
    }

    /// Takes note of an announcement, the first time that it is mentioned.
    pub(crate) fn note_announcement(
        &mut self,
        from: Rank,
        (epoch, opening): (Epoch, &Opening),
        said: Announced,
        cx: &mut Cx<'_>,
    ) {
        if self.ledger.find(epoch).is_some_and(|record| record.from[from.index()].complete) {
            return;
        }
        self.opened(from, epoch, opening, cx);
        let record = self.ledger.record(epoch);
        merge_marks(&mut record.marks, &said.marks);
        let arrival = &mut record.from[from.index()];
        arrival.complete = true;
        arrival.version = said.version;
        arrival.at_home = said.at_home;
        arrival.list_follows = said.list_follows;
        arrival.coming = said.coming;
        if arrival.correction.is_none() {
            arrival.writes = said.writes;
        }
        self.has_changed = true;
    }

    /// All that an announcement brings is here.
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
                let version = self.ledger.record(epoch).from[from.index()].version;
                if let Some(replica) = self.load.cache.find_loading((epoch, opening.window)) {
                    replica.have[from.index()] = version;
                    (came, short) = (true, replica.short().cloned());
                }
            }
            Some(VectorLoan::RoomIn { .. }) => {
                let slot = self.block.home().and_then(|home| home.cache.slot(from));
                (came, short) = (true, slot.and_then(|slot| slot.short().cloned()));
            }
            _ => {}
        }
        if let Some(shortage) = short {
            return drop(cx.no_memory(shortage, A_CACHE, &opening.site));
        }
        let arrival = &mut self.ledger.record(epoch).from[from.index()];
        // A node peer may have forwarded it before.
        arrival.came |= came;
        arrival.arrived = true;
        self.has_changed = true;
    }

    /// All ranks have announced, so no earlier write is still to come: what came after our push goes out once more.
    pub(crate) fn settle_load(&mut self, epoch: Epoch, cx: &mut Cx<'_>) {
        let (me, others, window) = (cx.me(), cx.others(), self.ledger.scope_of(epoch).0);
        let (element, len, shown) = (self.block.element, self.block.len(), window.range(self.dist.len()));
        let (own, place) = (self.own_part(window), self.within(me, window));
        let elements = own.start / element..own.end / element;
        let touched = self.load.touched.take().unwrap_or_default();
        let touched: Vec<_> = touched.iter().map(|run| common(&elements, run)).filter(|run| !run.is_empty()).collect();
        let (version, writes) = (self.block.version, self.load.write_marks.applied());
        let record = self.ledger.record(epoch);
        let (is_final, announced_at_home) = (record.is_final(me), record.from[me.index()].at_home);
        // A write that no rank has announced comes with the next load.
        let sent = if is_final && !touched.is_empty() { record.from[me.index()].version } else { version };
        if window.is_whole() {
            // Of a block at home nobody needs to keep a copy.
            self.load.pushed = if announced_at_home { 0 } else { sent };
            self.load.sent_abroad = sent;
        }
        if !announced_at_home {
            record.from[me.index()].version = sent;
        }
        self.block.thaw();
        if let Some(home) = self.block.home() {
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
        // Lent for writing only after the scope was given up with an error.
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
        // For those who have it before their eyes, or hear of it from a node peer; they only wait to hear that it is
        // final.
        let for_peers = if in_place { &nothing } else { &changes };
        if announced_at_home {
            self.ledger.record(epoch).from[me.index()].correction = Some((version, for_peers.to_vec()));
        }
        let reason = cx.reason("correction", None);
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

    /// The window of a load, once all of it is here and final.
    pub(crate) fn poll_loaded(&mut self, epoch: Epoch, cx: &mut Cx<'_>) -> Option<Result<Loaded, Shortage>> {
        let me = cx.me();
        if !self.ledger.is_settled(epoch) || self.ledger.incomplete_blocks(epoch).next().is_some() {
            return None;
        }
        self.ledger.find(epoch)?;
        match self.install_all(epoch, cx) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(shortage) => return Some(Err(shortage)),
        }
        let window = self.ledger.scope_of(epoch).0;
        let bytes = self.block.bytes_of(&window.range(self.dist.len()));
        let streamed = self.load.stream.as_ref().is_some_and(|stream| stream.shows(epoch));
        let arrived: Vec<_> =
            (0..cx.size()).map(|rank| self.block_arrived(Rank::new(rank), me, (epoch, window))).collect();
        self.ledger.forget(epoch);
        let all_is_home = arrived.iter().all(|block| {
            let is_final = block.correction.as_ref().is_none_or(|correction| correction.changes.is_empty());
            block.range.is_empty() || block.at_home && is_final
        });
        if let Some(home) = self.block.home().filter(|_| all_is_home) {
            let (part, reading) = home.show(epoch, bytes);
            self.load.cache.give_up(epoch, window);
            return Some(Ok(Loaded { part, reading }));
        }
        let nodes = self.nodes.clone();
        self.loading((epoch, window));
        let replica = self.load.cache.find_loading((epoch, window)).expect("all agree about the window");
        let mut reading = None;
        if let Some(home) = self.block.home() {
            // A node peer's block may have been changed by others, by its latch, since its owner announced that
            // version.
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
        if let Some(shortage) = replica.short().cloned() {
            return Some(Err(shortage));
        }
        Some(Ok(Loaded { part: self.load.cache.complete(epoch, &arrived), reading }))
    }
}

impl Vector {
    /// The list of a rank's write marks is here, before or behind its announcement. False: it can be none.
    pub(crate) fn list_came(&mut self, from: Rank, epoch: Epoch, marks: &[(u32, u64)]) -> bool {
        if self.ledger.is_settled(epoch) {
            // We have opened something else, as is about to be found out.
            return true;
        }
        if self.ledger.find(epoch).is_none() && self.ledger.lists_ahead(from) >= LOADS {
            return false;
        }
        let record = self.ledger.record(epoch);
        merge_marks(&mut record.marks, marks);
        !std::mem::replace(&mut record.from[from.index()].list_came, true)
    }

    /// What late writes changed in a rank's block is here: of a load that we have entered, for else it cannot know that
    /// they were late. False: it makes no sense.
    pub(crate) fn corrected(&mut self, from: Rank, epoch: Epoch, correction: (u64, Vec<u8>), writes: u64) -> bool {
        let fits = Batch::parse(&correction.1, self.block.element, self.dist.range(from).len()).is_some();
        if !fits || epoch > self.ledger.epoch {
            return false;
        }
        if let Some(record) = self.ledger.find_mut(epoch) {
            let arrival = &mut record.from[from.index()];
            (arrival.correction, arrival.writes) = (Some(correction), writes);
        }
        true
    }

    /// What there is of a rank's block for a load that is complete.
    fn block_arrived(&self, rank: Rank, me: Rank, (epoch, window): (Epoch, Window)) -> BlockArrived {
        let arrival = &self.ledger.find(epoch).expect("it is complete, not over").from[rank.index()];
        let range = self.within(rank, window);
        if self.block.find_home().is_some() && !self.nodes.same_node(rank, me) {
            // Whoever received it has seen to everything.
            let (version, at_home) = (arrival.final_version(), self.is_installed(rank, (epoch, window)));
            return BlockArrived { range, version, at_home, correction: None };
        }
        let correction = arrival.correction.as_ref();
        let correction = correction
            .map(|(version, _)| Correction { version: *version, changes: self.changes(rank, (epoch, window)) });
        let at_home = arrival.at_home && self.nodes.same_node(rank, me);
        BlockArrived { range, version: arrival.version, at_home, correction }
    }
}

/// The whole of a vector, or a part, as a guard shows it.
pub(crate) struct Loaded {
    pub(crate) part: Part,
    /// It is memory that the ranks of a node share, or some of it has been shown.
    pub(crate) reading: Option<Reading>,
}
