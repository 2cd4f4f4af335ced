//! Loading a ReadCache, on the receiving side: blocks arrive, epochs settle, a replica becomes whole.
//!
//! An announcement is the header of its block, and known before the block has come: it is *heard* when the first bytes are here. So an
//! epoch may be settled while blocks are still on their way, and who streams a load sees what is here of them.

use super::cache::{BlockArrived, Correction, LOADS};
use crate::epoch::{Collective, Opening};
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::{Message, malformed};
use crate::kernel::{Loan, Service};
use crate::memory::{Part, Reading, Shortage};
use crate::vector::batch::{Batch, batch_of};
use crate::vector::object::Object;
use crate::vector::writes::note_made;
use aurora_net::{Outbox, Payload, Placement, Rank, Received};

/// An announcement that has been heard, and not been taken note of.
pub(crate) struct Heard {
    from: Rank,
    object: ObjectId,
    epoch: Epoch,
    opening: Opening,
    said: Announced,
}

/// What an announcement says.
pub(crate) struct Announced {
    pub(crate) version: u64,
    pub(crate) at_home: bool,
    pub(crate) contains: u64,
    pub(crate) made: Vec<(u32, u64)>,
    pub(crate) list_follows: bool,
    /// Its block comes behind it, and has been let in.
    pub(crate) coming: bool,
}

impl Service {
    pub(crate) fn place_block(&mut self, from: Rank, id: ObjectId, epoch: Epoch, len: usize) -> Placement {
        let me = self.me;
        let Some(object) = self.objects.get_mut(&id).filter(|object| object.fault.is_none()) else {
            // It may be faulty because there is no memory for this.
            return Placement::At(self.loans.add(Loan::Nowhere));
        };
        if object.ledger.is_settled(epoch) {
            // We have opened something else, as is about to be found out.
            return Placement::At(self.loans.add(Loan::Nowhere));
        }
        let bytes = object.bytes_of(from);
        let ours = object.nodes.are_mates(from, me) || object.nodes.receives(from, me);
        if len != bytes.len() || !ours {
            return Placement::Buffer;
        }
        if let Some(room) = object.block.home().and_then(|home| home.open_room(from, epoch)) {
            room.let_in(epoch);
            return Placement::At(self.loans.add(Loan::RoomIn { object: id, owner: from, epoch, len }));
        }
        if !object.cache.may_load(epoch) {
            return Placement::Buffer;
        }
        object.loading(epoch);
        Placement::At(self.loans.add(Loan::CacheIn { object: id, epoch, base: bytes.start, len }))
    }

    /// The begin of an announcement is here, but nothing can be sent at this moment.
    pub(crate) fn overhear(
        &mut self,
        from: Rank,
        (object, epoch, opening): (ObjectId, Epoch, Opening),
        said: Announced,
    ) {
        self.heard.push(Heard { from, object, epoch, opening, said });
    }

    /// Takes note of the announcements that have been heard.
    pub(crate) fn hear(&mut self, out: &mut Outbox) {
        for Heard { from, object, epoch, opening, said } in std::mem::take(&mut self.heard) {
            self.announced(from, (object, epoch, &opening), said, out);
        }
    }

    /// Takes note of an announcement, the first time that it is mentioned.
    pub(crate) fn announced(
        &mut self,
        from: Rank,
        (id, epoch, opening): (ObjectId, Epoch, &Opening),
        said: Announced,
        out: &mut Outbox,
    ) {
        let known = |object: &mut Object| object.ledger.find(epoch).is_some_and(|r| r.from[from.index()].complete);
        if self.objects.get_mut(&id).is_none_or(known) {
            return;
        }
        self.opened(id, from, epoch, opening, out);
        let object = self.objects.get_mut(&id).expect("just looked at");
        let record = object.ledger.record(epoch);
        note_made(&mut record.made, &said.made);
        let arrival = &mut record.from[from.index()];
        arrival.complete = true;
        arrival.version = said.version;
        arrival.at_home = said.at_home;
        arrival.list_follows = said.list_follows;
        arrival.coming = said.coming;
        if arrival.correction.is_none() {
            arrival.contains = said.contains;
        }
        self.advance(id, out);
    }

    /// All that an announcement brings is here.
    pub(crate) fn arrived(
        &mut self,
        from: Rank,
        (id, epoch, opening): (ObjectId, Epoch, &Opening),
        payload: Received,
        out: &mut Outbox,
    ) {
        let loan = match payload {
            Received::Placed(token) => self.loans.end(token),
            other => {
                let faulty = self.objects.get(&id).is_none_or(|object| object.fault.is_some());
                if !other.bytes().is_empty() && !faulty {
                    return self.fail(None, malformed(from), out);
                }
                None
            }
        };
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let (mut came, mut short) = (false, None);
        match loan {
            Some(Loan::CacheIn { .. }) => {
                let version = object.ledger.record(epoch).from[from.index()].version;
                if let Some(replica) = object.cache.find_loading(epoch) {
                    replica.have[from.index()] = version;
                    (came, short) = (true, replica.short().cloned());
                }
            }
            Some(Loan::PartIn { .. }) => {
                let part = object.cache.parts.find(epoch);
                (came, short) = (true, part.and_then(|part| part.replica.short().cloned()));
            }
            Some(Loan::RoomIn { .. }) => {
                let room = object.block.home().and_then(|home| home.guests.room(from));
                (came, short) = (true, room.and_then(|room| room.short().cloned()));
            }
            _ => {}
        }
        if let Some(shortage) = short {
            return drop(self.no_cache(id, shortage, &opening.site, out));
        }
        let arrival = &mut object.ledger.record(epoch).from[from.index()];
        // A mate may have forwarded it before.
        arrival.came |= came;
        arrival.arrived = true;
        self.advance(id, out);
    }

    /// Settles the next epoch of an object, if it can be.
    pub(crate) fn settle(&mut self, id: ObjectId, out: &mut Outbox) -> bool {
        let me = self.me;
        let Some(object) = self.objects.get_mut(&id) else {
            return false;
        };
        let Some((epoch, behaviour)) = object.ledger.try_settle() else {
            return false;
        };
        let made = object.ledger.find(epoch).map_or(0, |record| record.made[me.index()]);
        if made > object.writes.applied() {
            // They would be waited for in vain.
            let error = object.nonsense();
            self.fail(Some(id), error, out);
            return true;
        }
        match behaviour {
            _ if object.scalar_scopes.is_some() => self.settle_scalar(id, epoch, behaviour, out),
            Collective::ReadCache | Collective::Combined => self.settle_read_cache(id, epoch, out),
            Collective::HaloCache { .. } | Collective::ReadMostly => object.ledger.forget(epoch),
            Collective::ReleaseC | Collective::Fill | Collective::Accumulate | Collective::AccumulateInOrder => {
                object.ledger.forget(epoch);
                if let Some(checker) = &mut object.check {
                    checker.settled(epoch);
                }
            }
        }
        true
    }

    /// All ranks have announced, so no earlier write is still to come: what came after our push goes out once more.
    fn settle_read_cache(&mut self, id: ObjectId, epoch: Epoch, out: &mut Outbox) {
        let (me, others) = (self.me, self.others());
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let window = object.ledger.scope_of(epoch).0;
        if !window.is_whole() {
            return self.settle_part(id, (epoch, window), out);
        }
        let record = object.ledger.record(epoch);
        let (announced, is_final) = (record.from[me.index()].clone(), record.is_final(me));
        let (announced_at_home, contains) = (announced.at_home, object.writes.applied());
        let touched = object.touched.take().unwrap_or_default();
        // What nobody vouches for the others will have with the next load.
        let sent = if is_final && !touched.is_empty() { announced.version } else { object.block.version };
        // Of a block at home nobody needs to keep a copy.
        object.pushed = if announced_at_home { 0 } else { sent };
        object.sent_abroad = sent;
        object.block.thaw();
        if let Some(home) = object.block.home() {
            home.settled(epoch, 0..usize::MAX);
        }
        if is_final {
            return;
        }
        let (in_place, nodes) = (announced_at_home && object.block.is_at_home(), object.nodes.clone());
        let element = object.block.element;
        // Lent for writing only after the scope was given up with an error.
        let base = object.dist.range(me).start * element;
        let replica = object.cache.find_loading(epoch).filter(|_| !announced_at_home);
        let changes = object.block.read(|bytes| {
            if let Some(replica) = replica {
                for run in &touched {
                    let run = run.start * element..run.end * element;
                    replica.write(base + run.start, &bytes[run]);
                }
            }
            batch_of(bytes, element, &touched)
        });
        let Some(changes) = changes else {
            return;
        };
        let changes = bytes::Bytes::from(changes);
        // For those who have it before their eyes, or hear of it from a mate; they only wait to hear that it is final.
        let nothing = bytes::Bytes::from(batch_of(&[], element, &[]));
        let for_mates = if in_place { &nothing } else { &changes };
        let version = object.block.version;
        if announced_at_home {
            object.ledger.record(epoch).from[me.index()].correction = Some((version, for_mates.to_vec()));
        }
        let reason = crate::kernel::Reason { object: Some(id), action: "correction", site: None };
        let message = Message::Correct { object: id, epoch, version, contains };
        for rank in others {
            let changes = match (nodes.are_mates(me, rank), nodes.receives(me, rank)) {
                (true, _) => for_mates,
                (false, true) => &changes,
                (false, false) => &nothing,
            };
            self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(changes.clone()));
        }
    }

    /// The whole of a ReadCache, once every block of it is here and final.
    pub(crate) fn poll_loaded(
        &mut self,
        id: ObjectId,
        epoch: Epoch,
        out: &mut Outbox,
    ) -> Option<Result<Loaded, Shortage>> {
        let me = self.me;
        let object = self.objects.get_mut(&id)?;
        if !object.ledger.is_settled(epoch) || object.ledger.incomplete_blocks(epoch).next().is_some() {
            return None;
        }
        object.ledger.find(epoch)?;
        let window = object.ledger.scope_of(epoch).0;
        if !window.is_whole() {
            return self.has_part(id, (epoch, window), out).then(|| self.part_loaded(id, (epoch, window)));
        }
        match self.lodge(id, epoch, out) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(shortage) => return Some(Err(shortage)),
        }
        let object = self.objects.get_mut(&id)?;
        let streamed = object.stream.as_ref().is_some_and(|stream| stream.shows(epoch));
        let arrived: Vec<_> = (0..self.size).map(|rank| object.block_arrived(Rank::new(rank), me, epoch)).collect();
        object.ledger.forget(epoch);
        let whole_is_home = arrived.iter().all(|block| {
            let is_final = block.correction.as_ref().is_none_or(|correction| correction.changes.is_empty());
            block.range.is_empty() || block.at_home && is_final
        });
        if let Some(home) = object.block.home().filter(|_| whole_is_home) {
            let (part, reading) = home.show_all(epoch);
            object.cache.give_up(epoch);
            object.cache.release();
            return Some(Ok(Loaded { part, reading }));
        }
        let (pushed, nodes) = (object.pushed, object.nodes.clone());
        object.loading(epoch);
        let replica = object.cache.find_loading(epoch).expect("just begun");
        let mut reading = None;
        if let Some(home) = object.block.home() {
            // A mate's block may have been changed by others, by its door, since its owner announced that version.
            let lacking = |rank: usize, block: &BlockArrived| {
                nodes.are_mates(Rank::new(rank), me) || replica.have[rank] != block.version
            };
            let blocks = arrived.iter().enumerate().filter(|(_, block)| block.at_home);
            for (rank, block) in blocks.filter(|(rank, block)| lacking(*rank, block)).collect::<Vec<_>>() {
                replica.write(block.range.start, home.part(block.range.clone()).bytes());
                replica.have[rank] = block.version;
            }
            reading = home.pass(epoch, streamed);
        }
        if let Some(shortage) = replica.short().cloned() {
            return Some(Err(shortage));
        }
        if !arrived[me.index()].at_home {
            replica.have[me.index()] = pushed;
        }
        Some(Ok(Loaded { part: object.cache.complete(epoch, &arrived), reading }))
    }
}

impl Object {
    /// The list of the writes that a rank vouches for is here, before or behind its announcement. False: it can be none.
    pub(crate) fn list_came(&mut self, from: Rank, epoch: Epoch, made: &[(u32, u64)]) -> bool {
        if self.ledger.is_settled(epoch) {
            // We have opened something else, as is about to be found out.
            return true;
        }
        if self.ledger.find(epoch).is_none() && self.ledger.lists_ahead(from) >= LOADS {
            return false;
        }
        let record = self.ledger.record(epoch);
        note_made(&mut record.made, made);
        !std::mem::replace(&mut record.from[from.index()].list_came, true)
    }

    /// What late writes changed in a rank's block is here: of a load that we have entered, for else it cannot know that they were late. False: it
    /// makes no sense.
    pub(crate) fn corrected(&mut self, from: Rank, epoch: Epoch, correction: (u64, Vec<u8>), contains: u64) -> bool {
        let fits = Batch::parse(&correction.1, self.block.element, self.dist.range(from).len()).is_some();
        if !fits || epoch > self.ledger.epoch {
            return false;
        }
        if let Some(record) = self.ledger.find_mut(epoch) {
            let arrival = &mut record.from[from.index()];
            (arrival.correction, arrival.contains) = (Some(correction), contains);
        }
        true
    }

    /// What there is of a rank's block for a load that is complete.
    fn block_arrived(&self, rank: Rank, me: Rank, epoch: Epoch) -> BlockArrived {
        let arrival = &self.ledger.find(epoch).expect("it is complete, not over").from[rank.index()];
        let range = self.bytes_of(rank);
        if self.block.find_home().is_some() && !self.nodes.are_mates(rank, me) {
            // Whoever received it has seen to everything.
            let (version, at_home) = (arrival.final_version(), self.stands(rank, epoch));
            return BlockArrived { range, version, at_home, correction: None };
        }
        let correction = arrival.correction.as_ref();
        let correction =
            correction.map(|(version, _)| Correction { version: *version, changes: self.changes(rank, epoch) });
        let at_home = arrival.at_home && self.nodes.are_mates(rank, me);
        let version = if me == rank && !at_home { self.pushed } else { arrival.version };
        BlockArrived { range, version, at_home, correction }
    }

    /// Gives back the memory of copies, once all ranks have come to do so.
    pub(crate) fn release_cache(&mut self) {
        (self.pushed, self.sent_abroad) = (0, 0);
        self.cache.release();
        self.edges.release();
        let epoch = self.ledger.epoch;
        if let Some(home) = self.block.home() {
            home.guests.release(epoch);
        }
    }
}

/// The whole of a vector, or a part, as a guard shows it.
pub(crate) struct Loaded {
    pub(crate) part: Part,
    /// It is memory that the ranks of a node share, or some of it has been shown.
    pub(crate) reading: Option<Reading>,
}
