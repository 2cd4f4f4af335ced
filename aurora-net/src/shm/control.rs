//! The control segment of a node: the memory through which its ranks communicate.
//!
//! | offset | content | written by |
//! |---|---|---|
//! | 0 | number of dead ranks | the rank that detects a death |
//! | 256 | per rank: doorbell, presence, barrier entries | see [`RankSlot`] |
//! | then | per ordered pair of ranks: positions of their ring | both, see `ring.rs` |
//! | next page | per ordered pair of ranks: bytes of their ring | the first rank of the pair |
//! | then | per rank: ownership words of its buffers | both, see `buffer_pool.rs` |
//! | next page | per rank: bytes of its buffers | the owner, see `buffer_pool.rs` |
//! | next page | per rank: two barrier contributions, used alternately | that rank, see `node_barrier.rs` |
//!
//! Words written by different ranks lie on different cache lines, 128 bytes apart because some processors fetch lines
//! in pairs. Pages that are never touched take no memory.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A segment never changes its length and stays mapped as long as a handle to it exists ([`Segment`]). Every type
//!    below holds one.
//! 2. All ranks compute each offset from the same number of ranks ([`Layout`]). It lies inside the segment and is
//!    aligned for its content. No two regions overlap.
//! 3. All accesses to a word use the same atomic type. All words start as 0.
//! 4. The ends of each ring are created once ([`Control::take_rings`]), and only they access its bytes.
#![allow(unsafe_code)]

use super::barrier::{BarrierEntry, Table};
use super::buffer_pool::BUFFER;
use super::doorbell::Doorbell;
use super::ring::{Cells, Reader, Writer};
use super::segment::Segment;
use super::spin_budget::SpinBudget;
use super::spread::WakersCore;
use crate::poller::Waker;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub(super) const APART: usize = 128;
const SLOTS: usize = 2 * APART;
const PAGE: usize = 4096;

/// The length of a ring, for several fragments of a long transfer. Less if many ranks need many rings.
const RING: usize = 128 << 10;
const ALL_RINGS: usize = 64 << 20;

/// The length of a rank's buffers together. Less if there are many ranks.
const BUFFERS: usize = 8 << 20;
const ALL_BUFFERS: usize = 512 << 20;
const OWNERSHIP: usize = 64;

/// The longest contribution of a rank to a barrier. Less if there are many ranks.
const CONTRIBUTION: usize = 256 << 10;
const ALL_CONTRIBUTIONS: usize = 64 << 20;

/// The length of an inline contribution, which shares a cache line with the rank's barrier entries.
pub(super) const INLINE: usize = 16;

/// The index of a rank among the ranks of its node.
pub(crate) type NodeRank = usize;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    Here,
    Closed,
    /// The rank has ended without closing its endpoint.
    Dead,
}

const HERE: u32 = 0;
const CLOSED: u32 = 1;
const DEAD: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Layout {
    ranks: usize,
    capacity: usize,
    buffers: usize,
    contribution: usize,
}

impl Layout {
    fn of(ranks: usize) -> Self {
        let share = (ALL_RINGS / (ranks * ranks)).max(PAGE);
        let buffers = BUFFERS.min(ALL_BUFFERS / ranks) / BUFFER;
        let contribution = CONTRIBUTION.min(ALL_CONTRIBUTIONS / (2 * ranks) / PAGE * PAGE).max(PAGE);
        Layout { ranks, capacity: RING.min(1 << share.ilog2()), buffers, contribution }
    }

    fn slot(self, peer: NodeRank) -> usize {
        assert!(peer < self.ranks);
        SLOTS + peer * RankSlot::LEN
    }

    fn positions(self, from: NodeRank, to: NodeRank) -> usize {
        assert!(from < self.ranks && to < self.ranks);
        SLOTS + self.ranks * RankSlot::LEN + (from * self.ranks + to) * Ring::POSITIONS
    }

    fn bytes(self, from: NodeRank, to: NodeRank) -> usize {
        let positions = SLOTS + self.ranks * RankSlot::LEN + self.ranks * self.ranks * Ring::POSITIONS;
        positions.next_multiple_of(PAGE) + (from * self.ranks + to) * self.capacity
    }

    fn ownership(self, owner: NodeRank, index: usize) -> usize {
        assert!(owner < self.ranks && index < self.buffers);
        let rings = self.bytes(0, 0) + self.ranks * self.ranks * self.capacity;
        rings + (owner * self.buffers + index) * OWNERSHIP
    }

    fn buffer(self, owner: NodeRank, index: usize) -> usize {
        assert!(owner < self.ranks && index < self.buffers);
        let rings = self.bytes(0, 0) + self.ranks * self.ranks * self.capacity;
        let ownerships = self.ranks * self.buffers * OWNERSHIP;
        (rings + ownerships).next_multiple_of(PAGE) + (owner * self.buffers + index) * BUFFER
    }

    fn contribution(self, peer: NodeRank, parity: usize) -> usize {
        assert!(peer < self.ranks && parity < 2);
        let before = match self.buffers {
            0 => self.bytes(self.ranks - 1, self.ranks - 1) + self.capacity,
            buffers => self.buffer(self.ranks - 1, buffers - 1) + BUFFER,
        };
        before.next_multiple_of(PAGE) + (2 * peer + parity) * self.contribution
    }

    fn len(self) -> usize {
        self.contribution(self.ranks - 1, 1) + self.contribution
    }
}

struct RankSlot;

impl RankSlot {
    const LEN: usize = 4 * APART;
    const DOORBELL: usize = 0;
    /// Written before this rank's doorbell wakes it.
    const WAKERS_CORE: usize = 4;
    const PRESENCE: usize = APART;
    /// The barrier entries (number and two words), followed by two inline contributions.
    const BARRIER: usize = 2 * APART;
    const INLINES: usize = RankSlot::BARRIER + 3 * 8;
    const ASLEEP: usize = 3 * APART;
}

pub(crate) struct Control {
    segment: Segment,
    layout: Layout,
    me: NodeRank,
    wakers: Vec<Waker>,
    taken: AtomicBool,
    has_barrier: AtomicBool,
}

impl Control {
    pub fn len(ranks: usize) -> usize {
        Layout::of(ranks).len()
    }

    pub fn new(segment: Segment, me: NodeRank, wakers: Vec<Waker>) -> Self {
        let layout = Layout::of(wakers.len());
        assert_eq!(segment.len(), layout.len());
        let (taken, has_barrier) = (AtomicBool::new(false), AtomicBool::new(false));
        Control { segment, layout, me, wakers, taken, has_barrier }
    }

    pub fn me(&self) -> NodeRank {
        self.me
    }

    pub fn ranks(&self) -> usize {
        self.layout.ranks
    }

    /// This rank's ends of the rings from and to each node peer. Panics if called a second time.
    pub fn take_rings(&self) -> Vec<RingEnds> {
        assert!(!self.taken.swap(true, Ordering::Relaxed), "rings have one end on each side");
        let ring = |from, to| Ring {
            segment: self.segment.clone(),
            positions: self.layout.positions(from, to),
            bytes: self.layout.bytes(from, to),
            capacity: self.layout.capacity,
        };
        let others = (0..self.ranks()).filter(|peer| *peer != self.me);
        others
            .map(|peer| {
                // SAFETY: invariant 4: only this rank writes this ring, and this function runs once.
                let writer = unsafe { Writer::new(ring(self.me, peer)) };
                // SAFETY: invariant 4: only this rank reads that ring.
                let reader = unsafe { Reader::new(ring(peer, self.me)) };
                RingEnds { peer, writer, reader }
            })
            .collect()
    }

    /// True for the first call only: a rank has one [`NodeBarrier`](super::NodeBarrier).
    pub fn take_barrier(&self) -> bool {
        !self.has_barrier.swap(true, Ordering::Relaxed)
    }

    pub fn longest_contribution(&self) -> usize {
        self.layout.contribution
    }

    /// The address of a rank's contribution to barriers with even or odd numbers.
    pub fn contribution(&self, peer: NodeRank, parity: usize) -> NonNull<u8> {
        NonNull::new(self.at(self.layout.contribution(peer, parity))).expect("inside a mapping")
    }

    /// The address of a rank's inline contribution, aligned to 8.
    pub fn inline(&self, peer: NodeRank, parity: usize) -> NonNull<[u8; INLINE]> {
        assert!(parity < 2);
        let at = self.layout.slot(peer) + RankSlot::INLINES + parity * INLINE;
        NonNull::new(self.at(at).cast()).expect("inside a mapping")
    }

    pub fn buffers(&self) -> usize {
        self.layout.buffers
    }

    pub fn ownership(&self, owner: NodeRank, index: usize) -> &AtomicU32 {
        self.word(self.layout.ownership(owner, index))
    }

    pub fn buffer(&self, owner: NodeRank, index: usize) -> NonNull<u8> {
        NonNull::new(self.at(self.layout.buffer(owner, index))).expect("inside a mapping")
    }

    pub fn ring(&self, peer: NodeRank) {
        if self.doorbell(peer).ring() {
            self.wake(peer);
        }
    }

    /// Rings a rank's doorbell lazily: wakes the rank only if one of its threads waits.
    pub fn ring_lazily(&self, peer: NodeRank) {
        if self.doorbell(peer).ring_lazily() {
            self.wake(peer);
        }
    }

    fn wake(&self, peer: NodeRank) {
        self.wakers_core(peer).note();
        self.wakers[peer].kick();
    }

    /// The core of the rank that has woken a rank.
    fn wakers_core(&self, peer: NodeRank) -> WakersCore<'_> {
        WakersCore(self.word(self.layout.slot(peer) + RankSlot::WAKERS_CORE))
    }

    /// The calling thread of this rank has slept, and each rank of the node has a core: leaves that of its waker.
    pub fn leave_wakers_core(&self) {
        self.wakers_core(self.me).leave();
    }

    pub fn own_doorbell(&self) -> Doorbell<'_, AtomicU32> {
        self.doorbell(self.me)
    }

    /// Polls this rank's doorbell for a short while. True: it has rung.
    pub fn spin(&self, budget: SpinBudget) -> bool {
        let doorbell = self.own_doorbell();
        doorbell.start_polling() || budget.spin_then_yield(|| doorbell.has_rung())
    }

    pub fn deaths(&self) -> u32 {
        self.word(0).load(Ordering::Acquire)
    }

    pub fn presence(&self, peer: NodeRank) -> Presence {
        match self.word(self.layout.slot(peer) + RankSlot::PRESENCE).load(Ordering::Acquire) {
            HERE => Presence::Here,
            CLOSED => Presence::Closed,
            _ => Presence::Dead,
        }
    }

    pub fn close(&self) {
        self.word(self.layout.slot(self.me) + RankSlot::PRESENCE).store(CLOSED, Ordering::Release);
    }

    /// Records that a rank's process has ended, and wakes all ranks, unless it had closed its endpoint.
    pub fn note_end(&self, peer: NodeRank) {
        let presence = self.word(self.layout.slot(peer) + RankSlot::PRESENCE);
        if presence.compare_exchange(HERE, DEAD, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            self.word(0).fetch_add(1, Ordering::AcqRel);
            (0..self.ranks()).filter(|to| *to != peer).for_each(|to| self.ring(to));
        }
    }

    fn doorbell(&self, peer: NodeRank) -> Doorbell<'_, AtomicU32> {
        Doorbell(self.word(self.layout.slot(peer) + RankSlot::DOORBELL))
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: invariants 1 to 3; the reference does not outlive our handle.
        unsafe { AtomicU32::from_ptr(self.at(offset).cast()) }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: invariant 2: inside the segment.
        unsafe { self.segment.as_ptr().add(offset) }
    }
}

impl Table for Control {
    type Position = AtomicU64;

    fn ranks(&self) -> usize {
        self.layout.ranks
    }

    fn entry(&self, rank: NodeRank, entry: BarrierEntry) -> &AtomicU64 {
        let offset = match entry {
            BarrierEntry::Number => RankSlot::BARRIER,
            BarrierEntry::Word(number) => RankSlot::BARRIER + 8 * (1 + (number % 2) as usize),
            BarrierEntry::Asleep => RankSlot::ASLEEP,
        };
        // SAFETY: invariants 1 to 3; the reference does not outlive our handle.
        unsafe { AtomicU64::from_ptr(self.at(self.layout.slot(rank) + offset).cast()) }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("layout", &self.layout).field("me", &self.me).finish_non_exhaustive()
    }
}

pub(crate) struct RingEnds {
    pub peer: NodeRank,
    pub writer: Writer<Ring>,
    pub reader: Reader<Ring>,
}

#[derive(Debug)]
pub(crate) struct Ring {
    segment: Segment,
    positions: usize,
    bytes: usize,
    capacity: usize,
}

impl Ring {
    const POSITIONS: usize = 3 * APART;

    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: invariant 2: inside the segment.
        unsafe { self.segment.as_ptr().add(offset) }
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: invariants 1 to 3; the reference does not outlive our handle.
        unsafe { AtomicU64::from_ptr(self.at(self.positions + offset).cast()) }
    }

    fn check(&self, at: usize, len: usize) {
        assert!(at <= self.capacity && len <= self.capacity - at, "{at} + {len} of {}", self.capacity);
    }
}

impl Cells for Ring {
    type Position = AtomicU64;
    type Flag = AtomicU32;

    fn head(&self) -> &AtomicU64 {
        self.position(0)
    }

    fn tail(&self) -> &AtomicU64 {
        self.position(APART)
    }

    fn wanting(&self) -> &AtomicU32 {
        // SAFETY: invariants 1 to 3; the reference does not outlive our handle.
        unsafe { AtomicU32::from_ptr(self.at(self.positions + 2 * APART).cast()) }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    unsafe fn with<R>(&self, at: usize, len: usize, show: impl FnOnce(&[u8]) -> R) -> R {
        self.check(at, len);
        // SAFETY: invariants 1 and 2; bounds checked above; the caller guarantees that no side writes these bytes.
        show(unsafe { std::slice::from_raw_parts(self.at(self.bytes + at), len) })
    }

    unsafe fn with_mut<R>(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        self.check(at, len);
        // SAFETY: invariants 1 and 2; bounds checked above; the caller guarantees exclusive access.
        fill(unsafe { std::slice::from_raw_parts_mut(self.at(self.bytes + at), len) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_all_is_inside_and_aligned() {
        for ranks in [1, 2, 3, 7, 64] {
            let layout = Layout::of(ranks);
            let pairs = || (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
            let mut regions: Vec<(usize, usize)> = vec![(0, SLOTS)];
            regions.extend((0..ranks).map(|peer| (layout.slot(peer), RankSlot::LEN)));
            regions.extend(pairs().map(|(from, to)| (layout.positions(from, to), Ring::POSITIONS)));
            regions.extend(pairs().map(|(from, to)| (layout.bytes(from, to), layout.capacity)));
            assert!(regions.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{ranks}");
            assert!(regions.iter().all(|(at, _)| at % APART == 0));
            let buffers = || (0..ranks).flat_map(|owner| (0..layout.buffers).map(move |index| (owner, index)));
            regions.extend(buffers().map(|(owner, index)| (layout.ownership(owner, index), OWNERSHIP)));
            regions.extend(buffers().map(|(owner, index)| (layout.buffer(owner, index), BUFFER)));
            let contributions = || (0..ranks).flat_map(|peer| [(peer, 0), (peer, 1)]);
            regions
                .extend(contributions().map(|(peer, parity)| (layout.contribution(peer, parity), layout.contribution)));
            assert!(regions.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{ranks}");
            const { assert!(RankSlot::INLINES + 2 * INLINE <= RankSlot::BARRIER + 64, "on one cache line") };
            let (at, len) = regions[regions.len() - 1];
            assert_eq!(at + len, Control::len(ranks));
        }
    }

    #[test]
    fn rings_and_buffers_of_a_large_node_stay_few() {
        assert_eq!([2, 22, 64, 128, 1024].map(|ranks| Layout::of(ranks).capacity >> 10), [128, 128, 16, 4, 4]);
        assert_eq!([2, 64, 128, 1024, 10_000].map(|ranks| Layout::of(ranks).buffers), [128, 128, 64, 8, 0]);
        let contributions = [2, 128, 1024, 10_000].map(|ranks| Layout::of(ranks).contribution >> 10);
        assert_eq!(contributions, [256, 256, 32, 4]);
    }
}
