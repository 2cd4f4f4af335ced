//! Many elements in one call: requests to all owners under way at the same time.

use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::kernel::message::malformed;
use crate::link::Asked;
use crate::polls::Level;
use crate::race::AccessKind;
use crate::vector::batch::BatchBuilder;
use crate::vector::message::Request;
use crate::vector::places::{Places, PlacesBuilder};
use crate::window::Window;
use crate::{Element, GVector, Kind, Result, Site, digest};
use aurora_net::Rank;
use std::collections::VecDeque;

/// Positions in an answer have 32 bits.
const AT_ONCE: usize = 1 << 31;

/// The maximum bytes of a request, and of its answer.
const PIECE: usize = 64 << 10;

/// Requests under way to one owner: while it answers one, the next is made and the answer before is read.
const UNDER_WAY: usize = 4;

/// The elements that are read from one owner.
struct Wanted<'a> {
    /// The first element of its block.
    start: usize,
    places: PlacesBuilder,
    /// The position of each element in the caller's result.
    positions: Vec<u32>,
    asked: VecDeque<Question<'a>>,
}

/// A request under way.
struct Question<'a> {
    asked: Asked<'a>,
    positions: Vec<u32>,
}

/// Elements being read, counted for the program's line that `reason` names.
struct Reading<'a, T: Element> {
    vector: &'a GVector<T>,
    site: &'a Site,
    reason: &'a Reason,
    /// The part that contains the elements: scopes of other parts may be open.
    window: Window,
    values: &'a mut [T],
    wanted: Vec<Wanted<'a>>,
    /// The maximum number of elements of a request.
    piece: usize,
    /// Memory for reuse.
    spare: Vec<Vec<u32>>,
}

/// A `put_many`, and the kind of its requests.
const PUT: (&str, Kind) = ("put_many", Kind::Access);

impl<T: Element> GVector<T> {
    /// Returns the elements at `indices`, in their order. Requests go to all owners at once. Owners that share memory
    /// with this rank need no request, unless a guard prevents direct reads. Errors as for [`GVector::at`]; an index
    /// outside the vector is found before anything is read.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let v = GVector::<u64>::from_fn(world, 10, |i| 100 + i as u64)?;
    /// assert_eq!(v.at_many(&[9, 0, 9])?, [109, 100, 109]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("get_many", "gather", "NGA_Gather"))]
    #[track_caller]
    pub fn at_many(&self, indices: &[usize]) -> Result<Vec<T>> {
        let site = Site::here();
        let mut values = vec![T::zeroed(); indices.len()];
        self.read_many(indices, &mut values, (&Reason::new("at_many", Kind::Access, &site), Window::WHOLE), &site)?;
        Ok(values)
    }

    /// As [`at_many`](Self::at_many), into `values` of the same length, for a scope of `window`, which contains the
    /// elements.
    pub(crate) fn read_many(
        &self,
        indices: &[usize],
        values: &mut [T],
        (reason, window): (&Reason, Window),
        site: &Site,
    ) -> Result<()> {
        if let Some(outside) = indices.iter().position(|index| *index >= self.len()) {
            return Err(self.outside(indices[outside], Some(outside), site));
        }
        /// A rank that reads more in a call does not poll.
        const FEW: usize = 64;
        if indices.len() > FEW {
            self.shared.no_look();
        }
        if self.shared.watched() == Level::Nothing {
            return self.read_many_unwatched(indices, values, (reason, window), site);
        }
        let asked = || indices.iter().fold(0, |asked, index| digest::add(asked, *index as u64));
        let look = || {
            self.read_many_unwatched(indices, values, (reason, window), site)?;
            Ok(digest::of(bytemuck::cast_slice(values)))
        };
        self.shared.look_at((self.shared.id(), reason.action, site), asked, look, |found| Some(*found)).map(drop)
    }

    fn read_many_unwatched(
        &self,
        indices: &[usize],
        values: &mut [T],
        (reason, window): (&Reason, Window),
        site: &Site,
    ) -> Result<()> {
        let done = self.direct.at_many(indices, values);
        let (indices, values) = (&indices[done..], &mut values[done..]);
        if done > 0 && indices.is_empty() {
            return Ok(());
        }
        self.shared.on(site, |_, cx| cx.usable_in(false, window))?;
        self.order_after_scopes(window, site)?;
        for (indices, values) in indices.chunks(AT_ONCE).zip(values.chunks_mut(AT_ONCE)) {
            let mut reading = Reading::new(self, values, (reason, window), site);
            reading.read(indices)?;
            reading.end();
        }
        Ok(())
    }
}

impl<'a, T: Element> Reading<'a, T> {
    fn new(
        vector: &'a GVector<T>,
        values: &'a mut [T],
        (reason, window): (&'a Reason, Window),
        site: &'a Site,
    ) -> Self {
        let mut spare = vector.positions.take();
        let wanted = (0..vector.shared.size).map(|owner| {
            let block = vector.dist.range(Rank::new(owner));
            let positions = spare.pop().unwrap_or_default();
            Wanted { start: block.start, places: PlacesBuilder::new(block.len()), positions, asked: VecDeque::new() }
        });
        let wanted: Vec<_> = wanted.collect();
        let widest = wanted.iter().map(|wanted| wanted.places.width()).max().unwrap_or(1).max(size_of::<T>());
        let piece = (PIECE / widest).clamp(1, values.len().max(1));
        Reading { vector, site, reason, window, values, wanted, piece, spare }
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
        let me = self.vector.shared.me;
        for owner in me.others(self.vector.shared.size).chain([me]) {
            self.ask(owner, true)?;
        }
        for owner in me.others(self.vector.shared.size) {
            while let Some(question) = self.wanted[owner.index()].asked.pop_front() {
                self.take(owner, question)?;
            }
        }
        Ok(())
    }

    /// Requests the elements that are collected for an owner so far, and makes room for more.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, owner: usize) -> Result<()> {
        let owner = Rank::new(owner);
        let vector = self.vector;
        self.ask(owner, false)?;
        let asked = &mut self.wanted[owner.index()].asked;
        if owner != vector.shared.me
            && asked.len() >= UNDER_WAY
            && let Some(question) = asked.pop_front()
        {
            self.take(owner, question)?;
        }
        let wanted = &mut self.wanted[owner.index()];
        let len = self.piece * wanted.places.width();
        wanted.places.open(vector.shared.tidy(|_, out| out.buffer(owner, len)));
        Ok(())
    }

    /// Asks an owner, for the `last` time or not.
    fn ask(&mut self, owner: Rank, last: bool) -> Result<()> {
        let Reading { vector, site, reason, window, values, wanted, spare, .. } = self;
        let wanted = &mut wanted[owner.index()];
        if wanted.positions.is_empty() {
            return Ok(());
        }
        let width = wanted.places.width();
        let places = wanted.places.take();
        let here = Places::parse(width, &places).expect("whole places");
        if owner == vector.shared.me {
            vector.check_own(AccessKind::Read, here.iter().map(|place| place..place + 1), *window, site)?;
            if window.is_whole() {
                vector.read_own(site, |block| here.spread(block, &wanted.positions, values))?;
            } else {
                let places: Vec<_> = here.iter().collect();
                let read = vector.read_own_in(*window, &places, site)?;
                put_into_place(&read, &wanted.positions, values);
            }
            wanted.positions.clear();
            return Ok(());
        }
        if vector.direct.is_here(owner.index()) && read_of_node_peer(vector, owner, here, &wanted.positions, values) {
            wanted.positions.clear();
            return Ok(());
        }
        let _call = vector.shared.bulk_call(reason.action);
        // Takes in requests of other ranks, for which this thread is not woken.
        vector.shared.look();
        let request = Request::ReadMany { width: width as u8, window: *window };
        let when = if last { When::Now } else { When::More };
        let call =
            vector.shared.on(site, |object, cx| Ok(object.core.ask((owner, reason, when), request, places, cx)))?;
        let positions = std::mem::replace(&mut wanted.positions, spare.pop().unwrap_or_default());
        wanted.asked.push_back(Question { asked: Asked::new(&vector.shared, call), positions });
        Ok(())
    }

    /// Puts the values of an answer into their positions.
    fn take(&mut self, owner: Rank, question: Question<'_>) -> Result<()> {
        let Question { asked, mut positions } = question;
        let _call = self.vector.shared.bulk_call(self.reason.action);
        let answer =
            self.vector.shared.received(asked.hand_over(), (self.reason.action, self.reason.kind), self.site)?;
        let bytes = answer.bytes();
        if bytes.len() != positions.len() * size_of::<T>() {
            return Err(malformed(owner));
        }
        put_into_place(bytes, &positions, self.values);
        positions.clear();
        self.spare.push(positions);
        Ok(())
    }

    /// Keeps the memory for the next call.
    fn end(mut self) {
        for Wanted { mut positions, .. } in self.wanted {
            positions.clear();
            self.spare.push(positions);
        }
        self.vector.positions.set(self.spare);
    }
}

fn put_into_place<T: Element>(bytes: &[u8], positions: &[u32], values: &mut [T]) {
    for (position, value) in positions.iter().zip(bytes.chunks_exact(size_of::<T>())) {
        values[*position as usize] = bytemuck::pod_read_unaligned(value);
    }
}

/// Reads the elements at these places of a node peer's block, each into its position. False: the owner has it lent.
fn read_of_node_peer<T: Element>(
    vector: &GVector<T>,
    owner: Rank,
    places: Places<'_>,
    positions: &[u32],
    values: &mut [T],
) -> bool {
    let block = vector.dist.range(owner);
    let indices: Vec<_> = places.iter().map(|place| block.start + place).collect();
    let mut read = vec![T::zeroed(); indices.len()];
    if vector.direct.at_many_of(owner.index(), block, &indices, &mut read) < indices.len() {
        return false;
    }
    put_into_place(bytemuck::cast_slice(&read), positions, values);
    true
}

impl<T: Element> GVector<T> {
    /// Sets many elements, in the order given. Batches go to all owners at once. If all ranks share memory, elements
    /// of 1, 2, 4 or 8 bytes are stored directly, unless an owner's guard prevents that. Errors as for [`GVector::at`];
    /// an index outside the vector is found before anything is written.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// if world.is_root() {
    ///     v.put_many(&[(9, 1), (0, 2), (9, 3)])?; // the last value of element 9 stays
    /// }
    /// world.barrier()?;
    /// assert_eq!(v.at_many(&[0, 9])?, [2, 3]);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("set_many", "scatter", "NGA_Scatter"))]
    #[track_caller]
    pub fn put_many(&mut self, writes: &[(usize, T)]) -> Result<()> {
        let site = Site::here();
        if let Some(outside) = writes.iter().position(|(index, _)| *index >= self.len()) {
            return Err(self.outside(writes[outside].0, Some(outside), &site));
        }
        self.shared.no_look();
        let done = self.direct.put_many(writes);
        let writes = &writes[done..];
        if done > 0 && writes.is_empty() {
            return Ok(());
        }
        let _call = self.shared.bulk_call("put_many");
        self.shared.on(&site, |_, cx| cx.usable(true))?;
        self.order_after_scopes(Window::WHOLE, &site)?;
        let blocks = (0..self.shared.size).map(|owner| self.dist.range(Rank::new(owner)));
        let mut batches: Vec<_> = blocks.map(|block| (block.start, BatchBuilder::new(block.len()))).collect();
        let own = self.local_range();
        // One batch at a time to each owner: transfers may overtake each other.
        let mut under_way: Vec<_> = (0..self.shared.size).map(|_| None).collect();
        for &(index, value) in writes.iter().filter(|(index, _)| !own.contains(index)) {
            let owner = self.dist.owner_index(index);
            let (start, batch) = &mut batches[owner];
            if batch.len() == batch.capacity() {
                self.write_batch(Rank::new(owner), batch, false, &mut under_way, &site)?;
                let wanted = batch.wanted();
                batch.open(self.shared.tidy(|_, out| out.buffer(Rank::new(owner), wanted)));
            }
            batch.push(index - *start, value);
        }
        for (owner, (_, batch)) in batches.iter_mut().enumerate() {
            self.write_batch(Rank::new(owner), batch, true, &mut under_way, &site)?;
        }
        if writes.iter().any(|(index, _)| own.contains(index)) {
            let mine = writes.iter().map(|(index, _)| *index).filter(|index| own.contains(index));
            let places = mine.map(|index| index - own.start..index - own.start + 1);
            self.check_own(AccessKind::Write, places, Window::WHOLE, &site)?;
            self.write_own(&site, |block| {
                for (index, value) in writes.iter().filter(|(index, _)| own.contains(index)) {
                    block[index - own.start] = *value;
                }
            })?;
        }
        let mut under_way = under_way.into_iter().flatten();
        under_way.try_for_each(|asked: Asked<'_>| self.shared.answer(asked.hand_over(), PUT, &site).map(drop))
    }

    /// Sends a batch to its owner, if it is not empty. `last`: the last one.
    fn write_batch<'v>(
        &'v self,
        owner: Rank,
        batch: &mut BatchBuilder<T>,
        last: bool,
        under_way: &mut [Option<Asked<'v>>],
        site: &Site,
    ) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.shared.look();
        if let Some(asked) = under_way[owner.index()].take() {
            self.shared.answer(asked.hand_over(), PUT, site)?;
        }
        let reason = Reason::new(PUT.0, PUT.1, site);
        let request = Request::Write { op: None, window: Window::WHOLE };
        let when = if last { When::Now } else { When::More };
        let call = self
            .shared
            .on(site, |object, cx| Ok(object.core.ask((owner, &reason, when), request, batch.take(), cx)))?;
        under_way[owner.index()] = Some(Asked::new(&self.shared, call));
        Ok(())
    }
}
