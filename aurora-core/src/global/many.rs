//! Many elements in one call: one round trip to each owner, all at once.

use super::GVector;
use crate::Site;
use crate::element::Element;
use crate::error::Result;
use crate::message::{Request, malformed};
use crate::service::asking::Asking;
use crate::service::batch::BatchBuilder;
use crate::service::places::{Places, PlacesBuilder};
use aurora_net::Rank;

/// Elements of one round trip at most. It bounds the memory that a vector keeps for the next one.
const AT_ONCE: usize = 1 << 18;

/// What is wanted of one owner.
pub(crate) struct Wanted {
    /// The first element of its block.
    start: usize,
    places: PlacesBuilder,
    /// Where in the answer to the caller each of them belongs.
    positions: Vec<u32>,
}

impl Wanted {
    fn places(&self) -> Places<'_> {
        Places::parse(self.places.width(), self.places.bytes()).expect("whole places")
    }

    fn clear(&mut self) {
        self.places.clear();
        self.positions.clear();
    }
}

impl<T: Element> GVector<T> {
    /// The elements at `indices`, in their order; one round trip to each owner, all at once, and none where all ranks share memory.
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
        let rest = indices[done..].chunks(AT_ONCE).zip(values[done..].chunks_mut(AT_ONCE));
        for (indices, values) in rest {
            let mut wanted = self.wanted.take();
            self.sort(indices, &mut wanted);
            self.read_wanted(&wanted, values, &site)?;
            self.wanted.set(wanted);
        }
        Ok(values)
    }

    /// Sorts indices by their owners.
    fn sort(&self, indices: &[usize], wanted: &mut Vec<Wanted>) {
        if wanted.is_empty() {
            wanted.extend((0..self.link.size).map(|owner| {
                let block = self.dist.range(Rank::new(owner));
                Wanted { start: block.start, places: PlacesBuilder::new(block.len()), positions: Vec::new() }
            }));
        }
        wanted.iter_mut().for_each(Wanted::clear);
        for (position, &index) in (0..).zip(indices) {
            let wanted = &mut wanted[self.dist.owner_index(index)];
            wanted.places.push(index - wanted.start);
            wanted.positions.push(position);
        }
    }

    /// Asks all owners, and puts each value into its position.
    fn read_wanted(&self, wanted: &[Wanted], values: &mut [T], site: &Site) -> Result<()> {
        let reason = self.reason("at_many", site);
        let asked: Vec<_> = self.link.act(site, |service, out| {
            service.usable(self.id, false, out)?;
            let others = self.link.me.others(self.link.size);
            let others = others.filter(|owner| !wanted[owner.index()].positions.is_empty());
            let ask = |owner: Rank| {
                let places = &wanted[owner.index()].places;
                let request = Request::ReadMany { width: places.width() as u8 };
                let asking = Asking { object: self.id, to: owner, reason: &reason };
                (owner, service.ask(&asking, request, places.bytes().to_vec(), out))
            };
            Ok(others.map(ask).collect())
        })?;
        let own = &wanted[self.link.me.index()];
        if !own.positions.is_empty() {
            self.read_own(site, |block| own.places().spread(block, &own.positions, values))?;
        }
        for (owner, call) in asked {
            let bytes = self.answer(call, "at_many", site)?;
            let positions = &wanted[owner.index()].positions;
            if bytes.len() != positions.len() * size_of::<T>() {
                return Err(malformed(owner));
            }
            for (position, value) in positions.iter().zip(bytes.chunks_exact(size_of::<T>())) {
                values[*position as usize] = bytemuck::pod_read_unaligned(value);
            }
        }
        Ok(())
    }

    /// Sets many elements, in the order given; one round trip to each owner, all at once, and none where all ranks share memory.
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
        let blocks = (0..self.link.size).map(|owner| self.dist.range(Rank::new(owner)));
        let mut batches: Vec<_> = blocks.map(|block| (block.start, BatchBuilder::new(block.len()))).collect();
        let own = self.local_range();
        for &(index, value) in writes.iter().filter(|(index, _)| !own.contains(index)) {
            let (start, batch) = &mut batches[self.dist.owner_index(index)];
            batch.push(index - *start, value);
        }
        let reason = self.reason("put_many", &site);
        let asked: Vec<_> = self.link.act(&site, |service, out| {
            service.usable(self.id, true, out)?;
            let others = self.link.me.others(self.link.size);
            Ok(others
                .filter_map(|owner| {
                    let (_, batch) = &mut batches[owner.index()];
                    let asking = Asking { object: self.id, to: owner, reason: &reason };
                    (!batch.is_empty()).then(|| service.ask(&asking, Request::Write { op: None }, batch.take(), out))
                })
                .collect())
        })?;
        if writes.iter().any(|(index, _)| own.contains(index)) {
            self.write_own(&site, |block| {
                for (index, value) in writes.iter().filter(|(index, _)| own.contains(index)) {
                    block[index - own.start] = *value;
                }
            })?;
        }
        asked.into_iter().try_for_each(|call| self.answer(call, "put_many", &site).map(drop))
    }
}
