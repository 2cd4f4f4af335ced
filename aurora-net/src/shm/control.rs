//! The control segment of a node: how its ranks reach each other.
//!
//! | from | what | who writes |
//! |---|---|---|
//! | 0 | how many ranks have died | whoever finds it out |
//! | 256 | a place for each rank: its doorbell, whether it is there, its word at a meeting | see [`RankSlot`] |
//! | then | for each ordered pair of ranks the positions of their ring | both, see `ring.rs` |
//! | the next page | for each ordered pair of ranks the bytes of their ring | the first of the pair |
//! | then | for each rank whose turn it is with each of its buffers | both, see `buffer_pool.rs` |
//! | the next page | for each rank the bytes of its buffers | that rank |
//! | the next page | for each rank two contributions to barriers, used in turns | that rank, see `node_barrier.rs` |
//!
//! What different ranks write lies on different cache lines, and far enough apart that fetching two at once does not
//! hurt. Bytes that nobody has touched take no memory.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. A segment never changes its length, and is mapped as long as a handle to it exists ([`Segment`]); everything
//!    below holds one.
//! 2. Each offset is computed from the same two numbers on all ranks (`layout`), lies inside the segment, and is
//!    aligned for what lies there. No two things overlap.
//! 3. Whoever touches a word touches it as the same kind of atomic. All begin as 0.
//! 4. The ends of each ring are given out once ([`Control::take_rings`]), its bytes are reached through them alone.
#![allow(unsafe_code)]

use super::barrier::{BarrierEntry, Table};
use super::buffer_pool::BUFFER;
use super::doorbell::{Doorbell, Look};
use super::ring::{Cells, Reader, Writer};
use super::segment::Segment;
use crate::endpoint::Waker;
use std::fmt;
use std::hint;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

pub(super) const APART: usize = 128;
const SLOTS: usize = 2 * APART;
const PAGE: usize = 4096;

/// What one ring holds: some regions of a long transfer; less where many ranks make many rings.
const RING: usize = 128 << 10;
const ALL_RINGS: usize = 64 << 20;

/// What the buffers of one rank hold; less where there are many ranks.
const BUFFERS: usize = 8 << 20;
const ALL_BUFFERS: usize = 512 << 20;
/// Two words on one cache line would be fetched away from each other.
const OWNERSHIP: usize = 64;

/// The longest contribution of a rank to a barrier; less where there are many ranks.
const CONTRIBUTION: usize = 256 << 10;
const ALL_CONTRIBUTIONS: usize = 64 << 20;

/// The length of a note, a contribution on the cache line of the rank's word.
pub(super) const INLINE: usize = 16;

/// A rank of this node, by its number among them.
pub(crate) type NodeRank = usize;

/// Whether a rank is still there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    Here,
    /// It has closed its endpoint.
    Closed,
    /// It has ended without.
    Dead,
}

const HERE: u32 = 0;
const CLOSED: u32 = 1;
const DEAD: u32 = 2;

/// Where things lie in a control segment.
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

/// Offsets in a rank's place.
struct RankSlot;

impl RankSlot {
    const LEN: usize = 4 * APART;
    const DOORBELL: usize = 0;
    const PRESENCE: usize = APART;
    /// Number and two words, which it writes whenever it comes; behind them two notes.
    const BARRIER: usize = 2 * APART;
    const INLINES: usize = RankSlot::BARRIER + 3 * 8;
    const ASLEEP: usize = 3 * APART;
}

/// A node's control segment, as one of its ranks uses it.
pub(crate) struct Control {
    segment: Segment,
    layout: Layout,
    me: NodeRank,
    /// What wakes each rank.
    wakers: Vec<Waker>,
    taken: AtomicBool,
    has_barrier: AtomicBool,
}

impl Control {
    /// Bytes that the control segment of so many ranks takes.
    pub fn len(ranks: usize) -> usize {
        Layout::of(ranks).len()
    }

    /// # Panics
    /// If the segment has another length.
    pub fn new(segment: Segment, me: NodeRank, wakers: Vec<Waker>) -> Self {
        let layout = Layout::of(wakers.len());
        assert_eq!(segment.len(), layout.len());
        let (taken, has_barrier) = (AtomicBool::new(false), AtomicBool::new(false));
        Control { segment, layout, me, wakers, taken, has_barrier }
    }

    /// This rank.
    pub fn me(&self) -> NodeRank {
        self.me
    }

    /// How many ranks the node has.
    pub fn ranks(&self) -> usize {
        self.layout.ranks
    }

    /// The rings to and from each of the others.
    ///
    /// # Panics
    /// The second time.
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
                // SAFETY: invariant 4: this rank alone writes the ring from it to another, and this is called once.
                let writer = unsafe { Writer::new(ring(self.me, peer)) };
                // SAFETY: and it alone reads the one from there.
                let reader = unsafe { Reader::new(ring(peer, self.me)) };
                RingEnds { peer, writer, reader }
            })
            .collect()
    }

    /// Whether this is the first call: a rank has one [`NodeBarrier`](super::NodeBarrier).
    pub fn take_barrier(&self) -> bool {
        !self.has_barrier.swap(true, Ordering::Relaxed)
    }

    /// The longest contribution to a barrier, in bytes.
    pub fn longest_contribution(&self) -> usize {
        self.layout.contribution
    }

    /// Where a contribution to barriers of this turn, 0 or 1, lies.
    pub fn contribution(&self, peer: NodeRank, parity: usize) -> NonNull<u8> {
        NonNull::new(self.at(self.layout.contribution(peer, parity))).expect("inside a mapping")
    }

    /// Where the short one of [`INLINE`] bytes lies: beside the rank's word, and aligned to 8.
    pub fn inline(&self, peer: NodeRank, parity: usize) -> NonNull<[u8; INLINE]> {
        assert!(parity < 2);
        let at = self.layout.slot(peer) + RankSlot::INLINES + parity * INLINE;
        NonNull::new(self.at(at).cast()).expect("inside a mapping")
    }

    /// How many buffers each rank has.
    pub fn buffers(&self) -> usize {
        self.layout.buffers
    }

    /// Whose turn it is with a buffer.
    pub fn ownership(&self, owner: NodeRank, index: usize) -> &AtomicU32 {
        self.word(self.layout.ownership(owner, index))
    }

    /// Where a buffer lies.
    pub fn buffer(&self, owner: NodeRank, index: usize) -> NonNull<u8> {
        NonNull::new(self.at(self.layout.buffer(owner, index))).expect("inside a mapping")
    }

    /// Tells a rank that there is something to see, and wakes it if it sleeps.
    pub fn ring(&self, peer: NodeRank) {
        if self.doorbell(peer).ring() {
            self.wakers[peer].kick();
        }
    }

    /// Tells a rank that there is something to see that is in no hurry, and wakes it only if one of its threads waits.
    pub fn ring_lazily(&self, peer: NodeRank) {
        if self.doorbell(peer).ring_lazily() {
            self.wakers[peer].kick();
        }
    }

    /// This rank is about to look.
    pub fn acknowledge(&self) {
        self.doorbell(self.me).acknowledge();
    }

    /// This rank will not look from now on, unless it is rung for, or hinted to: the calling thread waits for
    /// something.
    pub fn prepare_sleep(&self) -> Look {
        self.doorbell(self.me).prepare_sleep()
    }

    /// As [`Control::prepare_sleep`], by a thread that has something else to do: leaves what is in no hurry.
    pub fn stop_polling(&self) -> Look {
        self.doorbell(self.me).stop_polling()
    }

    /// Waits a short while for this rank's doorbell: `spins` looks without giving up the core, then `yields` that do.
    /// True: rung.
    pub fn spin(&self, spins: u32, yields: u32) -> bool {
        let doorbell = self.doorbell(self.me);
        if doorbell.start_polling() {
            return true;
        }
        for _ in 0..spins {
            if doorbell.has_rung() {
                return true;
            }
            hint::spin_loop();
        }
        for _ in 0..yields {
            if doorbell.has_rung() {
                return true;
            }
            thread::yield_now();
        }
        doorbell.has_rung()
    }

    /// How many ranks have died.
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

    /// This rank needs nobody any more.
    pub fn close(&self) {
        self.word(self.layout.slot(self.me) + RankSlot::PRESENCE).store(CLOSED, Ordering::Release);
    }

    /// A rank's end has been seen: tells all, unless it has closed.
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
        // SAFETY: invariants 1 to 3; the reference lives no longer than our handle.
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
        // SAFETY: invariants 1 to 3; the reference lives no longer than our handle.
        unsafe { AtomicU64::from_ptr(self.at(self.layout.slot(rank) + offset).cast()) }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("layout", &self.layout).field("me", &self.me).finish_non_exhaustive()
    }
}

/// This rank's ends of its two rings with a node peer.
pub(crate) struct RingEnds {
    pub peer: NodeRank,
    pub writer: Writer<Ring>,
    pub reader: Reader<Ring>,
}

/// The ring from one rank to another, in a control segment.
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
        // SAFETY: invariants 1 to 3; the reference lives no longer than our handle.
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
        // SAFETY: invariants 1 to 3; the reference lives no longer than our handle.
        unsafe { AtomicU32::from_ptr(self.at(self.positions + 2 * APART).cast()) }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    unsafe fn with<R>(&self, at: usize, len: usize, show: impl FnOnce(&[u8]) -> R) -> R {
        self.check(at, len);
        // SAFETY: invariants 1 and 2, and just checked; that nobody writes there the caller promises.
        show(unsafe { std::slice::from_raw_parts(self.at(self.bytes + at), len) })
    }

    unsafe fn with_mut<R>(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        self.check(at, len);
        // SAFETY: invariants 1 and 2, and just checked; that nobody else uses it the caller promises.
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
