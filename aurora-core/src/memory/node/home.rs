//! A block's place in memory that the ranks of its node share, and when it has to be elsewhere.
//!
//! A block that lies *at home* is part of everyone's cache without having been sent. While a node peer still shows the
//! last load, its owner must not write there; instead of waiting for the node peer, which may take long or be waiting
//! for us, it moves the block to memory of its own and writes there. The next load brings it home again, if all have
//! finished reading by then, or else sends it like a block of another node.
//!
//! Who shows a range of the vector is in the way of those only who write there. A block of which parts are lent moves
//! part by part.

use super::cache::{NodeCache, Slot};
use crate::element::Element;
use crate::ids::Epoch;
use crate::memory::{Array, Direct, LatchMode, Part, Parts, Permit, Piece, Reading, Sharing, Storage};
use aurora_net::Rank;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a writer hopes that the readers are about to leave, before it copies its block. Nothing else is served
/// meanwhile.
const PATIENCE: Duration = Duration::from_micros(50);

/// Our block's place, and the whole that it is part of.
pub(crate) struct Home {
    sharing: Arc<Sharing>,
    whole: Arc<dyn Storage>,
    /// Where it begins, to be compared.
    address: usize,
    /// The same, in bytes of the whole.
    start: usize,
    /// The pieces of our place from which the block has moved.
    vacant: Parts,
    /// The loads that are settled here, and what they show, in bytes of the whole: everyone has begun them. Those that
    /// show nothing besides what a later one shows are left out.
    loads: Vec<(Epoch, Range<usize>)>,
    /// How the ranks that share the memory may use our block, and what of it they know to be settled.
    latch: (LatchMode, Epoch),
    /// Nobody holds the latch whom its mode does not admit.
    none_holds: bool,
    /// Somebody did not leave, and may go on in there at any time: our place is used no more.
    given_up: bool,
    /// The blocks of other nodes.
    pub(crate) cache: NodeCache,
}

/// Memory shared by all ranks of a node, before anything lies there.
pub(crate) struct Place<T> {
    /// For our block.
    pub(crate) own: Array<T>,
    /// The byte of the whole at which that begins.
    start: usize,
    whole: Array<T>,
    cache: NodeCache,
    sharing: Sharing,
}

impl<T: Element> Place<T> {
    /// For a vector of `len` elements, of which we own `range`, and receive the blocks of other nodes that are given
    /// with their owners, of so many `ranks`.
    pub(crate) fn new(
        sharing: Sharing,
        range: Range<usize>,
        len: usize,
        (ranks, cache): (usize, impl Iterator<Item = (Rank, Range<usize>)>),
    ) -> Self {
        let start = range.start * size_of::<T>();
        let (own, whole) = sharing.arrays(range, len);
        let slot = |(owner, range)| -> (Rank, Box<dyn Storage>) { (owner, Box::new(sharing.slot::<T>(range))) };
        let cache = NodeCache::new(ranks, cache.map(slot));
        Place { own, start, whole, cache, sharing }
    }

    /// With our block in it.
    pub(crate) fn occupied(self) -> (Array<T>, Home) {
        let (address, whole) = (self.own.bytes().as_ptr().addr(), Arc::new(self.whole));
        let (sharing, cache, latch) = (Arc::new(self.sharing), self.cache, (LatchMode::Shut, 0));
        let (start, vacant, loads) = (self.start, Parts::default(), Vec::new());
        (
            self.own,
            Home { sharing, whole, address, start, vacant, loads, latch, none_holds: true, given_up: false, cache },
        )
    }
}

impl Home {
    /// Whether what is here of a block lies in its place. An empty one is at home everywhere.
    #[inline]
    pub(crate) fn holds(&self, block: &Parts) -> bool {
        block.pieces().iter().all(|piece| self.holds_piece(piece))
    }

    /// The same of a range of it.
    pub(crate) fn holds_range(&self, block: &Parts, range: &Range<usize>) -> bool {
        let found = block.find(range);
        found.is_some_and(|found| block.pieces()[found].iter().all(|piece| self.holds_piece(piece)))
    }

    #[inline]
    fn holds_piece(&self, piece: &Piece) -> bool {
        piece.array.byte_len() == 0 || piece.array.start().addr().get() == self.address + piece.at
    }

    /// Before a write to a range of the block: leaves the place to those who read there.
    pub(crate) fn yield_to_readers(&mut self, block: &mut Parts, range: &Range<usize>) {
        let pieces = block.find(range).unwrap_or_default();
        for piece in &mut block.pieces_mut()[pieces] {
            if !self.holds_piece(piece) || piece.array.byte_len() == 0 || self.becomes_clear(range) {
                continue;
            }
            let copy = piece.array.duplicate();
            self.vacant.insert(piece.at, std::mem::replace(&mut piece.array, copy));
        }
    }

    /// Leaves the place for good, because a rank does not release its latch: with what nobody holds of the block. What
    /// a guard shows stays; nobody was let in to write there, and who writes there next yields.
    fn flee(&mut self, block: &mut Parts) {
        for piece in block.pieces_mut() {
            if !self.holds_piece(piece) || piece.array.byte_len() == 0 {
                continue;
            }
            if let Some(copy) = Arc::get_mut(&mut piece.array).map(|array| array.duplicate_by_words()) {
                self.vacant.insert(piece.at, std::mem::replace(&mut piece.array, copy));
            }
        }
    }

    /// A piece of the block has moved away, or lay elsewhere.
    pub(crate) fn leave(&mut self, piece: Piece) {
        if self.holds_piece(&piece) {
            self.vacant.insert(piece.at, piece.array);
        }
    }

    /// Before a load: brings home what nobody holds of a block, if nobody reads there any more.
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
            // A guard that was forgotten may still hold the array.
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

    /// A load of these bytes of the whole is settled: everyone has begun it.
    pub(crate) fn settled(&mut self, load: Epoch, bytes: Range<usize>) {
        /// More are taken together.
        const LOADS: usize = 16;
        self.loads.retain(|(_, before)| before.start < bytes.start || before.end > bytes.end);
        self.loads.push((load, bytes));
        if self.loads.len() > LOADS {
            let (_, first) = self.loads.remove(0);
            let (_, second) = &mut self.loads[0];
            *second = first.start.min(second.start)..first.end.max(second.end);
        }
    }

    /// The last one.
    pub(crate) fn load(&self) -> Epoch {
        self.loads.last().map_or(0, |(load, _)| *load)
    }

    /// The last one that shows some of these bytes of the whole.
    fn load_of(&self, bytes: &Range<usize>) -> Epoch {
        let mut loads = self.loads.iter().rev();
        let load = loads.find(|(_, shown)| shown.start < bytes.end && bytes.start < shown.end);
        load.map_or(0, |(load, _)| *load)
    }

    /// Sets the mode of the block's latch. Before the block is used, [those it does not admit](Home::await_holders)
    /// must have released it.
    pub(crate) fn set_latch(&mut self, mode: LatchMode, settled: Epoch) {
        let mode = if self.given_up { LatchMode::GivenUp } else { mode };
        if self.latch != (mode, settled) {
            self.none_holds &= !mode.is_stricter_than(self.latch.0);
            self.latch = (mode, settled);
            self.sharing.set_latch(mode, settled);
        }
    }

    /// Waits until nobody holds the latch whom its mode does not admit. Where a rank does not release it, the place is
    /// given up: what can be of the block lies elsewhere then.
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

    /// Whether a rank holds the latch at this moment.
    pub(crate) fn has_holders(&self) -> bool {
        self.sharing.has_holders()
    }

    /// How it was set, and what was settled then.
    pub(crate) fn latch(&self) -> (LatchMode, Epoch) {
        self.latch
    }

    /// Whether others have written to our block by themselves since this was asked last.
    pub(crate) fn take_written(&self) -> bool {
        self.sharing.take_written()
    }

    /// The memory itself.
    pub(crate) fn sharing(&self) -> &Arc<Sharing> {
        &self.sharing
    }

    /// Single elements of a vector of `len`, of which `range` is our block, where ranks have these `positions`.
    pub(crate) fn direct<T: Element>(
        &self,
        permit: Arc<Permit>,
        range: Range<usize>,
        len: usize,
        positions: Box<[u32]>,
    ) -> Direct<T> {
        self.sharing.direct(permit, range, len, positions)
    }

    /// Whether the block of another node can be written to its slot, for a load: nobody shows the one before, and this
    /// one nobody can complete without it.
    pub(crate) fn is_free_for(&self, load: Epoch) -> bool {
        self.sharing.is_clear(self.cache.before(load), &(0..usize::MAX))
    }

    /// The slot of a block of another node that comes for a load, if it can be written to.
    pub(crate) fn open_slot(&mut self, owner: Rank, load: Epoch) -> Option<&mut Slot> {
        let free = self.is_free_for(load);
        self.cache.slot(owner).filter(|_| free)
    }

    /// This rank has completed a load by which every block is in its place: shows these bytes of the whole.
    pub(crate) fn show(&self, load: Epoch, bytes: Range<usize>) -> (Part, Option<Reading>) {
        let reading = self.sharing.enter(load, Some(bytes.clone()));
        (self.part(bytes), reading)
    }

    /// It has completed it. If it has shown parts of these, it does so as long as what comes back lives.
    pub(crate) fn pass(&self, load: Epoch, shown: bool) -> Option<Reading> {
        self.sharing.enter(load, shown.then_some(0..usize::MAX))
    }

    /// A part of the whole that is final for a load which this rank has announced and not completed: until then nobody
    /// writes there.
    pub(crate) fn part(&self, bytes: Range<usize>) -> Part {
        Part::of_shared(&self.whole, bytes)
    }

    /// Whether nobody shows these bytes of our block, nor will before the next load, and no rank may still hold its
    /// latch.
    pub(crate) fn is_clear(&self, range: &Range<usize>) -> bool {
        if self.given_up {
            return false;
        }
        let bytes = self.start + range.start..self.start + range.end;
        self.sharing.is_clear(self.load_of(&bytes), &bytes)
    }

    fn becomes_clear(&self, range: &Range<usize>) -> bool {
        if self.given_up || self.is_clear(range) {
            return !self.given_up;
        }
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            thread::yield_now();
            if self.is_clear(range) {
                return true;
            }
        }
        false
    }
}
