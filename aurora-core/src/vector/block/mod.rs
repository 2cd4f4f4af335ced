//! The part of a vector that a rank owns: its memory, its lent ranges, and the accesses that other ranks may make.

mod home;
mod leaving;
mod lending;

use crate::memory::node::home::Home;
use crate::memory::{Cells, LatchMode, Parts, Permit, Storage};
use home::Held;
use leaving::Leaving;
use std::ops::Range;
use std::sync::Arc;

/// A block. Ranges of it are in bytes. A range is cut off before it is lent, so that the rest can be served; while
/// nothing is lent the block is one piece.
///
/// Ranks that share the block's memory may access single elements themselves, by its [`LatchMode`], except while some
/// of the block is lent, being sent, or used by a method.
pub(crate) struct Block {
    parts: Parts,
    bytes: usize,
    /// Bytes of an element.
    pub(crate) element: usize,
    /// Counts changes, from 1.
    pub(crate) version: u64,
    /// The number of transfers that read the block at this moment: meanwhile all of it is here.
    in_flight: usize,
    /// The block's place in the node's shared memory, if it has one.
    home: Option<Home>,
    /// The move away from there for which a write waits.
    leaving: Option<Leaving>,
    /// The accesses that the calling thread may make without the kernel.
    pub(crate) permit: Arc<Permit>,
    /// True while the block is sent to other nodes: no other rank may change it.
    frozen: bool,
    /// True if no other rank may touch the block any more: its object is faulty, or the job has ended.
    closed: bool,
}

impl Block {
    pub(crate) fn new(storage: Arc<dyn Storage>, element: usize, home: Option<Home>) -> Self {
        Block {
            bytes: storage.bytes().len(),
            parts: Parts::new(storage),
            element,
            version: 1,
            in_flight: 0,
            home,
            leaving: None,
            permit: Arc::default(),
            frozen: false,
            closed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes / self.element
    }

    /// The range of these elements, in bytes.
    pub(crate) fn bytes_of(&self, elements: &Range<usize>) -> Range<usize> {
        elements.start * self.element..elements.end * self.element
    }

    /// The whole block as one piece of memory. Only while no other rank knows of the block.
    pub(crate) fn storage(&self) -> Option<Arc<dyn Storage>> {
        self.parts.whole(self.bytes).cloned()
    }

    /// True if nothing of this range is lent for writing.
    pub(crate) fn is_here(&self, range: &Range<usize>) -> bool {
        self.parts.find(range).is_some()
    }

    pub(crate) fn is_all_here(&self) -> bool {
        self.is_here(&(0..self.bytes))
    }

    /// True if some of the block is lent apart from the rest.
    pub(crate) fn is_cut(&self) -> bool {
        self.parts.whole(self.bytes).is_none()
    }

    /// The elements with these numbers, unless some of them are lent for writing.
    pub(crate) fn read_elements(&mut self, numbers: &[usize]) -> Option<Vec<u8>> {
        let held = Held::new(self, LatchMode::ReadOnly);
        let element = held.block.element;
        let mut values = Vec::with_capacity(numbers.len() * element);
        for number in numbers {
            let range = number * element..(number + 1) * element;
            values.extend_from_slice(held.block.parts.bytes(&range)?.first()?);
        }
        Some(values)
    }

    /// Copies bytes from `at` on, while [a transfer reads it](Block::lend_to_transfer): no rank changes them.
    pub(crate) fn copy(&self, at: usize, into: &mut [u8]) -> bool {
        let range = at.checked_add(into.len()).filter(|end| *end <= self.bytes).map(|end| at..end);
        let mut left = into;
        range.and_then(|range| self.parts.bytes(&range)).is_some_and(|pieces| {
            for piece in pieces {
                let (own, rest) = std::mem::take(&mut left).split_at_mut(piece.len());
                own.copy_from_slice(piece);
                left = rest;
            }
            true
        })
    }

    pub(crate) fn read<R>(&mut self, show: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.read_range(&(0..self.bytes), show)
    }

    /// Shows a range of bytes, unless some are lent for writing.
    pub(crate) fn read_range<R>(&mut self, range: &Range<usize>, show: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if !self.is_here(range) {
            return None;
        }
        let held = Held::new(self, LatchMode::ReadOnly);
        held.block.parts.show(range, show)
    }

    /// Writes all bytes, unless a guard holds some, a transfer reads them, or the block has to leave its readers first.
    /// Counts as a change. Only for the owner's own thread, which alone reads elements meanwhile.
    pub(crate) fn write<R>(&mut self, fill: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        self.change(|block| 0..block.bytes, |storage| fill(storage.bytes_mut()))
    }

    /// As [`write`](Self::write), for any thread: element by element, in `range`, which is computed only if other ranks
    /// may read the block.
    pub(crate) fn write_cells<R>(
        &mut self,
        range: impl FnOnce() -> Range<usize>,
        fill: impl FnOnce(Cells<'_>) -> R,
    ) -> Option<R> {
        self.change(|_| range(), |storage| fill(storage.cells()))
    }

    fn change<R>(
        &mut self,
        range: impl FnOnce(&Self) -> Range<usize>,
        change: impl FnOnce(&mut dyn Storage) -> R,
    ) -> Option<R> {
        let free = self.parts.whole_mut(self.bytes).is_some_and(|whole| Arc::get_mut(whole).is_some());
        if self.in_flight > 0 || !free {
            return None;
        }
        let all = self.bytes;
        if self.leaving.is_some() || self.home.as_ref().is_some_and(|home| !home.is_clear(&(0..all))) {
            let range = range(self);
            if !self.is_writable(&range) {
                return None;
            }
        }
        let held = Held::new(self, LatchMode::Busy);
        held.block.version += 1;
        Some(change(Arc::get_mut(held.block.parts.whole_mut(all)?)?))
    }

    /// The pieces of a cut block that contain these ranges, if they are free to be written one by one.
    pub(crate) fn pieces_of(&mut self, ranges: impl Iterator<Item = Range<usize>>) -> Option<Vec<Range<usize>>> {
        let mut wanted = Vec::new();
        for range in ranges {
            wanted.extend(self.parts.find(&range)?);
        }
        wanted.sort_unstable();
        wanted.dedup();
        let pieces = self.parts.pieces_mut();
        let free = self.in_flight == 0 && wanted.iter().all(|piece| pieces[*piece].is_free());
        let wanted: Vec<_> = wanted.into_iter().map(|piece| pieces[piece].range()).collect();
        (free && wanted.iter().all(|piece| self.is_writable(piece))).then_some(wanted)
    }

    /// Writes one of those pieces, element by element.
    pub(crate) fn write_piece<R>(&mut self, piece: &Range<usize>, fill: impl FnOnce(Cells<'_>) -> R) -> Option<R> {
        let held = Held::new(self, LatchMode::Busy);
        held.block.version += 1;
        let found = held.block.parts.find(piece)?;
        let [piece] = &mut held.block.parts.pieces_mut()[found] else {
            return None;
        };
        Some(fill(Arc::get_mut(&mut piece.array)?.cells()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Array;

    fn block() -> Block {
        Block::new(Arc::new(Array::from((0..20_u16).collect::<Vec<_>>())), 2, None)
    }

    #[test]
    fn what_is_lent_whole_is_not_served() {
        let mut block = block();
        let shared = block.share().expect("it is here");
        assert!(block.is_lent() && !block.is_cut() && block.write(|_| ()).is_none());
        assert_eq!(block.read(<[u8]>::len), Some(40));
        drop(shared);
        let taken = block.take().expect("nobody holds it");
        assert!(block.is_lent() && block.bytes().is_none() && block.read(|_| ()).is_none() && block.take().is_none());
        block.give_back(taken);
        assert!(!block.is_lent() && block.write(|_| ()).is_some() && block.version == 3);
    }

    #[test]
    fn what_is_not_lent_is() {
        let mut block = block();
        let part = block.bytes_of(&(5..10));
        let taken = block.take_part(&part).expect("nobody holds it");
        assert_eq!(taken.bytes()[..2], 5_u16.to_ne_bytes());
        assert!(block.is_cut() && block.is_lent() && !block.is_all_here());
        assert!(block.read_elements(&[3, 19]).is_some() && block.read_elements(&[3, 5]).is_none());
        assert!(block.read_range(&(20..40), |_| ()).is_some() && block.read_range(&(18..22), |_| ()).is_none());
        assert!(block.pieces_of([0..2, 6..10].into_iter()).is_some());
        assert!(block.pieces_of([0..2, 19..21].into_iter()).is_none());
        let piece = block.pieces_of(std::iter::once(22..24)).expect("it is free").pop().expect("one");
        assert_eq!(piece, 20..40);
        assert!(block.write_piece(&piece, |cells| cells.elements::<u16>().set(1, 77)).is_some());
        // A guard next to it, and a guard around both.
        let shared = block.share_part(&(20..24)).expect("it is here");
        let around = block.share_part(&(20..40)).expect("it is here");
        assert_eq!((shared.len(), around.len()), (1, 2));
        assert!(block.pieces_of(std::iter::once(22..24)).is_none());
        drop((shared, around));
        block.give_back_part(10, taken);
        block.mend();
        assert!(!block.is_cut() && !block.is_lent());
        let all: Vec<u16> = block.read(|bytes| bytemuck::cast_slice(bytes).to_vec()).expect("it is here");
        assert!(all.iter().enumerate().all(|(i, x)| *x == if i == 11 { 77 } else { i as u16 }));
    }

    #[test]
    fn a_transfer_goes_on_from_pieces() {
        let mut block = block();
        block.lend_to_transfer();
        let shared = block.share_part(&(4..8));
        let mut some = [0; 8];
        assert!(block.copy(2, &mut some) && some[6..] == 4_u16.to_ne_bytes() && !block.copy(34, &mut some));
        drop(shared);
        let copy = block.take_from_transfers().expect("all of it is here");
        assert_eq!(copy.bytes().len(), 40);
        assert!(block.take_part(&(0..4)).is_some() && !block.copy(2, &mut some));
    }
}
