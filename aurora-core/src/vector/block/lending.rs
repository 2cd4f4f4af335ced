//! Lending of a block: ranges, cut off from the rest, to guards of this rank; all of it to transfers.

use super::Block;
use crate::memory::{LatchMode, Parts, Storage};
use std::ops::Range;
use std::sync::Arc;

impl Block {
    /// True if a guard holds some of the block.
    pub(crate) fn is_lent(&self) -> bool {
        !self.is_all_here() || self.parts.pieces().iter().any(|piece| Arc::strong_count(&piece.array) > 1)
    }

    /// Lends a range for reading: the pieces that contain it, each with its start. If other guards hold pieces that
    /// reach beyond the range, lends a copy: a guard that held more than it shows would block writes to the rest.
    pub(crate) fn share_part(&mut self, range: &Range<usize>) -> Option<Vec<(usize, Arc<dyn Storage>)>> {
        self.set_latch(LatchMode::ReadOnly);
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

    /// Lends a range for writing, which [is writable](Block::is_writable).
    pub(crate) fn take_part(&mut self, range: &Range<usize>) -> Option<Arc<dyn Storage>> {
        if !self.is_here(range) {
            return None;
        }
        self.set_latch(LatchMode::Shut);
        self.parts.join();
        self.parts.cut(range);
        self.begin_leaving_anew();
        let found = self.parts.find(range)?;
        let mut taken = self.parts.remove(found);
        if taken.len() > 1 {
            // The pieces lie in different places.
            let contents: Vec<_> = taken.iter().map(|piece| piece.array.bytes()).collect();
            let one = taken[0].array.gathered(&contents);
            if let Some(home) = &mut self.home {
                taken.drain(..).for_each(|piece| home.leave(piece));
            }
            return Some(one);
        }
        taken.pop().map(|piece| piece.array)
    }

    pub(crate) fn give_back_part(&mut self, at: usize, storage: Arc<dyn Storage>) {
        self.version += 1;
        self.parts.insert(at, storage);
    }

    /// Joins the pieces that were cut for ended guards, and brings the block into one place again.
    pub(crate) fn mend(&mut self) {
        if self.parts.pieces().len() < 2 {
            return;
        }
        self.parts.join();
        // Only a block with a place can have moved away from it.
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

    /// From now on a transfer reads the block. Nothing of it is lent for writing.
    pub(crate) fn lend_to_transfer(&mut self) {
        self.in_flight += 1;
        self.set_latch(LatchMode::ReadOnly);
    }

    /// A transfer has ended.
    pub(crate) fn back_from_transfer(&mut self) {
        self.in_flight -= 1;
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight > 0
    }

    /// A copy, from which all transfers continue.
    pub(crate) fn take_from_transfers(&mut self) -> Option<Arc<dyn Storage>> {
        let contents = self.parts.bytes(&(0..self.bytes))?;
        let copy = self.parts.pieces().first()?.array.gathered(&contents);
        self.in_flight = 0;
        Some(copy)
    }
}

#[cfg(test)]
impl Block {
    /// All bytes, if they are in one piece here.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.parts.whole(self.bytes).map(|whole| whole.bytes())
    }

    pub(crate) fn share(&mut self) -> Option<Arc<dyn Storage>> {
        Some(self.share_part(&(0..self.bytes))?.pop()?.1)
    }

    pub(crate) fn take(&mut self) -> Option<Arc<dyn Storage>> {
        self.take_part(&(0..self.bytes))
    }

    pub(crate) fn give_back(&mut self, storage: Arc<dyn Storage>) {
        self.give_back_part(0, storage);
    }
}
