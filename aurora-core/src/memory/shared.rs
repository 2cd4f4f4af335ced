//! A vector's memory on one node: one segment with every rank's block in its place, so that the whole of it *is* the
//! cache of all ranks.
//!
//! The segment begins with words of each rank: at the [gate](super::gate), at the [latches](super::latch) and at node
//! barriers; the elements follow from a new page on.
//!
//! Why the unsafe code is sound:
//!
//! 1. A segment never changes its length and stays mapped as long as a handle to it exists; each array over it holds
//!    one.
//! 2. Its first bytes are those words, which are atomics and valid with all bits zero; nobody writes there otherwise.
//! 3. The elements of a block are written by one rank alone, its owner or the one that receives it from another node,
//!    through the one array over them ([`Sharing::arrays`], [`Sharing::slot`]); of an owner's, while its latch keeps
//!    others out, and by ranks that hold that latch, as words ([`Direct`]). Where a rank does not release it, the owner
//!    copies words from there once and never comes back. All of it only while the gate is clear of the bytes that are
//!    written: [`Sharing::is_clear`], tested by whoever writes, between two loads of its own rank. Who receives a block
//!    for a load writes before anybody can complete that load.
//! 4. The whole is shown only between [`Sharing::enter`] with `reads` and the drop of what it returns, those bytes of
//!    it, and copied from only before `enter`, within the load; by invariant 3 nobody writes there then.
//! 5. All bytes of a new segment are zero, which is a value of every [`Element`]; the page that elements begin at is
//!    aligned for them ([`Sharing::suits`]).
#![allow(unsafe_code)]

use super::array::Array;
use super::direct::Direct;
use super::gate;
use super::holder_timeout::{HolderTimeout, HolderWait};
use super::latch::{self, Attempt, Intent, LatchMode, Latches};
use super::permit::Permit;
use crate::element::Element;
use crate::ids::Epoch;
use aurora_net::{BarrierEntry, BarrierMemory, BarrierState, Node, Rank, Segment};
use std::hint;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const PAGE: usize = 4096;

/// What a rank says of itself and of its block. What different ranks write lies apart, and so does what one of them
/// writes often.
#[derive(Debug, Default)]
#[repr(C)]
struct RankWords {
    gate: gate::Entry<AtomicU64>,
    latch: Line,
    held: Line,
    /// Not 0: a rank has written to this block while it held the latch.
    written: Line,
    barrier: BarrierWords,
    asleep: Line,
}

/// What it says when it comes to a load that needs no message.
#[derive(Debug, Default)]
#[repr(C, align(128))]
struct BarrierWords {
    number: AtomicU64,
    words: [AtomicU64; 2],
}

#[derive(Debug, Default)]
#[repr(C, align(128))]
struct Line(AtomicU64);

/// A barrier of the ranks of a node about one vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Which, from 1.
    pub(crate) number: u64,
    /// What this rank has come for.
    pub(crate) word: u64,
}

/// One vector's memory on one node, as one of its ranks sees it.
#[derive(Debug)]
pub(crate) struct Sharing {
    segment: Segment,
    node: Arc<Node>,
    holder_timeout: Arc<HolderTimeout>,
    /// This rank, by its position on the node.
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
        words_len(ranks).checked_add(bytes)
    }

    /// Over a new segment of [`Sharing::segment_len`] bytes, for the rank at position `me` of its node.
    pub(crate) fn new(segment: Segment, node: Arc<Node>, me: usize, holder_timeout: Arc<HolderTimeout>) -> Self {
        let ranks = node.ranks().len();
        assert!(me < ranks && segment.len() >= words_len(ranks), "a segment that its words do not fit");
        Sharing { segment, node, holder_timeout, me, ranks }
    }

    /// The arrays over this rank's block, the elements `range`, and over all `len` elements. To be asked for once. The
    /// first is written to by the rules of invariant 3, the second shown and copied from by those of invariant 4, and
    /// never written to.
    pub(crate) fn arrays<T: Element>(&self, range: Range<usize>, len: usize) -> (Array<T>, Array<T>) {
        assert!(range.end <= len, "a block outside its vector");
        (self.part(range), self.part(0..len))
    }

    /// The array over the place of a block of another node that this rank receives. To be asked for once, and only by
    /// that rank.
    pub(crate) fn slot<T: Element>(&self, range: Range<usize>) -> Array<T> {
        self.part(range)
    }

    /// Collective over the node's ranks. Arrives at the next barrier of this vector: [`Node::arrive_at`].
    pub(crate) fn arrive(&self, Turn { number, word }: Turn) -> BarrierState {
        self.node.arrive_at(self, number, word)
    }

    /// Waits a very short time for the others: [`Node::spin_at`].
    pub(crate) fn spin(&self, turn: Turn) -> BarrierState {
        self.node.spin_at(self, turn.number)
    }

    /// Its state: [`Node::poll_at`].
    pub(crate) fn poll(&self, turn: Turn) -> BarrierState {
        self.node.poll_at(self, turn.number)
    }

    /// Who has not come.
    pub(crate) fn absent(&self, turn: Turn) -> Vec<Rank> {
        self.node.absent_at(self, turn.number)
    }

    /// This rank has completed a load. If it `reads`, it shows these bytes of the shared elements until what comes back
    /// is dropped.
    pub(crate) fn enter(self: &Arc<Self>, load: Epoch, reads: Option<Range<usize>>) -> Option<Reading> {
        let shows = reads.is_some();
        self.words(self.me).gate.enter(load, reads);
        shows.then(|| Reading { sharing: self.clone() })
    }

    /// How many ranks share it.
    #[inline]
    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// Whether all ranks have completed `load`, the last one of these bytes of the shared elements, and none shows any
    /// of them.
    pub(crate) fn is_clear(&self, load: Epoch, bytes: &Range<usize>) -> bool {
        (0..self.ranks).all(|rank| self.words(rank).gate.is_clear(load, bytes))
    }

    /// Single elements of it, of which this rank owns `range`. `positions` are those of all ranks on the node; for
    /// those of other nodes any other number.
    pub(crate) fn direct<T: Element>(
        self: &Arc<Self>,
        permit: Arc<Permit>,
        range: Range<usize>,
        len: usize,
        positions: Box<[u32]>,
    ) -> Direct<T> {
        let (own, whole) = (self.start::<T>(&range), self.start::<T>(&(0..len)));
        // SAFETY: of this module 1 and 5; the block's owner keeps its permit as `direct.rs` says.
        let mut direct = unsafe { Direct::new(permit, own, range) };
        // SAFETY: as above.
        unsafe { direct.share(whole, len, self.clone(), positions) };
        direct
    }

    /// Sets how this rank's block may be used from now on. Before the rank uses its block it
    /// [waits](Sharing::await_holders) for those that the mode does not admit.
    pub(crate) fn set_latch(&self, mode: LatchMode, settled: Epoch) {
        latch::set(self, self.me, mode, settled);
    }

    /// Waits until nobody holds this rank's latch whom `mode`, which is set, does not admit. False: a rank still does,
    /// and may go on at any time.
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
            if !looks.is_multiple_of(64) {
                continue;
            }
            let waited = wait.waited_for(rank);
            let has_ended = self.node.has_ended(rank);
            if has_ended || !self.node.notes_ends() || self.holder_timeout.is_over(self.node.ranks()[rank], waited) {
                none_holds &= has_ended;
                // No rank before it can hold the latch any more.
                from = rank + 1;
            }
        }
        none_holds
    }

    /// Whether a rank holds this rank's latch at this moment, or is about to look whether it may.
    pub(crate) fn has_holders(&self) -> bool {
        latch::holder(self, self.me, LatchMode::Shut, 0).is_some()
    }

    /// Acquires the latch of the owner at this position, to [release](Sharing::release_latch) it soon.
    #[inline]
    pub(super) fn acquire_latch(&self, owner: usize, intent: Intent, epoch: Epoch) -> Attempt {
        latch::acquire(self, self.me, owner, intent, epoch)
    }

    /// Acquires all latches of the node.
    #[inline]
    pub(super) fn acquire_latches(&self, intent: Intent, epoch: Epoch) -> Attempt {
        latch::acquire_all(self, self.me, intent, epoch)
    }

    /// Releases it. False: its owner has given the place up meanwhile.
    #[inline]
    #[must_use]
    pub(super) fn release_latch(&self, owner: usize) -> bool {
        latch::release(self, self.me, owner)
    }

    /// Releases all latches of the node.
    #[inline]
    #[must_use]
    pub(super) fn release_latches(&self) -> bool {
        latch::release_all(self, self.me)
    }

    /// Releases whatever this rank holds, amid a panic.
    pub(super) fn abandon(&self) {
        latch::abandon(self, self.me);
    }

    /// While its latch is held: the block of `owner` has changed.
    #[inline]
    pub(super) fn note_write(&self, owner: usize) {
        let written = &self.words(owner).written.0;
        if written.load(Ordering::Relaxed) == 0 {
            written.store(1, Ordering::Relaxed);
        }
    }

    /// Whether another rank has written to our block by its latch since this was asked last.
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

    /// Where these elements begin in the segment.
    fn offset<T: Element>(&self, range: &Range<usize>) -> usize {
        let size = size_of::<T>();
        let end = range.end.checked_mul(size).and_then(|end| end.checked_add(words_len(self.ranks)));
        assert!(Self::suits::<T>() && end.is_some_and(|end| end <= self.segment.len()), "a part outside its segment");
        words_len(self.ranks) + range.start * size
    }
}

/// As long as it lives, a guard shows the shared memory. One that is forgotten keeps everyone from writing there, for
/// good: they write elsewhere.
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
        &self.words(rank).latch.0
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
            BarrierEntry::Word(turn) => &words.barrier.words[(turn % 2) as usize],
            BarrierEntry::Asleep => &words.asleep.0,
        }
    }
}

fn words_len(ranks: usize) -> usize {
    (ranks * size_of::<RankWords>()).next_multiple_of(PAGE)
}
