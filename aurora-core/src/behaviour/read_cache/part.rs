//! Loading a part of a vector: only what the owners have of it travels, and it lands in memory of its own.
//!
//! Where all ranks share their memory and all of the part lies in its place, nothing is sent and the guard shows that place, as for
//! the whole. Else each rank puts what it owns of the part into a copy of the part and sends it from there to its mates, if they do
//! not have it before their eyes, and to one rank of each other node, which forwards it when it is final. The copy is the
//! guard's and goes with it: copies of the whole, and what is known of their versions, are not touched.

use super::cache::{Cache, LOADS, Replica};
use super::load::Loaded;
use crate::epoch::Arrival;
use crate::epoch::Opening;
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::Message;
use crate::kernel::{Loan, Reason, Service};
use crate::memory::{self, Shortage};
use crate::vector::batch::{Batch, batch_of_runs};
use crate::vector::entering::{ANNOUNCED_WRITES, COPIED_BLOCK};
use crate::vector::object::Object;
use crate::vector::writes::note_made;
use crate::window::{Window, common};
use aurora_net::{Outbox, Payload, Placement, Rank};
use std::collections::BTreeMap;
use std::ops::Range;

/// A copy of a part.
pub(crate) struct Part {
    window: Window,
    pub(crate) replica: Replica,
    /// Our mates have been sent what we receive for them.
    forwarded: bool,
}

/// Those being loaded.
#[derive(Default)]
pub(crate) struct Parts {
    loading: BTreeMap<Epoch, Part>,
}

impl Parts {
    pub(crate) fn find(&mut self, epoch: Epoch) -> Option<&mut Part> {
        self.loading.get_mut(&epoch)
    }

    pub(crate) fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.loading.values().map(|part| &part.replica)
    }

    pub(crate) fn replicas_mut(&mut self) -> impl Iterator<Item = &mut Replica> {
        self.loading.values_mut().map(|part| &mut part.replica)
    }
}

impl Cache {
    /// The load of a part is over. Its copy, from which something may still be sent.
    fn end_part(&mut self, epoch: Epoch) -> Option<memory::Part> {
        let Part { mut replica, .. } = self.parts.loading.remove(&epoch)?;
        let all = replica.array.show_all();
        if replica.in_flight > 0 {
            self.retired.push(replica);
        }
        Some(all)
    }
}

impl Object {
    /// The copy of a part that is loaded for `epoch`, made on first mention. `None` if another part is, or too many are.
    pub(crate) fn part(&mut self, epoch: Epoch, window: Window) -> Option<&mut Part> {
        let (len, element, ranks) = (window.range(self.dist.len()).len(), self.block.element, self.nodes.size());
        let (parts, serial) = (&mut self.cache.parts.loading, &mut self.cache.next_serial);
        if !parts.contains_key(&epoch) && parts.len() < LOADS {
            *serial += 1;
            let replica = Replica::new(*serial, ranks, len * element, (self.fresh)(len));
            parts.insert(epoch, Part { window, replica, forwarded: false });
        }
        parts.get_mut(&epoch).filter(|part| part.window == window)
    }

    /// What this rank owns of a part: bytes within its block.
    pub(crate) fn own_part(&self, window: Window) -> Range<usize> {
        let own = self.dist.range(self.ledger.me());
        let shown = common(&own, &window.range(self.dist.len()));
        self.block.bytes_of(&(shown.start - own.start..shown.end - own.start))
    }

    /// What a rank owns of a part: bytes within the part.
    fn within_part(&self, owner: Rank, window: Window) -> Range<usize> {
        let window = window.range(self.dist.len());
        let shown = common(&window, &self.dist.range(owner));
        self.block.bytes_of(&(shown.start - window.start..shown.end - window.start))
    }

    /// What late writes changed in what a rank owns of a part: byte offsets in the part, and what stands there now.
    fn part_changes(&self, owner: Rank, (epoch, window): (Epoch, Window)) -> Vec<(usize, Vec<u8>)> {
        let (element, block) = (self.block.element, self.dist.range(owner));
        let first = window.range(self.dist.len()).start;
        let correction = self.ledger.find(epoch).and_then(|record| record.from[owner.index()].correction.as_ref());
        let batch = correction.and_then(|(_, changes)| Batch::parse(changes, element, block.len()));
        let runs = batch.map_or(Vec::new(), |batch| batch.runs(element));
        let own = self.within_part(owner, window);
        let places = runs.into_iter().filter_map(|(run, bytes)| {
            let at = (block.start + run.start).checked_sub(first)? * element;
            (own.start <= at && at + bytes.len() <= own.end).then(|| (at, bytes.to_vec()))
        });
        places.collect()
    }

    /// Puts what this rank owns of a part into its copy.
    fn fill_part(&mut self, epoch: Epoch, window: Window) {
        let (own, place) = (self.own_part(window), self.within_part(self.ledger.me(), window));
        let Object { block, cache, .. } = self;
        if let Some(part) = cache.parts.find(epoch).filter(|part| part.window == window) {
            block.read_range(&own, |bytes| part.replica.write(place.start, bytes));
        }
    }
}

impl Service {
    /// Announces the load of a part to all, each announcement with what we own of it.
    pub(crate) fn announce_part(&mut self, id: ObjectId, epoch: Epoch, opening: Opening, out: &mut Outbox) {
        let (me, size, window) = (self.me, self.size, opening.window);
        let object = self.objects.get_mut(&id).expect("just entered");
        let nodes = object.nodes.clone();
        if nodes.mates(me).len() < size {
            // What goes to other nodes has to contain all that was written before.
            object.block.freeze();
        }
        let (own, place) = (object.own_part(window), object.within_part(me, window));
        let at_home = object.block.bring_home(&own);
        let lacks = |rank| if nodes.are_mates(me, rank) { !at_home } else { nodes.receives(me, rank) };
        let sends_to = |rank| !own.is_empty() && lacks(rank);
        let copied =
            if own.len() <= COPIED_BLOCK { object.block.read_range(&own, bytes::Bytes::copy_from_slice) } else { None };
        if !at_home || nodes.mates(me).len() < size {
            object.part(epoch, window);
            object.fill_part(epoch, window);
            let short = object.cache.parts.find(epoch).and_then(|part| part.replica.short().cloned());
            if let Some(shortage) = short {
                return drop(self.no_cache(id, shortage, &opening.site, out));
            }
        }
        object.touched = Some(Vec::new());
        let mut made = object.writes.vouch();
        let (version, contains) = (object.block.version, object.writes.applied());
        let record = object.ledger.record(epoch);
        note_made(&mut record.made, &made);
        record.mine_complete = true;
        let mine = &mut record.from[me.index()];
        (mine.version, mine.at_home, mine.contains) = (version, at_home, contains);
        let reason = Reason { object: Some(id), action: "ReadCache", site: Some(opening.site.clone()) };
        let list = (made.len() > ANNOUNCED_WRITES).then(|| {
            let list = postcard::to_allocvec(&std::mem::take(&mut made)).expect("pairs of numbers");
            bytes::Bytes::from(list)
        });
        let list_follows = list.is_some();
        let message = Message::Enter { object: id, epoch, opening, version, at_home, contains, made, list_follows };
        for rank in me.others(size) {
            let payload = match &copied {
                _ if !sends_to(rank) => Payload::Empty,
                Some(copied) => Payload::Bytes(copied.clone()),
                None => self.lend_part(id, epoch, place.clone()),
            };
            self.mail.post_for(out, &reason, rank, &message, payload);
            if let Some(list) = &list {
                let message = Message::Made { object: id, epoch };
                self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(list.clone()));
            }
        }
        self.advance(id, out);
    }

    /// Some of the copy of a part, to be sent.
    fn lend_part(&mut self, id: ObjectId, epoch: Epoch, place: Range<usize>) -> Payload {
        let object = self.objects.get_mut(&id).expect("just entered");
        let replica = &mut object.cache.parts.find(epoch).expect("just filled").replica;
        replica.in_flight += 1;
        let serial = replica.serial;
        let token = self.loans.add(Loan::CacheOut { object: id, serial, base: place.start });
        Payload::Lent { token, len: place.len() }
    }

    /// Where what a rank owns of a part goes.
    pub(crate) fn place_part(
        &mut self,
        from: Rank,
        (id, epoch, window): (ObjectId, Epoch, Window),
        len: usize,
    ) -> Placement {
        let me = self.me;
        let object = self.objects.get_mut(&id).filter(|object| object.fault.is_none());
        let Some(object) = object else {
            // It may be faulty because there is no memory for this.
            return Placement::At(self.loans.add(Loan::Nowhere));
        };
        let place = object.within_part(from, window);
        let ours = object.nodes.are_mates(from, me) || object.nodes.receives(from, me);
        if len != place.len() || object.ledger.is_settled(epoch) || !ours {
            return Placement::Buffer;
        }
        let loan = match object.part(epoch, window) {
            Some(_) => Loan::PartIn { object: id, epoch, base: place.start, len },
            // Ranks disagree about it, as they will hear.
            None => Loan::Nowhere,
        };
        Placement::At(self.loans.add(loan))
    }

    /// All ranks have announced the load: what came after we sent what we own goes out once more.
    pub(crate) fn settle_part(&mut self, id: ObjectId, (epoch, window): (Epoch, Window), out: &mut Outbox) {
        let me = self.me;
        let object = self.objects.get_mut(&id).expect("it has just been settled");
        let contains = object.writes.applied();
        let (own, element) = (object.own_part(window), object.block.element);
        let shown = window.range(object.dist.len());
        object.block.thaw();
        if let Some(home) = object.block.home() {
            home.settled(epoch, shown.start * element..shown.end * element);
        }
        let own = own.start / element..own.end / element;
        let touched = object.touched.take().unwrap_or_default();
        let touched: Vec<_> = touched.iter().map(|run| common(&own, run)).filter(|run| !run.is_empty()).collect();
        let record = object.ledger.record(epoch);
        let announced_at_home = record.from[me.index()].at_home;
        if record.is_final(me) {
            return;
        }
        let (bytes, len) = (object.block.bytes_of(&own), object.block.len());
        let in_place = announced_at_home && object.block.has_at_home(&bytes);
        let run = |run: &Range<usize>, part: &[u8]| {
            (run.clone(), part[(run.start - own.start) * element..(run.end - own.start) * element].to_vec())
        };
        // Lent for writing only after the scope was given up with an error.
        let Some(runs) = object
            .block
            .read_range(&bytes, |part| touched.iter().map(|touched| run(touched, part)).collect::<Vec<_>>())
        else {
            return;
        };
        let batch = |runs: &[(Range<usize>, Vec<u8>)]| {
            bytes::Bytes::from(batch_of_runs(len, element, runs.iter().map(|(run, bytes)| (run.clone(), &bytes[..]))))
        };
        let (changes, nothing) = (batch(&runs), batch(&[]));
        let for_mates = if in_place { &nothing } else { &changes };
        let version = object.block.version;
        // Our own copy, if there is one, has been filled.
        object.fill_part(epoch, window);
        if announced_at_home {
            object.ledger.record(epoch).from[me.index()].correction = Some((version, for_mates.to_vec()));
        }
        let nodes = object.nodes.clone();
        let reason = Reason { object: Some(id), action: "correction", site: None };
        let message = Message::Correct { object: id, epoch, version, contains };
        for rank in self.others() {
            let changes = match (nodes.are_mates(me, rank), nodes.receives(me, rank)) {
                (true, _) => for_mates,
                (false, true) => &changes,
                (false, false) => &nothing,
            };
            self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(changes.clone()));
        }
    }

    /// Whether all that was to come of a part has come, now that it is final. What we receive for our mates they are sent.
    pub(crate) fn has_part(&mut self, id: ObjectId, (epoch, window): (Epoch, Window), out: &mut Outbox) -> bool {
        let me = self.me;
        let object = self.objects.get_mut(&id).expect("it is being loaded");
        let Some(record) = object.ledger.find(epoch) else {
            return false;
        };
        let has_come = |owner: &Rank| record.from[owner.index()].came;
        let nodes = object.nodes.clone();
        let received: Vec<_> = me.others(self.size).filter(|owner| nodes.receives(*owner, me)).collect();
        let received: Vec<_> =
            received.into_iter().filter(|owner| !object.within_part(*owner, window).is_empty()).collect();
        if received.iter().all(has_come) {
            self.forward_part(id, (epoch, window), &received, out);
        }
        self.part_awaited(id, (epoch, window)).is_empty()
    }

    /// The ranks from whom something of a part is still to come.
    pub(crate) fn part_awaited(&self, id: ObjectId, (epoch, window): (Epoch, Window)) -> Vec<Rank> {
        let (me, object) = (self.me, &self.objects[&id]);
        let Some(record) = object.ledger.find(epoch) else {
            return Vec::new();
        };
        let nodes = &object.nodes;
        let missing = me.others(self.size).filter(|owner| {
            let arrival = &record.from[owner.index()];
            let before_our_eyes = arrival.at_home && nodes.are_mates(*owner, me);
            !(arrival.came || before_our_eyes || object.within_part(*owner, window).is_empty())
        });
        missing.map(|owner| if nodes.are_mates(owner, me) { owner } else { nodes.receiver(owner, me) }).collect()
    }

    /// Sends our mates what these owners on other nodes have of a part.
    fn forward_part(&mut self, id: ObjectId, (epoch, window): (Epoch, Window), owners: &[Rank], out: &mut Outbox) {
        let me = self.me;
        let object = self.objects.get_mut(&id).expect("it is being loaded");
        let changes: Vec<_> = owners.iter().flat_map(|owner| object.part_changes(*owner, (epoch, window))).collect();
        let version = |owner: &Rank| object.ledger.find(epoch).map_or(0, |record| record.from[owner.index()].version);
        let versions: Vec<_> = owners.iter().map(version).collect();
        let site = object.ledger.find(epoch).and_then(|record| record.mine.as_ref()).map(|mine| mine.site.clone());
        let nodes = object.nodes.clone();
        let Some(part) = object.cache.parts.find(epoch).filter(|part| !part.forwarded && !owners.is_empty()) else {
            return;
        };
        part.forwarded = true;
        changes.iter().for_each(|(at, bytes)| part.replica.write(*at, bytes));
        if part.replica.short().is_some() {
            // As all are about to hear.
            return;
        }
        let reason = Reason { object: Some(id), action: "ReadCache", site };
        for mate in nodes.mates(me).iter().copied().filter(|mate| *mate != me) {
            for (owner, version) in owners.iter().zip(&versions) {
                let place = self.objects[&id].within_part(*owner, window);
                let payload = self.lend_part(id, epoch, place);
                let message = Message::Forward { object: id, epoch, owner: *owner, version: *version };
                self.mail.post_for(out, &reason, mate, &message, payload);
            }
        }
    }

    /// Where what a mate forwards goes, if it is of a part.
    pub(crate) fn place_forwarded_part(
        &mut self,
        (id, epoch, owner): (ObjectId, Epoch, Rank),
        len: usize,
    ) -> Option<Placement> {
        let object = self.objects.get_mut(&id)?;
        object.ledger.find(epoch)?;
        let window = Some(object.ledger.scope_of(epoch).0).filter(|window| !window.is_whole())?;
        let place = object.within_part(owner, window);
        if len != place.len() || object.part(epoch, window).is_none() {
            return Some(Placement::Buffer);
        }
        Some(Placement::At(self.loans.add(Loan::PartIn { object: id, epoch, base: place.start, len })))
    }

    /// A mate has forwarded what an owner has of a part.
    pub(crate) fn forwarded_part(&mut self, (id, epoch, owner): (ObjectId, Epoch, Rank), out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id).filter(|object| object.ledger.find(epoch).is_some()) else {
            return;
        };
        let record = object.ledger.record(epoch);
        record.from[owner.index()].came = true;
        let site = record.mine.as_ref().map(|mine| mine.site.clone());
        let short = object.cache.parts.find(epoch).and_then(|part| part.replica.short().cloned());
        if let Some((shortage, site)) = short.zip(site) {
            self.no_cache(id, shortage, &site, out);
        }
    }

    /// A part, once all of it is here and final.
    pub(crate) fn part_loaded(&mut self, id: ObjectId, (epoch, window): (Epoch, Window)) -> Result<Loaded, Shortage> {
        let (me, size) = (self.me, self.size);
        let object = self.objects.get_mut(&id).expect("it is being loaded");
        let shown = window.range(object.dist.len());
        let bytes = object.block.bytes_of(&shown);
        let nodes = object.nodes.clone();
        let owners: Vec<_> =
            (0..size).map(Rank::new).filter(|owner| !object.within_part(*owner, window).is_empty()).collect();
        let record = object.ledger.find(epoch).expect("it is complete, not over");
        let arrivals: Vec<_> = owners.iter().map(|owner| (*owner, record.from[owner.index()].clone())).collect();
        let changes: Vec<_> = owners.iter().map(|owner| object.part_changes(*owner, (epoch, window))).collect();
        object.ledger.forget(epoch);
        let at_home = |owner: Rank, arrival: &Arrival| arrival.at_home && nodes.are_mates(owner, me);
        let all_home = arrivals.iter().zip(&changes).all(|((owner, a), runs)| at_home(*owner, a) && runs.is_empty());
        if let Some(home) = object.block.home().filter(|_| all_home) {
            let (part, reading) = home.show(epoch, bytes);
            object.cache.end_part(epoch);
            return Ok(Loaded { part, reading });
        }
        object.part(epoch, window).expect("no more loads are under way than there can be");
        let Object { block, cache, dist, .. } = object;
        let replica = &mut cache.parts.find(epoch).expect("just looked at").replica;
        if let Some(home) = block.find_home() {
            for (owner, _) in arrivals.iter().filter(|(owner, arrival)| at_home(*owner, arrival)) {
                let place = block.bytes_of(&common(&shown, &dist.range(*owner)));
                replica.write(place.start - bytes.start, home.part(place).bytes());
            }
            home.pass(epoch, false);
        }
        for (at, changed) in changes.into_iter().flatten() {
            replica.write(at, &changed);
        }
        if let Some(shortage) = replica.short().cloned() {
            return Err(shortage);
        }
        let part = object.cache.end_part(epoch).expect("just written to");
        Ok(Loaded { part, reading: None })
    }
}
