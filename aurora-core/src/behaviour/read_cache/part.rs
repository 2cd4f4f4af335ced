//! Loading a part of a vector: only what the owners have of it travels, and it lands in memory of its own.
//!
//! Where all ranks share their memory and all of the part lies in its place, nothing is sent and the guard shows that
//! place, as for the whole. Else each rank puts what it owns of the part into a copy of the part and sends it from
//! there to its node peers, if they do not have it before their eyes, and to one rank of each other node, which
//! forwards it when it is final. The copy is the guard's and goes with it: copies of the whole, and what is known of
//! their versions, are not touched.

use super::announce::{ANNOUNCED_WRITES, COPIED_BLOCK};
use super::cache::{Cache, LOADS, Replica};
use super::load::Loaded;
use super::memory::A_CACHE;
use super::message::LoadMessage;
use super::write_marks::merge_marks;
use crate::epoch::Arrival;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::kernel::Loan;
use crate::memory::{self, Shortage};
use crate::object::Cx;
use crate::vector::batch::{Batch, batch_of_runs};
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use crate::window::{Window, common};
use aurora_net::{Payload, Placement, Rank};
use std::collections::BTreeMap;
use std::ops::Range;

/// A copy of a part.
pub(crate) struct Part {
    window: Window,
    pub(crate) replica: Replica,
    /// Our node peers have been sent what we receive for them.
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

impl Vector {
    /// The copy of a part that is loaded for `epoch`, made on first mention. `None` if another part is, or too many
    /// are.
    pub(crate) fn part(&mut self, epoch: Epoch, window: Window) -> Option<&mut Part> {
        let (len, element, ranks) = (window.range(self.dist.len()).len(), self.block.element, self.nodes.size());
        let (parts, serial) = (&mut self.load.cache.parts.loading, &mut self.load.cache.next_serial);
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
        let Vector { block, load, .. } = self;
        if let Some(part) = load.cache.parts.find(epoch).filter(|part| part.window == window) {
            block.read_range(&own, |bytes| part.replica.write(place.start, bytes));
        }
    }
}

impl Vector {
    /// Announces the load of a part to all, each announcement with what we own of it.
    pub(crate) fn announce_part(&mut self, epoch: Epoch, opening: Opening, cx: &mut Cx<'_>) {
        let (me, size, window) = (cx.me(), cx.size(), opening.window);
        let nodes = self.nodes.clone();
        if nodes.with(me).len() < size {
            // What goes to other nodes has to contain all that was written before.
            self.block.freeze();
        }
        let (own, place) = (self.own_part(window), self.within_part(me, window));
        let at_home = self.block.bring_home(&own);
        let lacks = |rank| if nodes.same_node(me, rank) { !at_home } else { nodes.receives(me, rank) };
        let sends_to = |rank| !own.is_empty() && lacks(rank);
        let copied =
            if own.len() <= COPIED_BLOCK { self.block.read_range(&own, bytes::Bytes::copy_from_slice) } else { None };
        if !at_home || nodes.with(me).len() < size {
            self.part(epoch, window);
            self.fill_part(epoch, window);
            let short = self.load.cache.parts.find(epoch).and_then(|part| part.replica.short().cloned());
            if let Some(shortage) = short {
                return drop(cx.no_memory(shortage, A_CACHE, &opening.site));
            }
        }
        self.load.touched = Some(Vec::new());
        let mut marks = self.load.write_marks.take();
        let (version, writes) = (self.block.version, self.load.write_marks.applied());
        let record = self.ledger.record(epoch);
        merge_marks(&mut record.marks, &marks);
        record.mine_complete = true;
        let mine = &mut record.from[me.index()];
        (mine.version, mine.at_home, mine.writes) = (version, at_home, writes);
        let reason = cx.reason("ReadCache", Some(opening.site.clone()));
        let list = (marks.len() > ANNOUNCED_WRITES).then(|| {
            let list = postcard::to_allocvec(&std::mem::take(&mut marks)).expect("pairs of numbers");
            bytes::Bytes::from(list)
        });
        let list_follows = list.is_some();
        let message =
            Message::Load(LoadMessage::Enter { epoch, opening, version, at_home, writes, marks, list_follows });
        for rank in me.others(size) {
            let payload = match &copied {
                _ if !sends_to(rank) => Payload::Empty,
                Some(copied) => Payload::Bytes(copied.clone()),
                None => self.lend_part(epoch, place.clone(), cx),
            };
            message.send(&reason, rank, payload, cx);
            if let Some(list) = &list {
                let message = Message::Load(LoadMessage::Made { epoch });
                message.send(&reason, rank, Payload::Bytes(list.clone()), cx);
            }
        }
        self.advance(cx);
    }

    /// Some of the copy of a part, to be sent.
    fn lend_part(&mut self, epoch: Epoch, place: Range<usize>, cx: &mut Cx<'_>) -> Payload {
        let replica = &mut self.load.cache.parts.find(epoch).expect("just filled").replica;
        replica.in_flight += 1;
        let serial = replica.serial;
        let token = cx.lend(Loan::CacheOut { object: cx.id(), serial, base: place.start });
        Payload::Lent { token, len: place.len() }
    }

    /// Where what a rank owns of a part goes.
    pub(crate) fn place_part(
        &mut self,
        from: Rank,
        (epoch, window): (Epoch, Window),
        len: usize,
        cx: &mut Cx<'_>,
    ) -> Placement {
        let me = cx.me();
        if !cx.is_sound() {
            // It may be faulty because there is no memory for this.
            return Placement::At(cx.lend(Loan::Nowhere));
        }
        let place = self.within_part(from, window);
        let ours = self.nodes.same_node(from, me) || self.nodes.receives(from, me);
        if len != place.len() || self.ledger.is_settled(epoch) || !ours {
            return Placement::Buffer;
        }
        let loan = match self.part(epoch, window) {
            Some(_) => Loan::PartIn { object: cx.id(), epoch, base: place.start, len },
            // Ranks disagree about it, as they will hear.
            None => Loan::Nowhere,
        };
        Placement::At(cx.lend(loan))
    }

    /// All ranks have announced the load: what came after we sent what we own goes out once more.
    pub(crate) fn settle_part(&mut self, (epoch, window): (Epoch, Window), cx: &mut Cx<'_>) {
        let me = cx.me();
        let writes = self.load.write_marks.applied();
        let (own, element) = (self.own_part(window), self.block.element);
        let shown = window.range(self.dist.len());
        self.block.thaw();
        if let Some(home) = self.block.home() {
            home.settled(epoch, shown.start * element..shown.end * element);
        }
        let own = own.start / element..own.end / element;
        let touched = self.load.touched.take().unwrap_or_default();
        let touched: Vec<_> = touched.iter().map(|run| common(&own, run)).filter(|run| !run.is_empty()).collect();
        let record = self.ledger.record(epoch);
        let announced_at_home = record.from[me.index()].at_home;
        if record.is_final(me) {
            return;
        }
        let (bytes, len) = (self.block.bytes_of(&own), self.block.len());
        let in_place = announced_at_home && self.block.has_at_home(&bytes);
        let run = |run: &Range<usize>, part: &[u8]| {
            (run.clone(), part[(run.start - own.start) * element..(run.end - own.start) * element].to_vec())
        };
        // Lent for writing only after the scope was given up with an error.
        let Some(runs) =
            self.block.read_range(&bytes, |part| touched.iter().map(|touched| run(touched, part)).collect::<Vec<_>>())
        else {
            return;
        };
        let batch = |runs: &[(Range<usize>, Vec<u8>)]| {
            bytes::Bytes::from(batch_of_runs(len, element, runs.iter().map(|(run, bytes)| (run.clone(), &bytes[..]))))
        };
        let (changes, nothing) = (batch(&runs), batch(&[]));
        let for_peers = if in_place { &nothing } else { &changes };
        let version = self.block.version;
        // Our own copy, if there is one, has been filled.
        self.fill_part(epoch, window);
        if announced_at_home {
            self.ledger.record(epoch).from[me.index()].correction = Some((version, for_peers.to_vec()));
        }
        let nodes = self.nodes.clone();
        let reason = cx.reason("correction", None);
        let message = Message::Load(LoadMessage::Correct { epoch, version, writes });
        for rank in cx.others() {
            let changes = match (nodes.same_node(me, rank), nodes.receives(me, rank)) {
                (true, _) => for_peers,
                (false, true) => &changes,
                (false, false) => &nothing,
            };
            message.send(&reason, rank, Payload::Bytes(changes.clone()), cx);
        }
    }

    /// Whether all that was to come of a part has come, now that it is final. What we receive for our node peers they
    /// are sent.
    pub(crate) fn has_part(&mut self, (epoch, window): (Epoch, Window), cx: &mut Cx<'_>) -> bool {
        let me = cx.me();
        let Some(record) = self.ledger.find(epoch) else {
            return false;
        };
        let has_come = |owner: &Rank| record.from[owner.index()].came;
        let nodes = self.nodes.clone();
        let received: Vec<_> = me.others(cx.size()).filter(|owner| nodes.receives(*owner, me)).collect();
        let received: Vec<_> =
            received.into_iter().filter(|owner| !self.within_part(*owner, window).is_empty()).collect();
        if received.iter().all(has_come) {
            self.forward_part((epoch, window), &received, cx);
        }
        self.part_awaited((epoch, window)).is_empty()
    }

    /// The ranks from whom something of a part is still to come.
    pub(crate) fn part_awaited(&self, (epoch, window): (Epoch, Window)) -> Vec<Rank> {
        let me = self.ledger.me();
        let Some(record) = self.ledger.find(epoch) else {
            return Vec::new();
        };
        let nodes = &self.nodes;
        let missing = me.others(self.nodes.size()).filter(|owner| {
            let arrival = &record.from[owner.index()];
            let before_our_eyes = arrival.at_home && nodes.same_node(*owner, me);
            !(arrival.came || before_our_eyes || self.within_part(*owner, window).is_empty())
        });
        missing.map(|owner| if nodes.same_node(owner, me) { owner } else { nodes.receiver(owner, me) }).collect()
    }

    /// Sends our node peers what these owners on other nodes have of a part.
    fn forward_part(&mut self, (epoch, window): (Epoch, Window), owners: &[Rank], cx: &mut Cx<'_>) {
        let me = cx.me();
        let changes: Vec<_> = owners.iter().flat_map(|owner| self.part_changes(*owner, (epoch, window))).collect();
        let version = |owner: &Rank| self.ledger.find(epoch).map_or(0, |record| record.from[owner.index()].version);
        let versions: Vec<_> = owners.iter().map(version).collect();
        let site = self.ledger.find(epoch).and_then(|record| record.mine.as_ref()).map(|mine| mine.site.clone());
        let nodes = self.nodes.clone();
        let Some(part) = self.load.cache.parts.find(epoch).filter(|part| !part.forwarded && !owners.is_empty()) else {
            return;
        };
        part.forwarded = true;
        changes.iter().for_each(|(at, bytes)| part.replica.write(*at, bytes));
        if part.replica.short().is_some() {
            // As all are about to hear.
            return;
        }
        let reason = cx.reason("ReadCache", site);
        for peer in nodes.with(me).iter().copied().filter(|peer| *peer != me) {
            for (owner, version) in owners.iter().zip(&versions) {
                let place = self.within_part(*owner, window);
                let payload = self.lend_part(epoch, place, cx);
                let message = Message::Load(LoadMessage::Forward { epoch, owner: *owner, version: *version });
                message.send(&reason, peer, payload, cx);
            }
        }
    }

    /// Where what a node peer forwards goes, if it is of a part.
    pub(crate) fn place_forwarded_part(
        &mut self,
        (epoch, owner): (Epoch, Rank),
        len: usize,
        cx: &mut Cx<'_>,
    ) -> Option<Placement> {
        self.ledger.find(epoch)?;
        let window = Some(self.ledger.scope_of(epoch).0).filter(|window| !window.is_whole())?;
        let place = self.within_part(owner, window);
        if len != place.len() || self.part(epoch, window).is_none() {
            return Some(Placement::Buffer);
        }
        Some(Placement::At(cx.lend(Loan::PartIn { object: cx.id(), epoch, base: place.start, len })))
    }

    /// A node peer has forwarded what an owner has of a part.
    pub(crate) fn forwarded_part(&mut self, (epoch, owner): (Epoch, Rank), cx: &mut Cx<'_>) {
        let Some(record) = self.ledger.find_mut(epoch) else {
            return;
        };
        record.from[owner.index()].came = true;
        let site = record.mine.as_ref().map(|mine| mine.site.clone());
        let short = self.load.cache.parts.find(epoch).and_then(|part| part.replica.short().cloned());
        if let Some((shortage, site)) = short.zip(site) {
            cx.no_memory(shortage, A_CACHE, &site);
        }
    }

    /// A part, once all of it is here and final.
    pub(crate) fn part_loaded(&mut self, (epoch, window): (Epoch, Window)) -> Result<Loaded, Shortage> {
        let (me, size) = (self.ledger.me(), self.nodes.size());
        let shown = window.range(self.dist.len());
        let bytes = self.block.bytes_of(&shown);
        let nodes = self.nodes.clone();
        let owners: Vec<_> =
            (0..size).map(Rank::new).filter(|owner| !self.within_part(*owner, window).is_empty()).collect();
        let record = self.ledger.find(epoch).expect("it is complete, not over");
        let arrivals: Vec<_> = owners.iter().map(|owner| (*owner, record.from[owner.index()].clone())).collect();
        let changes: Vec<_> = owners.iter().map(|owner| self.part_changes(*owner, (epoch, window))).collect();
        self.ledger.forget(epoch);
        let at_home = |owner: Rank, arrival: &Arrival| arrival.at_home && nodes.same_node(owner, me);
        let all_home = arrivals.iter().zip(&changes).all(|((owner, a), runs)| at_home(*owner, a) && runs.is_empty());
        if let Some(home) = self.block.home().filter(|_| all_home) {
            let (part, reading) = home.show(epoch, bytes);
            self.load.cache.end_part(epoch);
            return Ok(Loaded { part, reading });
        }
        self.part(epoch, window).expect("no more loads are under way than there can be");
        let Vector { block, load, dist, .. } = self;
        let replica = &mut load.cache.parts.find(epoch).expect("just looked at").replica;
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
        let part = self.load.cache.end_part(epoch).expect("just written to");
        Ok(Loaded { part, reading: None })
    }
}
