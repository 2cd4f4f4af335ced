//! What a program's thread waits for at an object, and what the object makes others wait for.

use crate::ids::ObjectId;
use crate::kernel::watch::{GuardState, RankState, Relay};
use aurora_net::Rank;
use std::ops::RangeInclusive;

/// A wait of the program's thread at an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// What is waited for, as the object numbers its waits for [`awaits`](super::SharedObject::awaits) and
    /// [`Holds::work`]. Any number, if the object has one kind of wait.
    pub number: u64,
    /// What ends it.
    pub until: Until,
}

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// The awaited ranks' programs act: they enter a scope, come to an exchange, put a value.
    Came,
    /// The awaited ranks' programs end a scope that they may have open.
    Ended,
    /// The awaited ranks' kernels answer. The wait is for their programs only if these kernels hold back something of
    /// this rank ([`Holds::call`]).
    Answered,
}

/// The ranks that have to act before a wait can end.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The programs of these ranks. A wait for this rank itself until it has [`Came`](Until::Came) or
    /// [`Ended`](Until::Ended) something can never end: its program waits. If empty, the wait ends without any program,
    /// by a transfer under way, a timer, a doorbell, a device or a thread of the object's own
    /// ([`Reach`](super::Reach)). Such a wait is never reported as one that cannot end.
    pub ranks: Vec<Rank>,
    /// What the waiting rank does, in words that follow its name: `waits for the end of a scope of ..`.
    pub doing: String,
}

/// The ranks that all have to act before an object can answer a request that it holds back. If none, a transfer is
/// under way, or a thread of the object's own acts.
#[derive(Clone, Debug, Default)]
pub struct Obstacle {
    /// The program of the rank that keeps the request.
    pub by_itself: bool,
    /// The programs of these other ranks.
    pub behind: Vec<Rank>,
}

/// What an object makes others wait for: see [`SharedObject::holds`](super::SharedObject::holds).
pub struct Holds<'a> {
    pub(crate) state: &'a mut RankState,
    pub(crate) object: ObjectId,
    pub(crate) guard: Option<GuardState>,
    /// Nothing has ended the object: a faulty object does no more work.
    pub(crate) sound: bool,
}

impl std::fmt::Debug for Holds<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Holds").field("object", &self.object).finish_non_exhaustive()
    }
}

impl Holds<'_> {
    /// A request of `from` is held back until all ranks that the obstacle names have acted.
    pub fn call(&mut self, from: Rank, Obstacle { by_itself, behind }: Obstacle) {
        let held = self.state.parked.entry((from, self.object)).or_default();
        held.by_itself |= by_itself;
        if by_itself && held.guard.is_none() {
            held.guard = self.guard.clone();
        }
        let ranks = self.state.sent.len();
        held.behind.extend(behind.into_iter().filter(|rank| rank.index() < ranks).map(|rank| (rank, self.object)));
    }

    /// A request of `from` is held back until any one of these ranks' programs acts. It is reported as a deadlock only
    /// if all of them wait or have left. This rank, and `from`, may be among them: a lock names the rank that has it.
    pub fn call_any(&mut self, from: Rank, of: impl IntoIterator<Item = Rank>) {
        let held = self.state.parked.entry((from, self.object)).or_default();
        let ranks = self.state.sent.len();
        held.any.push((of.into_iter().filter(|rank| rank.index() < ranks).collect(), self.object));
    }

    /// This rank's part works without its program. Other ranks' waits at this object with these numbers end after it.
    pub fn work(&mut self, waits: RangeInclusive<u64>, Obstacle { by_itself, behind }: Obstacle) {
        if !self.sound {
            return;
        }
        let ranks = self.state.sent.len();
        let behind = behind.into_iter().filter(|rank| rank.index() < ranks);
        let relay = Relay { waits: waits.into_inner(), by_itself, behind: behind.collect() };
        self.state.relays.push((self.object, relay));
    }
}
