//! The door of a block: by it ranks of one node touch single elements of each other's blocks without a message.
//!
//! Every block has a door, that its owner sets; every rank has a word by which it says whose door it is inside of. Who wants to
//! touch an element says so *first* and looks at the door *second*; an owner that is about to use its block itself sets
//! the door *first* and looks who is inside *second*. All four in one total order, so either the first finds the door
//! closed, or the second finds it inside and waits until it has left, which takes some nanoseconds.
//!
//! A rank may be stopped while it is inside, and go on at any later time. An owner that has waited long enough *gives
//! the place up*: it never uses it again, and says so by the door; who leaves looks there whether what it has done
//! counts.
//!
//! The door also says how many scopes are settled at the owner: what a rank reads must contain what everyone did in the scopes
//! behind it. `model` below has a checker try all interleavings.

use super::gate::Word;
use crate::ids::Epoch;
use std::sync::atomic::Ordering;

/// What others may do to a block's elements.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Door {
    /// Read and write.
    Open,
    /// Read: somebody reads it, as a whole.
    ReadOnly,
    /// Nothing, but not for long: it is being written to.
    Busy,
    /// Nothing: it is lent, or lies elsewhere. So begins a block.
    Shut,
    /// Nothing, for good: somebody did not leave, and its owner, who has waited long enough, has moved away. What those
    /// who were inside have done there counts for nothing.
    GivenUp,
}

/// What a rank wants of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Intent {
    Read,
    Write,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// It may, until it leaves.
    Inside,
    /// It may soon.
    Busy,
    /// It has to ask the owner by a message.
    Closed,
}

/// Where the words of all ranks of a node are; all begin as 0.
pub(crate) trait Doors {
    type Word: Word;

    /// How many ranks there are.
    fn ranks(&self) -> usize;
    /// Written by this rank alone: how its block may be used.
    fn door(&self, rank: usize) -> &Self::Word;
    /// Written by this rank alone: whose block it uses.
    fn inside(&self, rank: usize) -> &Self::Word;
}

impl Door {
    /// Whether somebody who was let in before has to leave for it.
    pub(crate) fn is_stricter_than(self, before: Door) -> bool {
        [Intent::Read, Intent::Write].into_iter().any(|intent| before.admits(intent) && !self.admits(intent))
    }

    /// Whether a rank that is inside for this may stay.
    fn admits(self, intent: Intent) -> bool {
        match intent {
            Intent::Read => self <= Door::ReadOnly,
            Intent::Write => self == Door::Open,
        }
    }

    fn encode(self, settled: Epoch) -> u64 {
        let state = match self {
            Door::Shut => 0,
            Door::Busy => 1,
            Door::ReadOnly => 2,
            Door::Open => 3,
            Door::GivenUp => 4,
        };
        settled << 3 | state
    }

    fn decode(word: u64) -> (Door, Epoch) {
        let door = match word & 7 {
            0 => Door::Shut,
            1 => Door::Busy,
            2 => Door::ReadOnly,
            3 => Door::Open,
            _ => Door::GivenUp,
        };
        (door, word >> 3)
    }
}

const OUTSIDE: u64 = 0;

fn inside(owner: usize, intent: Intent) -> u64 {
    (owner as u64 + 1) << 1 | u64::from(intent == Intent::Write)
}

/// No node has so many ranks.
fn inside_all(intent: Intent) -> u64 {
    inside(u32::MAX as usize, intent)
}

/// Rank `me` wants to touch elements of a block, for which the owner must have settled `epoch`. If it is let in, it has to
/// [`leave`] before it enters anything else.
#[inline]
pub(crate) fn enter<D: Doors>(doors: &D, me: usize, owner: usize, intent: Intent, epoch: Epoch) -> Entry {
    doors.inside(me).publish(inside(owner, intent));
    let (door, settled) = Door::decode(doors.door(owner).observe());
    if door.admits(intent) && settled >= epoch {
        return Entry::Inside;
    }
    step_out(doors, me);
    if door == Door::Busy { Entry::Busy } else { Entry::Closed }
}

/// As [`enter`], for all doors of the node at once: it is let in by all of them or by none.
#[inline]
pub(crate) fn enter_all<D: Doors>(doors: &D, me: usize, intent: Intent, epoch: Epoch) -> Entry {
    doors.inside(me).publish(inside_all(intent));
    let mut entry = Entry::Inside;
    for owner in 0..doors.ranks() {
        let (door, settled) = Door::decode(doors.door(owner).observe());
        match door {
            door if door.admits(intent) && settled >= epoch => {}
            Door::Busy if entry != Entry::Closed => entry = Entry::Busy,
            _ => entry = Entry::Closed,
        }
    }
    if entry != Entry::Inside {
        step_out(doors, me);
    }
    entry
}

/// Rank `me` is done with the block of `owner`. False: that has given it up meanwhile, and what it has done there
/// counts for nothing.
#[inline]
#[must_use]
pub(crate) fn leave<D: Doors>(doors: &D, me: usize, owner: usize) -> bool {
    let counts = has_kept(doors, owner);
    step_out(doors, me);
    counts
}

/// As [`leave`], for all doors of the node.
#[inline]
#[must_use]
pub(crate) fn leave_all<D: Doors>(doors: &D, me: usize) -> bool {
    let counts = (0..doors.ranks()).all(|owner| has_kept(doors, owner));
    step_out(doors, me);
    counts
}

/// The same for who does not ask whether it counts.
#[inline]
pub(crate) fn step_out<D: Doors>(doors: &D, me: usize) {
    doors.inside(me).store(OUTSIDE, Ordering::Release);
}

#[inline]
fn has_kept<D: Doors>(doors: &D, owner: usize) -> bool {
    Door::decode(doors.door(owner).load(Ordering::Acquire)).0 != Door::GivenUp
}

/// An owner says how its block may be used from now on, and what it has settled. It waits for those whom that shuts out
/// (see [`occupant`]) before it counts on it.
pub(crate) fn set<D: Doors>(doors: &D, owner: usize, door: Door, settled: Epoch) {
    doors.door(owner).publish(door.encode(settled));
}

/// Some rank that is still inside for what `door` does not admit, looking from rank `from` on.
pub(crate) fn occupant<D: Doors>(doors: &D, owner: usize, door: Door, from: usize) -> Option<usize> {
    (from..doors.ranks()).find(|rank| {
        let word = doors.inside(*rank).observe();
        let is = |intent| word == inside(owner, intent) || word == inside_all(intent);
        [Intent::Read, Intent::Write].into_iter().any(|intent| !door.admits(intent) && is(intent))
    })
}

#[cfg(test)]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Modelled;
    use loom::thread;

    struct Node {
        doors: [Modelled; 2],
        inside: [Modelled; 2],
        /// An element of rank 0's block.
        element: UnsafeCell<u64>,
    }

    // By what the model is to show.
    #[allow(unsafe_code)]
    // SAFETY: the checker itself watches every access to the cell.
    unsafe impl Sync for Node {}
    #[allow(unsafe_code)]
    // SAFETY: as above.
    unsafe impl Send for Node {}

    impl Doors for Node {
        type Word = Modelled;

        fn ranks(&self) -> usize {
            2
        }

        fn door(&self, rank: usize) -> &Modelled {
            &self.doors[rank]
        }

        fn inside(&self, rank: usize) -> &Modelled {
            &self.inside[rank]
        }
    }

    impl Node {
        fn new(door: Door) -> Arc<Self> {
            let doors = [Modelled::new(door.encode(1)), Modelled::new(0)];
            let inside = std::array::from_fn(|_| Modelled::new(OUTSIDE));
            Arc::new(Node { doors, inside, element: UnsafeCell::new(1) })
        }

        fn read(&self) -> u64 {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            self.element.with(|element| unsafe { *element })
        }

        fn write(&self, value: u64) {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            self.element.with_mut(|element| unsafe { *element = value });
        }
    }

    type Enter = fn(&Node, usize, usize, Intent, Epoch) -> Entry;
    type Wait = fn(&Node, Door);

    fn wait(node: &Node, door: Door) {
        while occupant(node, 0, door, 0).is_some() {
            thread::yield_now();
        }
    }

    /// Rank 1 touches an element of rank 0, which sets its door to `door` meanwhile, uses its block, and opens it again.
    fn owner_and_mate(intent: Intent, door: Door, enter: Enter, wait: Wait) {
        loom::model(move || {
            let node = Node::new(Door::Open);
            let mate = {
                let node = node.clone();
                thread::spawn(move || {
                    if enter(&node, 1, 0, intent, 1) == Entry::Inside {
                        match intent {
                            Intent::Read => assert!([1, 2].contains(&node.read())),
                            Intent::Write => node.write(3),
                        }
                        let _ = leave(&*node, 1, 0);
                    }
                })
            };
            set(&*node, 0, door, 1);
            wait(&node, door);
            match door {
                Door::ReadOnly => assert!([1, 3].contains(&node.read())),
                _ => node.write(2),
            }
            set(&*node, 0, Door::Open, 1);
            mate.join().unwrap();
        });
    }

    #[test]
    fn nobody_touches_what_the_owner_uses() {
        let all: Enter = |node, me, _, intent, epoch| {
            // Its own door is open to itself.
            set(node, me, Door::Open, epoch);
            enter_all(node, me, intent, epoch)
        };
        for intent in [Intent::Read, Intent::Write] {
            for door in [Door::ReadOnly, Door::Busy, Door::Shut] {
                owner_and_mate(intent, door, enter, wait);
                owner_and_mate(intent, door, all, wait);
            }
        }
    }

    #[test]
    #[should_panic]
    fn an_owner_that_waits_for_nobody_is_found_out() {
        owner_and_mate(Intent::Read, Door::Busy, enter, |_, _| {});
    }

    #[test]
    #[should_panic]
    fn a_mate_that_looks_before_it_says_so_is_found_out() {
        let looks_first: Enter = |node, me, owner, intent, epoch| {
            let (door, settled) = Door::decode(node.door(owner).observe());
            if !door.admits(intent) || settled < epoch {
                return Entry::Closed;
            }
            node.inside(me).publish(inside(owner, intent));
            Entry::Inside
        };
        owner_and_mate(Intent::Write, Door::Busy, looks_first, wait);
    }

    #[test]
    fn who_is_ahead_of_the_owner_is_not_let_in() {
        loom::model(|| {
            let node = Node::new(Door::Open);
            assert_eq!(enter(&*node, 1, 0, Intent::Read, 2), Entry::Closed);
            assert_eq!(enter(&*node, 1, 0, Intent::Read, 1), Entry::Inside);
            assert_eq!(occupant(&*node, 0, Door::Shut, 0), Some(1));
            assert_eq!(occupant(&*node, 0, Door::ReadOnly, 0), None);
            assert!(leave(&*node, 1, 0));
            assert_eq!(occupant(&*node, 0, Door::Shut, 0), None);
        });
    }

    /// Rank 1 is stopped inside and goes on at any moment; rank 0 looks once whether it has left. `uses` its block all
    /// the same.
    fn owner_and_stopped_mate(uses: bool) {
        loom::model(move || {
            let node = Node::new(Door::Open);
            assert_eq!(enter(&*node, 1, 0, Intent::Write, 1), Entry::Inside);
            let mate = {
                let node = node.clone();
                thread::spawn(move || {
                    node.write(3);
                    leave(&*node, 1, 0)
                })
            };
            set(&*node, 0, Door::Shut, 1);
            let gives_up = occupant(&*node, 0, Door::Shut, 0).is_some();
            if gives_up {
                set(&*node, 0, Door::GivenUp, 1);
            }
            if !gives_up || uses {
                node.write(2);
            }
            let counts = mate.join().unwrap();
            assert!(counts || gives_up, "what an owner has waited for counts");
            assert_eq!(enter(&*node, 1, 0, Intent::Read, 1), Entry::Closed);
        });
    }

    #[test]
    fn who_gives_a_place_up_is_not_in_anybodys_way() {
        owner_and_stopped_mate(false);
    }

    #[test]
    #[should_panic]
    fn an_owner_that_gives_up_and_uses_its_block_is_found_out() {
        owner_and_stopped_mate(true);
    }

    #[test]
    fn who_was_given_up_is_told() {
        loom::model(|| {
            for all in [false, true] {
                let node = Node::new(Door::Open);
                set(&*node, 1, Door::Open, 1);
                let entry =
                    if all { enter_all(&*node, 1, Intent::Write, 1) } else { enter(&*node, 1, 0, Intent::Write, 1) };
                assert_eq!(entry, Entry::Inside);
                set(&*node, 0, Door::GivenUp, 1);
                assert!(!if all { leave_all(&*node, 1) } else { leave(&*node, 1, 0) });
                assert_eq!(occupant(&*node, 0, Door::GivenUp, 0), None);
            }
        });
    }
}
