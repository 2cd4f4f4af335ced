//! The part of a vector that a rank owns: its memory, what of it is lent, and what others may do to it meanwhile.

use super::home::{Home, Place};
use crate::element::Element;
use crate::memory::{Cells, Door, Front, Parts, Storage};
use crate::message::Epoch;
use std::ops::Range;
use std::sync::Arc;

/// A block. Ranges of it are in bytes.
///
/// What is lent is cut off first, so that the rest of it can be served; while nothing is lent it is in one piece.
///
/// Ranks that share its memory may touch single elements of it themselves, by its [`Door`], except while some of it is lent, being
/// sent, or used by one of the methods here.
pub(crate) struct Block {
    parts: Parts,
    bytes: usize,
    /// Bytes of an element.
    pub(crate) element: usize,
    /// Counts changes, from 1.
    pub(crate) version: u64,
    /// Transfers that read it at this moment: then all of it is here.
    in_flight: usize,
    /// Its place in memory that the ranks of its node share, where there is such.
    home: Option<Home>,
    /// What the calling thread may do without us.
    pub(super) front: Arc<Front>,
    /// It is on its way to other nodes: nobody else may change it.
    frozen: bool,
    /// Nobody else may touch it any more: its object is faulty, or the job over.
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
            front: Arc::default(),
            frozen: false,
            closed: false,
        }
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.bytes / self.element
    }

    /// These elements, in bytes.
    pub(crate) fn bytes_of(&self, elements: &Range<usize>) -> Range<usize> {
        elements.start * self.element..elements.end * self.element
    }

    /// All of it, as it lies in memory, while it is not known to anybody else.
    pub(crate) fn storage(&self) -> Option<Arc<dyn Storage>> {
        self.parts.whole(self.bytes).cloned()
    }

    /// Whether nothing of this is lent for writing.
    pub(crate) fn is_here(&self, range: &Range<usize>) -> bool {
        self.parts.find(range).is_some()
    }

    /// Whether nothing of it is lent for writing.
    pub(crate) fn is_all_here(&self) -> bool {
        self.is_here(&(0..self.bytes))
    }

    /// Whether some of it is lent apart from the rest.
    pub(crate) fn is_cut(&self) -> bool {
        self.parts.whole(self.bytes).is_none()
    }

    /// The elements with these numbers, unless some of them are lent for writing.
    pub(crate) fn read_elements(&mut self, numbers: &[usize]) -> Option<Vec<u8>> {
        let held = Held::new(self, Door::ReadOnly);
        let element = held.block.element;
        let mut values = Vec::with_capacity(numbers.len() * element);
        for number in numbers {
            let range = number * element..(number + 1) * element;
            values.extend_from_slice(held.block.parts.bytes(&range)?.first()?);
        }
        Some(values)
    }

    /// Copies bytes from `at` on for a transfer, while [it is being sent](Block::lend_to_transfer): nobody changes them.
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

    /// Shows all bytes, unless some are lent for writing.
    pub(crate) fn read<R>(&mut self, show: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.read_range(&(0..self.bytes), show)
    }

    /// Shows some bytes, unless they are lent for writing.
    pub(crate) fn read_range<R>(&mut self, range: &Range<usize>, show: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if !self.is_here(range) {
            return None;
        }
        let held = Held::new(self, Door::ReadOnly);
        held.block.parts.show(range, show)
    }

    /// The bytes for a write, unless somebody holds them or a transfer reads them. Counts as a change. For its owner's own thread, which
    /// alone reads elements meanwhile.
    pub(crate) fn write<R>(&mut self, fill: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        self.change(|block| 0..block.bytes, |storage| fill(storage.bytes_mut()))
    }

    /// The same for any thread: element by element, and only those that lie in the range that is named, for which is asked only if
    /// somebody shows any of the block.
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
        let held = Held::new(self, Door::Busy);
        let all = held.block.bytes;
        if held.block.home.as_ref().is_some_and(|home| !home.is_clear(&(0..all))) {
            let range = range(held.block);
            held.block.yield_to_readers(&range);
        }
        held.block.version += 1;
        Some(change(Arc::get_mut(held.block.parts.whole_mut(all)?)?))
    }

    /// Where it has been cut, so that a write has to be done piece by piece: the pieces that all of these ranges lie in, if they are
    /// free to be written.
    pub(crate) fn pieces_of(&mut self, ranges: impl Iterator<Item = Range<usize>>) -> Option<Vec<Range<usize>>> {
        let mut wanted = Vec::new();
        for range in ranges {
            wanted.extend(self.parts.find(&range)?);
        }
        wanted.sort_unstable();
        wanted.dedup();
        let pieces = self.parts.pieces_mut();
        let free = self.in_flight == 0 && wanted.iter().all(|piece| pieces[*piece].is_free());
        free.then(|| wanted.into_iter().map(|piece| pieces[piece].range()).collect())
    }

    /// One of those for a write, element by element.
    pub(crate) fn write_piece<R>(&mut self, piece: &Range<usize>, fill: impl FnOnce(Cells<'_>) -> R) -> Option<R> {
        let held = Held::new(self, Door::Busy);
        held.block.yield_to_readers(piece);
        held.block.version += 1;
        let found = held.block.parts.find(piece)?;
        let [piece] = &mut held.block.parts.pieces_mut()[found] else {
            return None;
        };
        Some(fill(Arc::get_mut(&mut piece.array)?.cells()))
    }

    /// Lends some of it for reading: the pieces that hold it, each with where it begins. Where other guards hold pieces that do not end
    /// where it does it is a copy: nobody holds more than he shows, or who writes to the rest would meet him.
    pub(crate) fn share_part(&mut self, range: &Range<usize>) -> Option<Vec<(usize, Arc<dyn Storage>)>> {
        self.set_door(Door::ReadOnly);
        self.parts.join();
        self.parts.cut(range);
        let found = self.parts.find(range)?;
        let pieces = &self.parts.pieces()[found];
        if let [first, .., last] | [first @ last] = pieces
            && (first.at != range.start || last.range().end != range.end)
        {
            return Some(vec![(range.start, first.array.gathered(&self.parts.bytes(range)?))]);
        }
        Some(pieces.iter().map(|piece| (piece.at, piece.array.clone())).collect())
    }

    /// Lends some of it for writing.
    pub(crate) fn take_part(&mut self, range: &Range<usize>) -> Option<Arc<dyn Storage>> {
        if !self.is_here(range) {
            return None;
        }
        self.set_door(Door::Shut);
        self.parts.join();
        self.parts.cut(range);
        self.yield_to_readers(range);
        let found = self.parts.find(range)?;
        let mut taken = self.parts.remove(found);
        if taken.len() > 1 {
            // They lie in different places.
            let contents: Vec<_> = taken.iter().map(|piece| piece.array.bytes()).collect();
            let one = taken[0].array.gathered(&contents);
            if let Some(home) = &mut self.home {
                taken.drain(..).for_each(|piece| home.leave(piece));
            }
            return Some(one);
        }
        taken.pop().map(|piece| piece.array)
    }

    /// Takes it back.
    pub(crate) fn give_back_part(&mut self, at: usize, storage: Arc<dyn Storage>) {
        self.version += 1;
        self.parts.insert(at, storage);
    }

    /// Leaves its place to those who show some of it.
    fn yield_to_readers(&mut self, range: &Range<usize>) {
        if let Some(home) = &mut self.home {
            home.yield_to_readers(&mut self.parts, range);
            if !home.holds(&self.parts) {
                // It is not to be read where it was.
                self.front.close();
            }
        }
    }

    /// Joins what was cut for guards that are gone, and has it in one place again.
    pub(crate) fn mend(&mut self) {
        if self.parts.pieces().len() < 2 {
            return;
        }
        self.parts.join();
        // Only what has a place can have moved away from it.
        let all_here = self.home.is_some() && self.is_all_here() && self.in_flight == 0;
        let pieces = self.parts.pieces_mut();
        if pieces.len() < 2 || !all_here || !pieces.iter_mut().all(|piece| piece.is_free()) || self.go_home() {
            return;
        }
        let pieces = self.parts.remove(0..self.parts.pieces().len());
        let contents: Vec<_> = pieces.iter().map(|piece| piece.array.bytes()).collect();
        self.parts = Parts::new(pieces[0].array.gathered(&contents));
        if let Some(home) = &mut self.home {
            pieces.into_iter().for_each(|piece| home.leave(piece));
        }
    }

    /// A transfer reads it from now on. All of it is here.
    pub(crate) fn lend_to_transfer(&mut self) {
        self.in_flight += 1;
        self.set_door(Door::ReadOnly);
    }

    /// It does not any more.
    pub(crate) fn back_from_transfer(&mut self) {
        self.in_flight -= 1;
    }

    /// Whether some transfer reads it.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// A copy, from which all transfers go on.
    pub(crate) fn take_from_transfers(&mut self) -> Option<Arc<dyn Storage>> {
        let copy = match self.parts.whole(self.bytes) {
            Some(whole) => whole.duplicate(),
            None => {
                let contents = self.parts.bytes(&(0..self.bytes))?;
                self.parts.pieces().first()?.array.gathered(&contents)
            }
        };
        self.in_flight = 0;
        Some(copy)
    }

    /// Moves it to memory that all ranks share.
    pub(crate) fn settle_down<T: Element>(&mut self, mut place: Place<T>) {
        let block = self.storage().expect("nobody has seen it yet");
        place.own.bytes_mut().copy_from_slice(block.bytes());
        let (own, home) = place.occupied();
        self.parts = Parts::new(Arc::new(own));
        self.home = Some(home);
    }

    /// Its place in shared memory.
    pub(crate) fn home(&mut self) -> Option<&mut Home> {
        self.home.as_mut()
    }

    /// The same, to look at.
    pub(crate) fn find_home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// Whether all of it lies there.
    pub(crate) fn is_at_home(&self) -> bool {
        self.is_all_here() && self.home.as_ref().is_some_and(|home| home.holds(&self.parts))
    }

    /// The same of some of it.
    pub(crate) fn has_at_home(&self, range: &Range<usize>) -> bool {
        self.home.as_ref().is_some_and(|home| home.holds_range(&self.parts, range))
    }

    /// Brings it there for a load, if it can. Whether it is there now.
    pub(crate) fn go_home(&mut self) -> bool {
        self.bring_home(&(0..self.bytes))
    }

    /// The same for some of it.
    pub(crate) fn bring_home(&mut self, range: &Range<usize>) -> bool {
        // What is lent or being sent stays where it is.
        let in_flight = self.in_flight > 0;
        let Some(home) = &mut self.home else {
            return false;
        };
        if home.take_written() {
            self.version += 1;
        }
        if !in_flight {
            home.take_in(&mut self.parts);
        }
        home.holds_range(&self.parts, range)
    }

    /// Whether a guard holds some of it.
    pub(crate) fn is_lent(&self) -> bool {
        !self.is_all_here() || self.parts.pieces().iter().any(|piece| Arc::strong_count(&piece.array) > 1)
    }

    /// Nobody else may change it until a load is settled: it is about to be sent to other nodes.
    pub(crate) fn freeze(&mut self) {
        self.frozen = true;
        self.set_door(Door::ReadOnly);
    }

    /// That load is settled.
    pub(crate) fn thaw(&mut self) {
        self.frozen = false;
    }

    /// Nobody else may touch it from now on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.set_door(Door::Shut);
    }

    /// Lets others touch it as far as they may, and know what is settled.
    pub(super) fn reopen(&mut self, settled: Epoch) {
        let door = self.resting_door();
        if let Some(home) = &mut self.home {
            home.set_door(door, settled);
        }
    }

    fn resting_door(&self) -> Door {
        if self.closed || !self.is_at_home() {
            Door::Shut
        } else if self.frozen || self.in_flight > 0 || self.is_lent() {
            Door::ReadOnly
        } else {
            Door::Open
        }
    }

    fn set_door(&mut self, door: Door) {
        if let Some(home) = &mut self.home {
            let (before, settled) = home.door();
            home.set_door(door.max(before), settled);
        }
    }
}

/// A block that one of its methods uses; the door is set back afterwards, also by a panic.
struct Held<'b> {
    block: &'b mut Block,
    before: Option<(Door, Epoch)>,
}

impl<'b> Held<'b> {
    fn new(block: &'b mut Block, door: Door) -> Self {
        let before = block.home.as_ref().map(Home::door);
        block.set_door(door);
        Held { block, before }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some((before, settled)) = self.before {
            let door = before.max(self.block.resting_door());
            if let Some(home) = &mut self.block.home {
                home.set_door(door, settled);
            }
        }
    }
}

#[cfg(test)]
impl Block {
    /// All bytes, if they are in one piece here.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.parts.whole(self.bytes).map(|whole| whole.bytes())
    }

    /// Lends all of it for reading.
    pub(crate) fn share(&mut self) -> Option<Arc<dyn Storage>> {
        Some(self.share_part(&(0..self.bytes))?.pop()?.1)
    }

    /// Lends all of it for writing.
    pub(crate) fn take(&mut self) -> Option<Arc<dyn Storage>> {
        self.take_part(&(0..self.bytes))
    }

    /// Takes all of it back.
    pub(crate) fn give_back(&mut self, storage: Arc<dyn Storage>) {
        self.give_back_part(0, storage);
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
        // A guard beside it, and one around that.
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
