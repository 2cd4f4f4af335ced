//! A vector's memory on one node: one segment with every rank's block in its place, so that the whole of it *is* the cache of
//! all ranks.
//!
//! The segment begins with the seats of the [gate](super::gate), one for each rank; the elements follow from a new page on.
//!
//! Why the unsafe code is sound:
//!
//! 1. A segment never changes its length and stays mapped as long as a handle to it exists; each array over it holds one.
//! 2. Its first bytes are seats, which are atomics and valid with all bits zero; nobody writes there otherwise.
//! 3. The elements of a block are written by one rank alone, its owner or the one that receives it from another node, through
//!    the one array over them ([`Sharing::arrays`], [`Sharing::room`]), and only while the gate is clear:
//!    [`Sharing::is_clear`], tested by whoever writes, under the lock under which loads are announced. Who receives a
//!    block for a load writes before anybody can complete that load.
//! 4. The whole is shown only between [`Sharing::enter`] with `reads` and the drop of what it returns, and copied from only before
//!    `enter`; by invariant 3 nobody writes then.
//! 5. All bytes of a new segment are zero, which is a value of every [`Element`]; the page that elements begin at is
//!    aligned for them ([`Sharing::suits`]).
#![allow(unsafe_code)]

use super::array::Array;
use super::gate::Seat;
use crate::element::Element;
use crate::message::Epoch;
use aurora_net::Segment;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const PAGE: usize = 4096;

type Place = Seat<AtomicU64>;

/// One vector's memory on one node, as one of its ranks sees it.
#[derive(Debug)]
pub(crate) struct Sharing {
    segment: Segment,
    /// This rank's seat, by its position on the node.
    me: usize,
    ranks: usize,
}

impl Sharing {
    /// Whether elements of this type can lie in a segment.
    pub(crate) fn suits<T: Element>() -> bool {
        align_of::<T>() <= PAGE
    }

    /// Bytes of the segment for `bytes` of elements; `None` where that is no number.
    pub(crate) fn segment_len(ranks: usize, bytes: usize) -> Option<usize> {
        seats_len(ranks).checked_add(bytes)
    }

    /// Over a new segment of [`Sharing::segment_len`] bytes, for the rank at position `me` of the `ranks` of its node.
    pub(crate) fn new(segment: Segment, me: usize, ranks: usize) -> Self {
        assert!(me < ranks && segment.len() >= seats_len(ranks), "a segment that its seats do not fit");
        Sharing { segment, me, ranks }
    }

    /// The arrays over this rank's block, the elements `range`, and over all `len` elements. To be asked for once. The first is
    /// written to by the rules of invariant 3, the second shown and copied from by those of invariant 4, and never
    /// written to.
    pub(crate) fn arrays<T: Element>(&self, range: Range<usize>, len: usize) -> (Array<T>, Array<T>) {
        assert!(range.end <= len, "a block outside its vector");
        (self.part(range), self.part(0..len))
    }

    /// The array over the place of a block of another node that this rank receives. To be asked for once, and only by that rank.
    pub(crate) fn room<T: Element>(&self, range: Range<usize>) -> Array<T> {
        self.part(range)
    }

    /// This rank has completed a load. If it `reads`, it shows the shared memory until what comes back is dropped.
    pub(crate) fn enter(self: &Arc<Self>, load: Epoch, reads: bool) -> Option<Reading> {
        self.seat(self.me).enter(load, reads);
        reads.then(|| Reading { sharing: self.clone() })
    }

    /// Whether all ranks have completed `load`, and none shows the shared memory.
    pub(crate) fn is_clear(&self, load: Epoch) -> bool {
        (0..self.ranks).all(|rank| self.seat(rank).is_clear(load))
    }

    fn seat(&self, rank: usize) -> &Place {
        assert!(rank < self.ranks);
        let seats = self.segment.as_ptr().cast::<Place>();
        // SAFETY: invariants 1 and 2: inside the segment.
        let seat = unsafe { seats.add(rank) };
        // SAFETY: as above, and a segment is page-aligned.
        unsafe { &*seat }
    }

    fn part<T: Element>(&self, range: Range<usize>) -> Array<T> {
        let size = size_of::<T>();
        let end = range.end.checked_mul(size).and_then(|end| end.checked_add(seats_len(self.ranks)));
        assert!(Self::suits::<T>() && end.is_some_and(|end| end <= self.segment.len()), "a part outside its segment");
        // SAFETY: invariants 1 and 3 to 5; just compared with the length.
        unsafe { Array::over(self.segment.clone(), seats_len(self.ranks) + range.start * size, range.len()) }
    }
}

/// As long as it lives, a guard shows the shared memory. One that is forgotten keeps everyone from writing there, for good:
/// they write elsewhere.
#[derive(Debug)]
pub(crate) struct Reading {
    sharing: Arc<Sharing>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.sharing.seat(self.sharing.me).leave();
    }
}

fn seats_len(ranks: usize) -> usize {
    (ranks * size_of::<Place>()).next_multiple_of(PAGE)
}
