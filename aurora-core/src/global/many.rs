//! Many elements in one call: requests to all owners under way at the same time.

use super::GVector;
use crate::Site;
use crate::element::Element;
use crate::error::Result;
use crate::message::{CallId, Request, malformed};
use crate::service::asking::Asking;
use crate::service::batch::BatchBuilder;
use crate::service::places::{Places, PlacesBuilder};
use aurora_net::Rank;
use std::collections::VecDeque;

/// Positions in an answer have 32 bits.
const AT_ONCE: usize = 1 << 31;

/// Bytes of a request, and of its answer.
const PIECE: usize = 64 << 10;

/// Requests that one owner has at a time: while it answers one, the next is made and the one before is read.
const AHEAD: usize = 4;

/// What is wanted of one owner.
struct Wanted {
    /// The first element of its block.
    start: usize,
    places: PlacesBuilder,
    /// Where in the answer to the caller each of them belongs.
    positions: Vec<u32>,
    asked: VecDeque<Asked>,
}

/// A request under way.
struct Asked {
    call: CallId,
    positions: Vec<u32>,
}

/// One call of `at_many`.
struct Reading<'a, T: Element> {
    vector: &'a GVector<T>,
    site: &'a Site,
    values: &'a mut [T],
    wanted: Vec<Wanted>,
    /// Elements of a piece.
    piece: usize,
    /// Memory to be used again.
    spare: Vec<Vec<u32>>,
}

impl<T: Element> GVector<T> {
    /// The elements at `indices`, in their order: their owners are asked all at once, and not at all where all ranks share memory.
    ///
    /// # Errors
    /// As [`GVector::at`].
    #[track_caller]
    pub fn at_many(&self, indices: &[usize]) -> Result<Vec<T>> {
        let site = Site::here();
        if let Some(outside) = indices.iter().find(|index| **index >= self.len()) {
            self.check_index(*outside, &site)?;
        }
        let mut values = vec![T::zeroed(); indices.len()];
        let done = self.direct.at_many(indices, &mut values);
        let (indices, values_left) = (&indices[done..], &mut values[done..]);
        if done > 0 && indices.is_empty() {
            return Ok(values);
        }
        self.link.act(&site, |service, out| service.usable(self.id, false, out).map(drop))?;
        for (indices, values) in indices.chunks(AT_ONCE).zip(values_left.chunks_mut(AT_ONCE)) {
            let mut reading = Reading::new(self, &site, values);
            let outcome = reading.read(indices);
            reading.end();
            outcome?;
        }
        Ok(values)
    }
}

impl<'a, T: Element> Reading<'a, T> {
    fn new(vector: &'a GVector<T>, site: &'a Site, values: &'a mut [T]) -> Self {
        let mut spare = vector.positions.take();
        let wanted = (0..vector.link.size).map(|owner| {
            let block = vector.dist.range(Rank::new(owner));
            let positions = spare.pop().unwrap_or_default();
            Wanted { start: block.start, places: PlacesBuilder::new(block.len()), positions, asked: VecDeque::new() }
        });
        let wanted: Vec<_> = wanted.collect();
        let widest = wanted.iter().map(|wanted| wanted.places.width()).max().unwrap_or(1).max(size_of::<T>());
        let piece = (PIECE / widest).clamp(1, values.len().max(1));
        Reading { vector, site, values, wanted, piece, spare }
    }

    fn read(&mut self, indices: &[usize]) -> Result<()> {
        for (position, &index) in (0..).zip(indices) {
            let owner = self.vector.dist.owner_index(index);
            let wanted = &mut self.wanted[owner];
            if wanted.places.is_full() {
                self.make_room(owner)?;
            }
            let wanted = &mut self.wanted[owner];
            wanted.places.push(index - wanted.start);
            wanted.positions.push(position);
        }
        let me = self.vector.link.me;
        for owner in me.others(self.vector.link.size).chain([me]) {
            self.ask(owner, true)?;
        }
        for owner in me.others(self.vector.link.size) {
            while let Some(asked) = self.wanted[owner.index()].asked.pop_front() {
                self.take(owner, asked)?;
            }
        }
        Ok(())
    }

    /// Has an owner asked for what is wanted of it so far.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, owner: usize) -> Result<()> {
        let owner = Rank::new(owner);
        let vector = self.vector;
        self.ask(owner, false)?;
        if owner != vector.link.me
            && self.wanted[owner.index()].asked.len() >= AHEAD
            && let Some(asked) = self.wanted[owner.index()].asked.pop_front()
        {
            self.take(owner, asked)?;
        }
        let wanted = &mut self.wanted[owner.index()];
        let len = self.piece * wanted.places.width();
        wanted.places.open(vector.link.tidy(|_, out| out.buffer(owner, len)));
        Ok(())
    }

    /// Asks an owner. `last`: for the last time.
    fn ask(&mut self, owner: Rank, last: bool) -> Result<()> {
        let Reading { vector, site, values, wanted, spare, .. } = self;
        let wanted = &mut wanted[owner.index()];
        if wanted.positions.is_empty() {
            return Ok(());
        }
        let width = wanted.places.width();
        let places = wanted.places.take();
        if owner == vector.link.me {
            let places = Places::parse(width, &places).expect("whole places");
            vector.check_read(places.iter(), "at_many", site)?;
            vector.read_own(site, |block| places.spread(block, &wanted.positions, values))?;
            wanted.positions.clear();
            return Ok(());
        }
        // Others' requests to us, which we are not woken for.
        vector.link.look();
        let reason = vector.reason("at_many", site);
        let asking = Asking { object: vector.id, to: owner, reason: &reason };
        let request = Request::ReadMany { width: width as u8 };
        let call = vector.link.act(site, |service, out| {
            Ok(match last {
                true => service.ask(&asking, request, places, out),
                false => service.ask_and_go_on(&asking, request, places, out),
            })
        })?;
        let positions = std::mem::replace(&mut wanted.positions, spare.pop().unwrap_or_default());
        wanted.asked.push_back(Asked { call, positions });
        Ok(())
    }

    /// Puts the values of an answer into their positions.
    fn take(&mut self, owner: Rank, asked: Asked) -> Result<()> {
        let Asked { call, mut positions } = asked;
        let answer = self.vector.received(call, "at_many", self.site)?;
        let bytes = answer.bytes();
        if bytes.len() != positions.len() * size_of::<T>() {
            return Err(malformed(owner));
        }
        for (position, value) in positions.iter().zip(bytes.chunks_exact(size_of::<T>())) {
            self.values[*position as usize] = bytemuck::pod_read_unaligned(value);
        }
        positions.clear();
        self.spare.push(positions);
        Ok(())
    }

    /// Gives up what is still under way, and keeps the memory.
    fn end(mut self) {
        let left: Vec<Asked> = self.wanted.iter_mut().flat_map(|wanted| wanted.asked.drain(..)).collect();
        if !left.is_empty() {
            self.vector.link.tidy(|service, _| left.iter().for_each(|asked| service.give_up(asked.call)));
        }
        for Wanted { mut positions, .. } in self.wanted {
            positions.clear();
            self.spare.push(positions);
        }
        self.vector.positions.set(self.spare);
    }
}

impl<T: Element> GVector<T> {
    /// Sets many elements, in the order given: their owners are told all at once, and not at all where all ranks share memory.
    ///
    /// # Errors
    /// As [`GVector::at`]; an index outside the vector is found before anything is written.
    #[track_caller]
    pub fn put_many(&mut self, writes: &[(usize, T)]) -> Result<()> {
        let site = Site::here();
        if let Some((outside, _)) = writes.iter().find(|(index, _)| *index >= self.len()) {
            self.check_index(*outside, &site)?;
        }
        let done = self.direct.put_many(writes);
        let writes = &writes[done..];
        if done > 0 && writes.is_empty() {
            return Ok(());
        }
        self.link.act(&site, |service, out| service.usable(self.id, true, out).map(drop))?;
        let blocks = (0..self.link.size).map(|owner| self.dist.range(Rank::new(owner)));
        let mut batches: Vec<_> = blocks.map(|block| (block.start, BatchBuilder::new(block.len()))).collect();
        let own = self.local_range();
        // One after the other to each owner: transfers may overtake each other.
        let mut under_way = vec![None; self.link.size];
        for &(index, value) in writes.iter().filter(|(index, _)| !own.contains(index)) {
            let owner = self.dist.owner_index(index);
            let (start, batch) = &mut batches[owner];
            if batch.len() == batch.capacity() {
                self.write_batch(Rank::new(owner), batch, false, &mut under_way, &site)?;
                let wanted = batch.wanted();
                batch.open(self.link.tidy(|_, out| out.buffer(Rank::new(owner), wanted)));
            }
            batch.push(index - *start, value);
        }
        for (owner, (_, batch)) in batches.iter_mut().enumerate() {
            self.write_batch(Rank::new(owner), batch, true, &mut under_way, &site)?;
        }
        if writes.iter().any(|(index, _)| own.contains(index)) {
            self.write_own(&site, |block| {
                for (index, value) in writes.iter().filter(|(index, _)| own.contains(index)) {
                    block[index - own.start] = *value;
                }
            })?;
        }
        under_way.into_iter().flatten().try_for_each(|call| self.answer(call, "put_many", &site).map(drop))
    }

    /// Sends a batch to its owner, if anything is in it. `last`: the last one.
    fn write_batch(
        &self,
        owner: Rank,
        batch: &mut BatchBuilder<T>,
        last: bool,
        under_way: &mut [Option<CallId>],
        site: &Site,
    ) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.link.look();
        if let Some(call) = under_way[owner.index()].take() {
            self.answer(call, "put_many", site)?;
        }
        let reason = self.reason("put_many", site);
        let asking = Asking { object: self.id, to: owner, reason: &reason };
        let request = Request::Write { op: None };
        let call = self.link.act(site, |service, out| {
            Ok(match last {
                true => service.ask(&asking, request, batch.take(), out),
                false => service.ask_and_go_on(&asking, request, batch.take(), out),
            })
        })?;
        under_way[owner.index()] = Some(call);
        Ok(())
    }
}
