//! The elements wanted of one owner, in order: not requested yet, in batches under way, and received.

use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::kernel::message::malformed;
use crate::link::Asked;
use crate::memory::Prefetch;
use crate::race::AccessKind;
use crate::vector::message::Request;
use crate::vector::places::{Places, PlacesBuilder};
use crate::window::Window;
use crate::{Element, GVector, Kind, Result, Site};
use aurora_net::Rank;
use std::collections::VecDeque;
use std::mem;
use std::ops::Range;

/// Bytes of a request, and of its answer.
const BATCH: usize = 64 << 10;

/// Elements that are read at once in memory that is here: enough for their cache misses to overlap.
const AT_ONCE: usize = 1024;

pub(super) const UNDER_WAY: usize = 4;

/// Elements in a request, and in its answer, for a vector whose longest block has `longest` elements.
pub(super) fn most_asked<T>(longest: usize) -> usize {
    (BATCH / Places::width_for(longest).max(size_of::<T>())).max(1)
}

pub(super) fn most_read<T>() -> usize {
    (BATCH / size_of::<T>()).clamp(1, AT_ONCE)
}

#[derive(Debug)]
pub(super) struct Reader<'g, T: Element> {
    pub(super) vector: &'g GVector<T>,
    pub(super) window: Window,
    pub(super) site: Site,
    pub(super) reason: Reason,
}

/// The elements of one owner; or of all owners, if all their memory is here.
pub(super) struct Lane<'g, T: Element> {
    owner: Rank,
    block: Range<usize>,
    wanted: Wanted,
    most: usize,
    /// The queue's number of refills when the first wanted element was added.
    pub(super) since: u64,
    /// Batches in the order of their requests.
    batches: VecDeque<Batch<'g, T>>,
    /// The number of received batches. They are the first ones.
    here: usize,
    /// The number of batches under way.
    asked: usize,
    /// The batch from which values are taken, and the number of values taken.
    values: Vec<T>,
    taken: usize,
}

/// Elements not requested yet.
enum Wanted {
    /// Of an owner that gets messages: places in its block.
    Places { places: PlacesBuilder, count: usize },
    /// In memory that is here: indices.
    Indices { indices: Vec<usize>, everyones: bool },
}

enum Batch<'g, T> {
    /// Under way: this number of elements.
    Asked(Asked<'g>, usize),
    Here(Vec<T>),
}

impl<'g, T: Element> Lane<'g, T> {
    pub(super) fn of_all(vector: &'g GVector<T>) -> Self {
        let wanted = Wanted::Indices { indices: Vec::new(), everyones: true };
        Lane::new(vector.shared.me, 0..vector.len(), wanted, most_read::<T>())
    }

    /// The lane of `owner`, with batches of `most` elements if it gets messages.
    pub(super) fn of(vector: &'g GVector<T>, owner: Rank, most: usize) -> Self {
        let block = vector.dist.range(owner);
        if owner == vector.shared.me || vector.direct.is_here(owner.index()) {
            let wanted = Wanted::Indices { indices: Vec::new(), everyones: false };
            return Lane::new(owner, block, wanted, most_read::<T>());
        }
        let wanted = Wanted::Places { places: PlacesBuilder::new(block.len()), count: 0 };
        Lane::new(owner, block, wanted, most)
    }

    fn new(owner: Rank, block: Range<usize>, wanted: Wanted, most: usize) -> Self {
        Lane {
            owner,
            block,
            wanted,
            most,
            since: 0,
            batches: VecDeque::new(),
            here: 0,
            asked: 0,
            values: Vec::new(),
            taken: 0,
        }
    }

    /// True if [`make_room`](Lane::make_room) is needed before the next element.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        match &self.wanted {
            Wanted::Places { places, .. } => places.is_full(),
            Wanted::Indices { indices, .. } => indices.len() >= self.most,
        }
    }

    pub(super) fn has_wanted(&self) -> bool {
        match &self.wanted {
            Wanted::Places { count, .. } => *count > 0,
            Wanted::Indices { indices, .. } => !indices.is_empty(),
        }
    }

    #[inline]
    pub(super) fn want(&mut self, index: usize) {
        match &mut self.wanted {
            Wanted::Places { places, count } => {
                places.push(index - self.block.start);
                *count += 1;
            }
            Wanted::Indices { indices, .. } => indices.push(index),
        }
    }

    pub(super) fn is_at_hand(&self) -> bool {
        self.taken < self.values.len()
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<T> {
        let value = *self.values.get(self.taken)?;
        self.taken += 1;
        Some(value)
    }

    /// Makes the next value available, waiting for its batch if necessary. False: it was not requested.
    pub(super) fn advance(&mut self, reader: &Reader<'g, T>) -> Result<bool> {
        if self.here == 0 {
            if self.asked == 0 {
                return Ok(false);
            }
            self.receive(reader)?;
        }
        if let Some(Batch::Here(values)) = self.batches.pop_front() {
            self.here -= 1;
            self.values = values;
            self.taken = 0;
        }
        Ok(true)
    }

    pub(super) fn make_room(&mut self, reader: &Reader<'g, T>) -> Result<()> {
        self.send(reader)?;
        if let Wanted::Places { places, .. } = &mut self.wanted {
            let (owner, len) = (self.owner, self.most * places.width());
            places.open(reader.vector.shared.tidy(|_, out| out.buffer(owner, len)));
        }
        Ok(())
    }

    /// Requests the wanted elements, or reads them if their memory is here.
    pub(super) fn send(&mut self, reader: &Reader<'g, T>) -> Result<()> {
        if !self.has_wanted() {
            return Ok(());
        }
        match &mut self.wanted {
            Wanted::Places { places, count } => {
                let (width, count) = (places.width(), mem::take(count));
                let places = places.take();
                self.ask(reader, width, places, count)
            }
            Wanted::Indices { indices, everyones } => {
                let (indices, everyones) = (mem::take(indices), *everyones);
                self.read(reader, &indices, everyones)?;
                if let Wanted::Indices { indices: kept, .. } = &mut self.wanted {
                    *kept = indices;
                    kept.clear();
                }
                Ok(())
            }
        }
    }

    /// Forgets everything, and has no room for more.
    pub(super) fn shut(&mut self) {
        let wanted = Wanted::Indices { indices: Vec::new(), everyones: false };
        *self = Lane::new(self.owner, self.block.clone(), wanted, 0);
    }

    fn read(&mut self, reader: &Reader<'g, T>, indices: &[usize], everyones: bool) -> Result<()> {
        let Reader { vector, window, site, reason } = reader;
        let mut values = vec![T::zeroed(); indices.len()];
        if everyones {
            vector.read_many(indices, &mut values, (reason, *window), site)?;
        } else if vector.direct.at_many_of(self.owner.index(), self.block.clone(), indices, &mut values) < indices.len()
        {
            if self.owner != vector.shared.me {
                // The block of a node peer that is lent or has moved away.
                let mut places = PlacesBuilder::new(self.block.len());
                places.open(vector.shared.tidy(|_, out| out.buffer(self.owner, indices.len() * places.width())));
                indices.iter().for_each(|index| places.push(index - self.block.start));
                let width = places.width();
                return self.ask(reader, width, places.take(), indices.len());
            }
            let start = self.block.start;
            let places = indices.iter().map(|index| index - start);
            vector.check_own(AccessKind::Read, places.clone().map(|place| place..place + 1), *window, site)?;
            if window.is_whole() {
                vector.read_own(site, |own| pick(own, start, indices, &mut values))?;
            } else {
                let read = vector.read_own_in(*window, &places.collect::<Vec<_>>(), site)?;
                bytemuck::cast_slice_mut(&mut values).copy_from_slice(&read);
            }
        }
        self.add(Batch::Here(values));
        Ok(())
    }

    fn ask(&mut self, reader: &Reader<'g, T>, width: usize, places: aurora_net::Buffer, count: usize) -> Result<()> {
        if self.asked >= UNDER_WAY {
            self.receive(reader)?;
        }
        let Reader { vector, window, site, reason } = reader;
        vector.order_after_scopes(*window, site)?;
        let _call = vector.shared.call(reason.action);
        // Serves requests of other ranks, for which this rank is not woken.
        vector.shared.look();
        let call = vector.shared.on(site, |object, cx| {
            cx.usable_in(false, *window)?;
            let request = Request::ReadMany { width: width as u8, window: *window };
            Ok(object.core().ask((self.owner, reason, When::Ahead), request, places, cx))
        })?;
        self.add(Batch::Asked(Asked::new(&vector.shared, call), count));
        Ok(())
    }

    fn add(&mut self, batch: Batch<'g, T>) {
        match batch {
            Batch::Asked(..) => self.asked += 1,
            Batch::Here(_) if self.here == self.batches.len() => self.here += 1,
            // It follows a batch that is under way.
            Batch::Here(_) => {}
        }
        self.batches.push_back(batch);
    }

    /// Waits for the first batch that is under way.
    fn receive(&mut self, reader: &Reader<'g, T>) -> Result<()> {
        let Some(batch) = self.batches.get_mut(self.here) else {
            return Ok(());
        };
        let _call = reader.vector.shared.call(reader.reason.action);
        if let Batch::Asked(asked, count) = mem::replace(batch, Batch::Here(Vec::new())) {
            self.asked -= 1;
            let answer = reader.vector.shared.received(
                asked.hand_over(),
                (reader.reason.action, Kind::BatchedReads),
                &reader.site,
            )?;
            let bytes = answer.bytes();
            if bytes.len() != count * size_of::<T>() {
                return Err(malformed(self.owner));
            }
            let mut values = vec![T::zeroed(); count];
            bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
            *batch = Batch::Here(values);
        }
        while matches!(self.batches.get(self.here), Some(Batch::Here(_))) {
            self.here += 1;
        }
        Ok(())
    }
}

/// Copies elements of a block that begins at `start`. No iteration depends on another, and elements are prefetched.
fn pick<T: Element>(block: &[T], start: usize, indices: &[usize], values: &mut [T]) {
    let memory = Prefetch::of(block);
    for (indices, values) in indices.chunks(AT_ONCE / 4).zip(values.chunks_mut(AT_ONCE / 4)) {
        indices.iter().for_each(|index| memory.fetch(index - start));
        for (value, index) in values.iter_mut().zip(indices) {
            *value = block[index - start];
        }
    }
}
