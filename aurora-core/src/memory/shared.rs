//! A vector's memory on one node: one segment with every rank's block in its place, so that the whole *is* the cache
//! of all ranks. The segment begins with words of each rank, for the [gate](super::gate), the [latches](super::latch)
//! and node barriers. Then come the partial copies of the ranks, unless they are too large, and the elements.
//!
//! Why the unsafe code is sound:
//!
//! 1. A segment never changes its length and stays mapped as long as a handle to it exists. Each array holds one.
//! 2. Its first bytes are those words: atomics, valid with all bits zero. They are written only as such.
//! 3. The elements of a block are written by one rank, its owner or the rank that receives it from another node,
//!    through the one array over them ([`Sharing::arrays`], [`Sharing::slot`]). An owner writes while its latch keeps
//!    others out. Other ranks write words while they hold that latch ([`Direct`]). If a rank does not release the
//!    latch, the owner copies words from there once and never returns. All ranks write only while the gate is clear
//!    of the bytes that they write: the writer tests [`Sharing::is_clear`] between two loads of its own rank. A rank
//!    that receives a block for a load writes it before any rank can complete that load.
//! 4. The whole is shown only between [`Sharing::enter`] with `reads` and the drop of the [`Reading`], and only those
//!    bytes of it. It is copied from only before `enter`, within the load. By invariant 3 nobody writes there then.
//! 5. All bytes of a new segment are zero, which is a value of every [`Element`]. Each copy begins at a page, which is
//!    aligned for its elements ([`Sharing::suits`]), and the elements a multiple of their alignment behind one
//!    ([`offset_in_page`]).
//! 6. A partial copy is written by its rank alone, through the one array over it ([`Copies::own`]), between
//!    [`Sharing::is_folded`] and [`Sharing::publish`]. It is read through [`Copies::all`] only between the message of
//!    its rank, which comes after `publish`, and [`Sharing::note_fold`] (`folds.rs`).
#![allow(unsafe_code)]

use super::array::Array;
use super::direct::Direct;
use super::folds::Unfolded;
use super::gate;
use super::holder_timeout::{HolderTimeout, HolderWait};
use super::latch::{self, Attempt, Intent, LatchMode, Latches};
use super::permit::Permit;
use crate::Element;
use crate::ids::{Epoch, ObjectId};
use aurora_net::{BarrierEntry, BarrierMemory, BarrierState, Node, Rank, Segment};
use std::hint;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

const PAGE: usize = 4096;

/// The words that one rank writes. Words of different ranks, and words that are written often, have own cache lines.
#[derive(Debug, Default)]
#[repr(C)]
struct RankWords {
    gate: gate::Entry<AtomicU64>,
    latch: Line<LatchWords>,
    held: Line<AtomicU64>,
    /// Not 0: a rank has written to this block while it held the latch.
    written: Line<AtomicU64>,
    barrier: BarrierWords,
    asleep: Line<AtomicU64>,
    unfolded: Line<Unfolded<AtomicU64>>,
}

/// The latch of a rank's block: its mode, and the times that the rank has admitted readers again.
#[derive(Debug, Default)]
#[repr(C)]
struct LatchWords {
    mode: AtomicU64,
    openings: AtomicU64,
}

/// A rank's words at a barrier of the node.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct BarrierWords {
    number: AtomicU64,
    words: [AtomicU64; 2],
}

/// On cache lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(super) struct Line<A>(pub(super) A);

/// A barrier of the ranks of a node about one vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierRound {
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) word: u64,
}

#[derive(Debug)]
pub(crate) struct Sharing {
    segment: Segment,
    node: Arc<Node>,
    holder_timeout: Arc<HolderTimeout>,
    me: usize,
    ranks: usize,
    layout: Layout,
}

/// The parts of a segment behind the words of the ranks.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The bytes between the starts of two partial copies; `None`: there are none.
    copies: Option<usize>,
    /// The first byte of the elements.
    elements: usize,
}

impl Layout {
    /// For `ranks` ranks and `bytes` of elements, which begin `offset` behind a page. `None` on overflow.
    fn new(ranks: usize, bytes: usize, offset: usize) -> Option<Self> {
        /// Fewer bytes travel in a message.
        const LEAST: usize = 4 << 10;
        /// Bytes of all copies: they only take addresses until they are used, but these may be limited too.
        const MOST: usize = 64 << 20;
        const HUGE_PAGE: usize = 2 << 20;
        let words = words_len(ranks);
        let copy = bytes.checked_next_multiple_of(PAGE)?;
        let all = copy.checked_mul(ranks).filter(|all| bytes >= LEAST && ranks > 1 && *all <= MOST);
        let Some(all) = all else {
            return Some(Layout { copies: None, elements: words + offset });
        };
        // A block that may be in huge pages shares none with a copy.
        let page = if bytes < HUGE_PAGE / 2 { PAGE } else { HUGE_PAGE };
        Some(Layout { copies: Some(copy), elements: (words + all).next_multiple_of(page) + offset })
    }
}

/// The distance from a page to the first element of an object's vector of `bytes`: different ones for objects made one
/// after the other. A loop that reads one vector and writes another takes up to 1.4 times as long if both begin at the
/// same place of a page: processors compare the last 12 bits of addresses to find out if a load needs an earlier store.
/// Long vectors, for which such a loop waits for memory, begin at a page: copies of them are 5 % faster.
pub(crate) fn offset_in_page<T>(object: ObjectId, bytes: usize) -> usize {
    /// A cache line. 64 objects made one after the other have different offsets.
    const LINE: usize = 64;
    const STEP: u64 = 37;
    const LONG: usize = 16 << 20;
    let suits = bytes < LONG && LINE.is_multiple_of(align_of::<T>());
    if suits { (object.0 * STEP) as usize % (PAGE / LINE) * LINE } else { 0 }
}

/// The arrays over the partial copies of the ranks of a node.
pub(crate) struct Copies<T> {
    /// This rank's, to be written by invariant 6.
    pub(crate) own: Array<T>,
    /// By positions, to be read by invariant 6.
    pub(crate) all: Vec<Array<T>>,
}

/// This rank's partial copy, for a guard.
pub(crate) struct SharedCopy<T> {
    /// Written while the copy [is folded](Sharing::is_folded). Empty while a guard has it.
    pub(crate) copy: Array<T>,
    /// The system has given its memory.
    pub(crate) taken: bool,
    pub(crate) sharing: Arc<Sharing>,
}

impl Sharing {
    pub(crate) fn suits<T: Element>() -> bool {
        align_of::<T>() <= PAGE
    }

    /// Bytes of the segment for `bytes` of elements with this [offset](offset_in_page); `None` on overflow.
    pub(crate) fn segment_len(ranks: usize, bytes: usize, offset: usize) -> Option<usize> {
        Layout::new(ranks, bytes, offset)?.elements.checked_add(bytes)
    }

    /// Uses a new segment of [`Sharing::segment_len`], for `bytes` of elements with this offset and the rank at
    /// position `me` of its node.
    pub(crate) fn new(
        segment: Segment,
        (bytes, offset): (usize, usize),
        node: Arc<Node>,
        me: usize,
        holder_timeout: Arc<HolderTimeout>,
    ) -> Self {
        let ranks = node.ranks().len();
        let layout = Layout::new(ranks, bytes, offset).expect("as for the length of the segment");
        assert!(me < ranks && segment.len() == layout.elements + bytes, "a segment that its contents do not fit");
        Sharing { segment, node, holder_timeout, me, ranks, layout }
    }

    /// The array over this rank's block, the elements `range`, and the array over all `len` elements. To be called
    /// once. The first is written by invariant 3. The second is shown by invariant 4, never written.
    pub(crate) fn arrays<T: Element>(&self, range: Range<usize>, len: usize) -> (Array<T>, Array<T>) {
        assert!(range.end <= len, "a block outside its vector");
        (self.part(range), self.part(0..len))
    }

    /// The array over the slot of a block that this rank receives from another node. To be called once.
    pub(crate) fn slot<T: Element>(&self, range: Range<usize>) -> Array<T> {
        self.part(range)
    }

    /// The arrays over the partial copies of `len` elements, if the segment has them. To be called once.
    pub(crate) fn copies<T: Element>(&self, len: usize) -> Option<Copies<T>> {
        let distance = self.layout.copies?;
        assert!(Self::suits::<T>() && len * size_of::<T>() <= distance, "a copy as long as its vector");
        // SAFETY: invariants 1, 5 and 6: inside the segment, before the elements.
        let copy = |rank| unsafe { Array::over(self.segment.clone(), words_len(self.ranks) + rank * distance, len) };
        Some(Copies { own: copy(self.me), all: (0..self.ranks).map(copy).collect() })
    }

    /// True if all owners have folded this rank's partial copy.
    pub(crate) fn is_folded(&self) -> bool {
        self.words(self.me).unfolded.0.is_free()
    }

    /// This rank's partial copy is final; all ranks of the node fold it.
    pub(crate) fn publish(&self) {
        self.words(self.me).unfolded.0.publish(self.ranks);
    }

    /// This rank has folded the partial copy of the rank at a position.
    pub(crate) fn note_fold(&self, rank: usize) {
        self.words(rank).unfolded.0.note_fold();
    }

    /// Collective over the node's ranks. Arrives at the next barrier of this vector: [`Node::arrive_at`].
    pub(crate) fn arrive(&self, BarrierRound { number, word }: BarrierRound) -> BarrierState {
        self.node.arrive_at(self, number, word)
    }

    /// Waits a very short time for the other ranks: [`Node::spin_at`].
    pub(crate) fn spin(&self, round: BarrierRound) -> BarrierState {
        self.node.spin_at(self, round.number)
    }

    pub(crate) fn poll(&self, round: BarrierRound) -> BarrierState {
        self.node.poll_at(self, round.number)
    }

    /// The ranks that have not arrived.
    pub(crate) fn absent(&self, round: BarrierRound) -> Vec<Rank> {
        self.node.absent_at(self, round.number)
    }

    /// This rank has completed `load`. It shows the bytes `reads` of the shared elements until the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>, load: Epoch, reads: Option<Range<usize>>) -> Option<Reading> {
        let shows = reads.is_some();
        self.words(self.me).gate.enter(load, reads);
        shows.then(|| Reading { sharing: self.clone() })
    }

    #[inline]
    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// True if all ranks have completed `load`, the last load of these shared bytes, and none shows any of them.
    pub(crate) fn is_clear(&self, load: Epoch, bytes: &Range<usize>) -> bool {
        (0..self.ranks).all(|rank| self.words(rank).gate.is_clear(load, bytes))
    }

    /// Access to single elements; this rank owns `range`. `positions` on this node by rank; else any other number.
    pub(crate) fn direct<T: Element>(
        self: &Arc<Self>,
        permit: Arc<Permit>,
        range: Range<usize>,
        len: usize,
        positions: Box<[u32]>,
    ) -> Direct<T> {
        let (own, whole) = (self.start::<T>(&range), self.start::<T>(&(0..len)));
        // SAFETY: invariants 1 and 5 of this module; the block's owner keeps its permit as `direct/` says.
        let mut direct = unsafe { Direct::new(permit, own, range) };
        // SAFETY: as above.
        unsafe { direct.share(whole, len, self.clone(), positions) };
        direct
    }

    /// Sets the mode by which other ranks may use this rank's block. Before this rank uses its block, it
    /// [waits](Sharing::await_holders) for holders that the mode does not admit.
    pub(crate) fn set_latch(&self, mode: LatchMode, settled: Epoch) {
        latch::set(self, self.me, mode, settled);
    }

    /// Waits until no rank holds this rank's latch that `mode`, which is set, does not admit. False: a rank still
    /// holds it and may continue at any time.
    pub(crate) fn await_holders(&self, mode: LatchMode) -> bool {
        let (mut from, mut looks, mut none_holds) = (0, 0_u32, true);
        let mut wait = HolderWait::default();
        while let Some(rank) = latch::holder(self, self.me, mode, from) {
            looks += 1;
            if looks < 1000 {
                hint::spin_loop();
                continue;
            }
            thread::yield_now();
            // Each time: if other threads want the core, a yield lasts for milliseconds, and of a long pause little
            // counts.
            let waited = wait.waited_for(rank, Instant::now());
            if !looks.is_multiple_of(8) {
                continue;
            }
            let has_ended = self.node.has_ended(rank);
            if has_ended || !self.node.notes_ends() || self.holder_timeout.is_over(self.node.ranks()[rank], waited) {
                none_holds &= has_ended;
                // No rank before this one can hold the latch any more.
                from = rank + 1;
            }
        }
        none_holds
    }

    /// True if a rank holds this rank's latch at this moment, or is trying to acquire it.
    pub(crate) fn has_holders(&self) -> bool {
        latch::holder(self, self.me, LatchMode::Shut, 0).is_some()
    }

    /// Acquires the latch of the owner at this position, or of all, to [release](Sharing::release_latch) it soon.
    #[inline]
    pub(super) fn acquire_latch(&self, owner: Option<usize>, intent: Intent, epoch: Epoch) -> Attempt {
        latch::acquire(self, self.me, owner, intent, epoch)
    }

    /// Releases the latch. False: an owner has given its place up meanwhile.
    #[inline]
    #[must_use]
    pub(super) fn release_latch(&self, owner: Option<usize>) -> bool {
        latch::release(self, self.me, owner)
    }

    /// The times that the owner has admitted readers again. Called while its latch is held.
    #[inline]
    pub(super) fn openings(&self, owner: usize) -> u64 {
        latch::openings(self, owner)
    }

    /// Releases all latches that this rank holds, during a panic.
    pub(super) fn abandon(&self) {
        latch::abandon(self, self.me);
    }

    /// The block of `owner` has changed. Called while its latch is held.
    #[inline]
    pub(super) fn note_write(&self, owner: usize) {
        let written = &self.words(owner).written.0;
        if written.load(Ordering::Relaxed) == 0 {
            written.store(1, Ordering::Relaxed);
        }
    }

    /// True if another rank has written to our block by its latch since the last call.
    pub(crate) fn take_written(&self) -> bool {
        self.words(self.me).written.0.swap(0, Ordering::Relaxed) != 0
    }

    #[inline]
    fn words(&self, rank: usize) -> &RankWords {
        assert!(rank < self.ranks);
        let all = self.segment.as_ptr().cast::<RankWords>();
        // SAFETY: invariants 1 and 2: inside the segment.
        let words = unsafe { all.add(rank) };
        // SAFETY: as above, and a segment is page-aligned.
        unsafe { &*words }
    }

    fn part<T: Element>(&self, range: Range<usize>) -> Array<T> {
        let at = self.offset::<T>(&range);
        // SAFETY: invariants 1 and 3 to 5; inside the segment.
        unsafe { Array::over(self.segment.clone(), at, range.len()) }
    }

    fn start<T: Element>(&self, range: &Range<usize>) -> NonNull<T> {
        let at = self.offset::<T>(range);
        // SAFETY: invariant 1: inside the segment.
        NonNull::new(unsafe { self.segment.as_ptr().add(at) }.cast()).expect("nothing is mapped at null")
    }

    fn offset<T: Element>(&self, range: &Range<usize>) -> usize {
        let size = size_of::<T>();
        let end = range.end.checked_mul(size).and_then(|end| end.checked_add(self.layout.elements));
        assert!(Self::suits::<T>() && end.is_some_and(|end| end <= self.segment.len()), "a part outside its segment");
        self.layout.elements + range.start * size
    }
}

/// While it lives, a guard shows the shared memory. If it is forgotten, writers move their blocks away for good.
#[derive(Debug)]
pub(crate) struct Reading {
    sharing: Arc<Sharing>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.sharing.words(self.sharing.me).gate.leave();
    }
}

impl Latches for Sharing {
    type Word = AtomicU64;

    #[inline]
    fn ranks(&self) -> usize {
        self.ranks
    }

    #[inline]
    fn latch(&self, rank: usize) -> &AtomicU64 {
        &self.words(rank).latch.0.mode
    }

    #[inline]
    fn openings(&self, rank: usize) -> &AtomicU64 {
        &self.words(rank).latch.0.openings
    }

    #[inline]
    fn held(&self, rank: usize) -> &AtomicU64 {
        &self.words(rank).held.0
    }
}

impl BarrierMemory for Sharing {
    fn entry(&self, rank: usize, entry: BarrierEntry) -> &AtomicU64 {
        let words = self.words(rank);
        match entry {
            BarrierEntry::Number => &words.barrier.number,
            BarrierEntry::Word(number) => &words.barrier.words[(number % 2) as usize],
            BarrierEntry::Asleep => &words.asleep.0,
        }
    }
}

fn words_len(ranks: usize) -> usize {
    (ranks * size_of::<RankWords>()).next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn vectors_made_one_after_the_other_begin_at_different_places_of_a_page() {
        let offset = |id| offset_in_page::<u64>(ObjectId(id), 1000);
        let offsets: BTreeSet<_> = (7..71).map(offset).collect();
        assert!(offsets.len() == 64 && offsets.iter().all(|offset| *offset < PAGE));
        assert!((1..200).all(|id| (1024..=PAGE - 1024).contains(&offset(id).abs_diff(offset(id + 1)))));
        assert_eq!(offset_in_page::<u64>(ObjectId(7), 64 << 20), 0);
    }

    #[test]
    fn elements_are_aligned_also_to_more_than_a_cache_line() {
        #[repr(align(4096))]
        struct Page(#[allow(dead_code, reason = "only its alignment matters")] [u8; 4096]);
        #[repr(align(64))]
        struct Line(#[allow(dead_code, reason = "only its alignment matters")] [u8; 64]);
        for id in (1..100).map(ObjectId) {
            assert!(offset_in_page::<Page>(id, 8192) == 0 && offset_in_page::<Line>(id, 640).is_multiple_of(64));
        }
    }
}
