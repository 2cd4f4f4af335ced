//! The place of a rank's block in memory that its node shares, and the moves of the block away from it.
//!
//! A block *at home* is part of the cache of every rank of the node, without being sent. While a node peer still
//! shows the last load, the owner must not write there. The peer may take long, or may be waiting for this rank. So
//! the owner does not wait: it moves the block to memory of its own and writes there. The next load moves the block
//! back home if all ranks have finished reading by then, or else sends it like a block of another node.
//!
//! A guard that shows a range stops only writes to that range. A block with lent parts moves part by part.

use super::cache::{NodeCache, Slot};
use crate::Element;
use crate::ids::Epoch;
use crate::memory::{Array, LatchMode, Part, Parts, Piece, Reading, SharedCopy, Sharing, Storage};
use aurora_net::Rank;
use std::ops::Range;
use std::sync::Arc;

/// The place of this rank's block, and the whole memory that contains it.
pub(crate) struct Home {
    sharing: Arc<Sharing>,
    whole: Arc<dyn Storage>,
    /// The address at which the place begins, for comparison.
    address: usize,
    /// The place's first byte within the whole.
    start: usize,
    /// The pieces of the place from which the block has moved away.
    vacant: Parts,
    /// The loads that every rank has begun (they are `settled` here), with the bytes of the whole that they show. A
    /// load is left out if a later one shows all of its bytes.
    loads: Vec<(Epoch, Range<usize>)>,
    /// The mode of the block's latch, and its number of completed scopes.
    latch: (LatchMode, Epoch),
    /// No rank holds the latch that its mode does not admit.
    none_holds: bool,
    /// A rank did not release the latch and may still write to the place: it is never used again.
    given_up: bool,
    /// By positions: the partial copies of the ranks, or none.
    copies: Vec<Arc<dyn Storage>>,
    pub(crate) cache: NodeCache,
}

/// Memory shared by all ranks of a node, before a block lies there.
pub(crate) struct Place<T> {
    pub(crate) own: Array<T>,
    /// The byte of the whole at which `own` begins.
    start: usize,
    whole: Array<T>,
    copies: Vec<Arc<dyn Storage>>,
    cache: NodeCache,
    sharing: Arc<Sharing>,
}

impl<T: Element> Place<T> {
    /// The memory of a vector of `len` elements in a job of `ranks` ranks, and this rank's partial copy, if there are
    /// copies. This rank owns `range` and receives `cache`.
    pub(crate) fn new(
        sharing: Sharing,
        range: Range<usize>,
        len: usize,
        (ranks, cache): (usize, impl Iterator<Item = (Rank, Range<usize>)>),
    ) -> (Self, Option<SharedCopy<T>>) {
        let start = range.start * size_of::<T>();
        let (own, whole) = sharing.arrays(range, len);
        let slot = |(owner, range)| -> (Rank, Box<dyn Storage>) { (owner, Box::new(sharing.slot::<T>(range))) };
        let cache = NodeCache::new(ranks, cache.map(slot));
        let (copy, copies) = sharing.copies::<T>(len).map(|copies| (copies.own, copies.all)).unzip();
        let copies = copies.into_iter().flatten().map(|copy| -> Arc<dyn Storage> { Arc::new(copy) }).collect();
        let sharing = Arc::new(sharing);
        let copy = copy.map(|copy| SharedCopy { copy, taken: false, sharing: sharing.clone() });
        (Place { own, start, whole, copies, cache, sharing }, copy)
    }

    pub(crate) fn occupied(self) -> (Array<T>, Home) {
        let (address, whole) = (self.own.bytes().as_ptr().addr(), Arc::new(self.whole));
        let home = Home {
            sharing: self.sharing,
            whole,
            address,
            start: self.start,
            vacant: Parts::default(),
            loads: Vec::new(),
            latch: (LatchMode::Shut, 0),
            none_holds: true,
            given_up: false,
            copies: self.copies,
            cache: self.cache,
        };
        (self.own, home)
    }
}

impl Home {
    /// True if the pieces of a block that are here lie in their place. An empty block is always at home.
    #[inline]
    pub(crate) fn holds(&self, block: &Parts) -> bool {
        block.pieces().iter().all(|piece| self.holds_piece(piece))
    }

    pub(crate) fn holds_range(&self, block: &Parts, range: &Range<usize>) -> bool {
        let found = block.find(range);
        found.is_some_and(|found| block.pieces()[found].iter().all(|piece| self.holds_piece(piece)))
    }

    #[inline]
    fn holds_piece(&self, piece: &Piece) -> bool {
        piece.array.byte_len() == 0 || piece.array.start().addr().get() == self.address + piece.at
    }

    /// The position of the first piece of a range of the block that lies here while another rank reads in the range.
    pub(crate) fn piece_with_readers(&self, block: &Parts, range: &Range<usize>) -> Option<usize> {
        if range.is_empty() || self.is_clear(range) {
            return None;
        }
        block.find(range)?.find(|piece| self.holds_piece(&block.pieces()[*piece]))
    }

    /// A piece of the block moves away, to a copy of it.
    pub(crate) fn vacate(&mut self, piece: &mut Piece, copy: Arc<dyn Storage>) {
        self.vacant.insert(piece.at, std::mem::replace(&mut piece.array, copy));
    }

    /// Moves the block away for good, because a rank does not release its latch. Pieces that a guard holds stay. That
    /// rank was not admitted to write there, and the next writer of such a piece yields to readers.
    fn flee(&mut self, block: &mut Parts) {
        for piece in block.pieces_mut() {
            if !self.holds_piece(piece) || piece.array.byte_len() == 0 {
                continue;
            }
            if let Some(copy) = Arc::get_mut(&mut piece.array).map(|array| array.duplicate_by_words()) {
                self.vacate(piece, copy);
            }
        }
    }

    /// Keeps the memory of a piece that has moved away, if the piece lay in its place.
    pub(crate) fn leave(&mut self, piece: Piece) {
        if self.holds_piece(&piece) {
            self.vacant.insert(piece.at, piece.array);
        }
    }

    /// Before a load: moves the pieces home that nobody holds, if nobody reads there any more.
    pub(crate) fn take_in(&mut self, block: &mut Parts) {
        if self.holds(block) {
            return;
        }
        for piece in block.pieces_mut() {
            let range = piece.range();
            if self.holds_piece(piece) || !piece.is_free() || !self.is_clear(&range) {
                continue;
            }
            self.vacant.cut(&range);
            // A forgotten guard may still hold the array.
            let Some(found) = self.vacant.find(&range).filter(|found| found.len() == 1) else {
                continue;
            };
            let vacant = &mut self.vacant.pieces_mut()[found.start];
            if let Some(place) = Some(&mut vacant.array).filter(|_| vacant.at == range.start).and_then(Arc::get_mut)
                && place.bytes().len() == range.len()
            {
                place.bytes_mut().copy_from_slice(piece.array.bytes());
                piece.array = self.vacant.remove(found).pop().expect("just written to").array;
            }
        }
        self.vacant.join();
        block.join();
    }

    /// A load of these bytes of the whole is `settled`: every rank has begun it.
    pub(crate) fn settled(&mut self, load: Epoch, bytes: Range<usize>) {
        /// More loads than this are merged.
        const LOADS: usize = 16;
        self.loads.retain(|(_, before)| before.start < bytes.start || before.end > bytes.end);
        self.loads.push((load, bytes));
        if self.loads.len() > LOADS {
            let (_, first) = self.loads.remove(0);
            let (_, second) = &mut self.loads[0];
            *second = first.start.min(second.start)..first.end.max(second.end);
        }
    }

    pub(crate) fn load(&self) -> Epoch {
        self.loads.last().map_or(0, |(load, _)| *load)
    }

    /// The last load that shows some of these bytes of the whole.
    fn load_of(&self, bytes: &Range<usize>) -> Epoch {
        let mut loads = self.loads.iter().rev();
        let load = loads.find(|(_, shown)| shown.start < bytes.end && bytes.start < shown.end);
        load.map_or(0, |(load, _)| *load)
    }

    /// Sets the mode of the block's latch. Before this rank uses the block, it must
    /// [`await_holders`](Home::await_holders).
    pub(crate) fn set_latch(&mut self, mode: LatchMode, settled: Epoch) {
        let mode = if self.given_up { LatchMode::GivenUp } else { mode };
        if self.latch != (mode, settled) {
            self.none_holds &= !mode.is_stricter_than(self.latch.0);
            self.latch = (mode, settled);
            self.sharing.set_latch(mode, settled);
        }
    }

    /// Waits until no rank holds the latch that its mode does not admit. If a rank does not release it, gives the
    /// place up: then all pieces that can be moved lie elsewhere.
    pub(crate) fn await_holders(&mut self, block: &mut Parts) {
        let (mode, settled) = self.latch;
        if !self.given_up {
            self.none_holds = self.none_holds || self.sharing.await_holders(mode);
            if self.none_holds {
                return;
            }
            self.given_up = true;
            self.set_latch(LatchMode::GivenUp, settled);
        }
        self.flee(block);
    }

    /// The mode that was set, and the number of completed scopes then.
    pub(crate) fn latch(&self) -> (LatchMode, Epoch) {
        self.latch
    }

    pub(crate) fn sharing(&self) -> &Arc<Sharing> {
        &self.sharing
    }

    /// True if the block of another node may be written to its slot for a load: no rank shows the load before, and no
    /// rank can complete this one without the block.
    pub(crate) fn is_free_for(&self, load: Epoch) -> bool {
        self.sharing.is_clear(self.cache.before(load), &(0..usize::MAX))
    }

    /// The slot of a block of another node that arrives for a load, if it may be written to.
    pub(crate) fn open_slot(&mut self, owner: Rank, load: Epoch) -> Option<&mut Slot> {
        let free = self.is_free_for(load);
        self.cache.slot(owner).filter(|_| free)
    }

    /// The partial copy of the rank at a position, if there are copies, and the byte of it at which this rank's block
    /// begins. To be read only between the message of that rank and [`Sharing::note_fold`].
    pub(crate) fn copy_of(&self, rank: usize) -> Option<(Arc<dyn Storage>, usize)> {
        self.copies.get(rank).map(|copy| (copy.clone(), self.start))
    }

    /// This rank has completed a load for which every block is in its place: shows these bytes of the whole.
    pub(crate) fn show(&self, load: Epoch, bytes: Range<usize>) -> (Part, Option<Reading>) {
        let reading = self.sharing.enter(load, Some(bytes.clone()));
        (self.part(bytes), reading)
    }

    /// This rank has completed a load otherwise. Parts that were `shown` stay shown while the result lives.
    pub(crate) fn pass(&self, load: Epoch, shown: bool) -> Option<Reading> {
        self.sharing.enter(load, shown.then_some(0..usize::MAX))
    }

    /// A part of the whole that is final for a load which this rank has announced and not completed. Until it
    /// completes the load, nobody writes there.
    pub(crate) fn part(&self, bytes: Range<usize>) -> Part {
        Part::of_shared(&self.whole, bytes)
    }

    /// True if no rank shows these bytes of this rank's block, or can show them before the next load. False once given
    /// up.
    pub(crate) fn is_clear(&self, range: &Range<usize>) -> bool {
        if self.given_up {
            return false;
        }
        let bytes = self.start + range.start..self.start + range.end;
        self.sharing.is_clear(self.load_of(&bytes), &bytes)
    }
}
