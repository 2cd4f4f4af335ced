//! The latch of a block: with it ranks of one node access elements of each other's blocks without a message.
//!
//! Each block has a latch, whose *mode* its owner sets. Each rank has one word that names the block whose latch the
//! rank *holds*. A rank that wants an element writes that word first and reads the mode second. An owner that is
//! about to use its block sets the mode first and reads all those words second. The four accesses have one total
//! order. So either the rank reads the new mode and is refused, or the owner reads the rank's word and waits until
//! the rank has released the latch: some nanoseconds for an element, tens of microseconds for a piece of a range.
//!
//! A rank may be stopped while it holds a latch, and continue at any later time. An owner that has waited long enough
//! *gives the place up*: it sets the mode `GivenUp` and never uses the place again. A rank that releases a latch
//! reads the mode once more, to learn if its access counts.
//!
//! The word of the mode also has the number of scopes that the owner has completed: a read must contain the writes of
//! all ranks in the scopes before it. A second word counts the times that the owner has admitted readers again. A rank
//! that acquires the latch several times to read a long range compares this number: if it is still the same, the owner
//! has changed nothing meanwhile. In `model` below, loom tries all interleavings.

use super::gate::Word;
use crate::ids::Epoch;
use std::sync::atomic::Ordering;

/// The accesses that other ranks may make to a block's elements.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum LatchMode {
    Open,
    /// Read: a guard or a transfer reads the block.
    ReadOnly,
    /// Nothing, for a moment: the owner writes to the block.
    Busy,
    /// Nothing: the block is lent, or lies elsewhere. The mode of a new block.
    Shut,
    /// Nothing, for good: a rank did not release the latch, and its access does not count. The block has moved away.
    GivenUp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Intent {
    Read,
    Write,
}

/// Of several attempts at once the greatest counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Attempt {
    /// The rank holds the latch until it releases it.
    Held,
    /// Refused for a moment: try again.
    Busy,
    /// Refused: ask the owner by a message.
    Refused,
}

/// The words of all ranks of a node; all begin as 0.
pub(crate) trait Latches {
    type Word: Word;

    fn ranks(&self) -> usize;
    /// The latch of this rank's block. Only this rank writes it.
    fn latch(&self, rank: usize) -> &Self::Word;
    /// The times that this rank has admitted readers of its block again. Only this rank writes it.
    fn openings(&self, rank: usize) -> &Self::Word;
    /// The latch that this rank holds. Only this rank writes it.
    fn held(&self, rank: usize) -> &Self::Word;
}

impl LatchMode {
    /// True if a rank that `before` admitted must release the latch first.
    pub(crate) fn is_stricter_than(self, before: LatchMode) -> bool {
        [Intent::Read, Intent::Write].into_iter().any(|intent| before.admits(intent) && !self.admits(intent))
    }

    fn admits(self, intent: Intent) -> bool {
        match intent {
            Intent::Read => self <= LatchMode::ReadOnly,
            Intent::Write => self == LatchMode::Open,
        }
    }

    fn encode(self, settled: Epoch) -> u64 {
        let state = match self {
            LatchMode::Shut => 0,
            LatchMode::Busy => 1,
            LatchMode::ReadOnly => 2,
            LatchMode::Open => 3,
            LatchMode::GivenUp => 4,
        };
        settled << 3 | state
    }

    fn decode(word: u64) -> (LatchMode, Epoch) {
        let mode = match word & 7 {
            0 => LatchMode::Shut,
            1 => LatchMode::Busy,
            2 => LatchMode::ReadOnly,
            3 => LatchMode::Open,
            _ => LatchMode::GivenUp,
        };
        (mode, word >> 3)
    }
}

const NOTHING: u64 = 0;

/// The word of a rank that holds the latch of one block, or of all blocks of the node: no node has that many ranks.
#[inline]
fn hold(owner: Option<usize>, intent: Intent) -> u64 {
    (owner.unwrap_or(u32::MAX as usize) as u64 + 1) << 1 | u64::from(intent == Intent::Write)
}

/// Rank `me` wants to use elements of a block whose owner must have completed `epoch`; without an `owner`, of all
/// blocks of the node: it holds all latches or none. If it holds latches, it must [`release`] them before it acquires
/// others.
#[inline]
pub(crate) fn acquire<L: Latches>(
    latches: &L,
    me: usize,
    owner: Option<usize>,
    intent: Intent,
    epoch: Epoch,
) -> Attempt {
    latches.held(me).publish(hold(owner, intent));
    let attempt = |owner| {
        let (mode, settled) = LatchMode::decode(latches.latch(owner).observe());
        match mode {
            mode if mode.admits(intent) && settled >= epoch => Attempt::Held,
            LatchMode::Busy => Attempt::Busy,
            _ => Attempt::Refused,
        }
    };
    let attempt = match owner {
        Some(owner) => attempt(owner),
        None => (0..latches.ranks()).map(attempt).max().unwrap_or(Attempt::Held),
    };
    if attempt != Attempt::Held {
        abandon(latches, me);
    }
    attempt
}

/// Rank `me` releases the latches that it has acquired. False: an owner has given its place up; the access does not
/// count.
#[inline]
#[must_use]
pub(crate) fn release<L: Latches>(latches: &L, me: usize, owner: Option<usize>) -> bool {
    let is_kept = |owner| {
        let (mode, _) = LatchMode::decode(latches.latch(owner).load(Ordering::Acquire));
        mode != LatchMode::GivenUp
    };
    let counts = match owner {
        Some(owner) => is_kept(owner),
        None => (0..latches.ranks()).all(is_kept),
    };
    abandon(latches, me);
    counts
}

/// Releases all latches that `me` holds, and does not check if its access counts.
#[inline]
pub(crate) fn abandon<L: Latches>(latches: &L, me: usize) {
    latches.held(me).store(NOTHING, Ordering::Release);
}

/// An owner sets the mode of its block, and the number of scopes that it has completed. Before it uses the block, it
/// waits until there is no [`holder`] that the mode does not admit.
pub(crate) fn set<L: Latches>(latches: &L, owner: usize, mode: LatchMode, settled: Epoch) {
    let (before, _) = LatchMode::decode(latches.latch(owner).load(Ordering::Relaxed));
    if mode.admits(Intent::Read) && !before.admits(Intent::Read) {
        // No earlier: a reader that was admitted before could still read the new number with the old elements.
        latches.openings(owner).add(1, Ordering::Relaxed);
    }
    latches.latch(owner).publish(mode.encode(settled));
}

/// The times that the owner has admitted readers again, for a rank that holds its latch. If a rank reads the same
/// number when it holds the latch again, the owner has not changed its block meanwhile.
#[inline]
pub(crate) fn openings<L: Latches>(latches: &L, owner: usize) -> u64 {
    latches.openings(owner).load(Ordering::Relaxed)
}

/// The first rank, from rank `from` on, that holds the latch for an intent that `mode` does not admit.
pub(crate) fn holder<L: Latches>(latches: &L, owner: usize, mode: LatchMode, from: usize) -> Option<usize> {
    (from..latches.ranks()).find(|rank| {
        let word = latches.held(*rank).observe();
        let is = |intent| word == hold(Some(owner), intent) || word == hold(None, intent);
        [Intent::Read, Intent::Write].into_iter().any(|intent| !mode.admits(intent) && is(intent))
    })
}

#[cfg(test)]
mod model {
    use super::super::model::{Modelled, Plain, beside};
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    struct Node {
        latches: [Modelled; 2],
        openings: [Modelled; 2],
        held: [Modelled; 2],
        /// An element of rank 0's block.
        element: Plain,
    }

    impl Latches for Node {
        type Word = Modelled;

        fn ranks(&self) -> usize {
            2
        }

        fn latch(&self, rank: usize) -> &Modelled {
            &self.latches[rank]
        }

        fn openings(&self, rank: usize) -> &Modelled {
            &self.openings[rank]
        }

        fn held(&self, rank: usize) -> &Modelled {
            &self.held[rank]
        }
    }

    impl Node {
        fn new(mode: LatchMode) -> Arc<Self> {
            let latches = [Modelled::new(mode.encode(1)), Modelled::new(0)];
            let [openings, held] = [0, NOTHING].map(|word| std::array::from_fn(|_| Modelled::new(word)));
            Arc::new(Node { latches, openings, held, element: Plain::new(1) })
        }
    }

    type Acquire = fn(&Node, usize, Option<usize>, Intent, Epoch) -> Attempt;
    type Wait = fn(&Node, LatchMode);

    fn wait(node: &Node, mode: LatchMode) {
        while holder(node, 0, mode, 0).is_some() {
            thread::yield_now();
        }
    }

    /// Rank 1 uses an element of rank 0, which sets its latch to `mode`, uses its block, and opens the latch.
    fn owner_and_peer(intent: Intent, mode: LatchMode, acquire: Acquire, wait: Wait) {
        loom::model(move || {
            let node = Node::new(LatchMode::Open);
            let peer = beside(&node, move |node| {
                if acquire(node, 1, Some(0), intent, 1) == Attempt::Held {
                    match intent {
                        Intent::Read => assert!([1, 2].contains(&node.element.read())),
                        Intent::Write => node.element.write(3),
                    }
                    let _ = release(node, 1, Some(0));
                }
            });
            set(&*node, 0, mode, 1);
            wait(&node, mode);
            match mode {
                LatchMode::ReadOnly => assert!([1, 3].contains(&node.element.read())),
                _ => node.element.write(2),
            }
            set(&*node, 0, LatchMode::Open, 1);
            peer.join().unwrap();
        });
    }

    #[test]
    fn nobody_uses_a_block_that_its_owner_uses() {
        let all: Acquire = |node, me, _, intent, epoch| {
            // A rank's own latch is open to itself.
            set(node, me, LatchMode::Open, epoch);
            super::acquire(node, me, None, intent, epoch)
        };
        for intent in [Intent::Read, Intent::Write] {
            for mode in [LatchMode::ReadOnly, LatchMode::Busy, LatchMode::Shut] {
                owner_and_peer(intent, mode, acquire, wait);
                owner_and_peer(intent, mode, all, wait);
            }
        }
    }

    #[test]
    #[should_panic]
    fn an_owner_that_waits_for_nobody_is_found_out() {
        owner_and_peer(Intent::Read, LatchMode::Busy, acquire, |_, _| {});
    }

    #[test]
    #[should_panic]
    fn a_peer_that_reads_the_mode_first_is_found_out() {
        let looks_first: Acquire = |node, me, owner, intent, epoch| {
            let (mode, settled) = LatchMode::decode(node.latch(owner.unwrap()).observe());
            if !mode.admits(intent) || settled < epoch {
                return Attempt::Refused;
            }
            node.held(me).publish(hold(owner, intent));
            Attempt::Held
        };
        owner_and_peer(Intent::Write, LatchMode::Busy, looks_first, wait);
    }

    type Set = fn(&Node, LatchMode);

    /// Rank 1 acquires the latch twice and reads the element each time, while rank 0 changes it.
    fn owner_and_long_read(set: Set) {
        loom::model(move || {
            let node = Node::new(LatchMode::Open);
            let peer = beside(&node, move |node| {
                let read = || {
                    if acquire(node, 1, Some(0), Intent::Read, 1) != Attempt::Held {
                        return None;
                    }
                    let read = (openings(node, 0), node.element.read());
                    release(node, 1, Some(0)).then_some(read)
                };
                if let (Some(first), Some(second)) = (read(), read()) {
                    assert!(first.0 != second.0 || first.1 == second.1, "a change that is not noticed");
                }
            });
            set(&node, LatchMode::Busy);
            wait(&node, LatchMode::Busy);
            node.element.write(2);
            set(&node, LatchMode::Open);
            peer.join().unwrap();
        });
    }

    #[test]
    fn a_change_between_two_reads_is_noticed() {
        owner_and_long_read(|node, mode| set(node, 0, mode, 1));
    }

    #[test]
    #[should_panic]
    fn an_owner_that_counts_before_its_readers_have_left_is_found_out() {
        owner_and_long_read(|node, mode| {
            if mode == LatchMode::Busy {
                node.openings[0].add(1, Ordering::Relaxed);
            }
            node.latches[0].publish(mode.encode(1));
        });
    }

    #[test]
    fn a_rank_ahead_of_the_owner_is_refused() {
        loom::model(|| {
            let node = Node::new(LatchMode::Open);
            assert_eq!(acquire(&*node, 1, Some(0), Intent::Read, 2), Attempt::Refused);
            assert_eq!(acquire(&*node, 1, Some(0), Intent::Read, 1), Attempt::Held);
            assert_eq!(holder(&*node, 0, LatchMode::Shut, 0), Some(1));
            assert_eq!(holder(&*node, 0, LatchMode::ReadOnly, 0), None);
            assert!(release(&*node, 1, Some(0)));
            assert_eq!(holder(&*node, 0, LatchMode::Shut, 0), None);
        });
    }

    /// Rank 1 is stopped while it holds the latch, and continues at any moment. Rank 0 checks once if the latch
    /// was released, and `uses` its block even if it was not.
    fn owner_and_stopped_peer(uses: bool) {
        loom::model(move || {
            let node = Node::new(LatchMode::Open);
            assert_eq!(acquire(&*node, 1, Some(0), Intent::Write, 1), Attempt::Held);
            let peer = beside(&node, |node| {
                node.element.write(3);
                release(node, 1, Some(0))
            });
            set(&*node, 0, LatchMode::Shut, 1);
            let gives_up = holder(&*node, 0, LatchMode::Shut, 0).is_some();
            if gives_up {
                set(&*node, 0, LatchMode::GivenUp, 1);
            }
            if !gives_up || uses {
                node.element.write(2);
            }
            let counts = peer.join().unwrap();
            assert!(counts || gives_up, "what an owner has waited for counts");
            assert_eq!(acquire(&*node, 1, Some(0), Intent::Read, 1), Attempt::Refused);
        });
    }

    #[test]
    fn an_owner_that_gives_its_place_up_does_not_touch_it() {
        owner_and_stopped_peer(false);
    }

    #[test]
    #[should_panic]
    fn an_owner_that_gives_up_and_uses_its_block_is_found_out() {
        owner_and_stopped_peer(true);
    }

    #[test]
    fn a_rank_that_was_given_up_learns_it() {
        loom::model(|| {
            for owner in [Some(0), None] {
                let node = Node::new(LatchMode::Open);
                set(&*node, 1, LatchMode::Open, 1);
                assert_eq!(acquire(&*node, 1, owner, Intent::Write, 1), Attempt::Held);
                set(&*node, 0, LatchMode::GivenUp, 1);
                assert!(!release(&*node, 1, owner));
                assert_eq!(holder(&*node, 0, LatchMode::GivenUp, 0), None);
            }
        });
    }
}
