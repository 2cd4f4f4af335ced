//! Waits of a program's thread at an object, and requests of other ranks that the object holds back.

use crate::ids::ObjectId;
use crate::kernel::watch::{GuardState, RankState, Relay};
use aurora_net::Rank;
use std::ops::RangeInclusive;

/// A wait of the program's thread at an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The object's number for this kind of wait, for [`awaits`](super::SharedObject::awaits) and [`Holds::work`].
    /// Any number, if the object has one kind of wait.
    pub number: u64,
    /// The event that ends the wait.
    pub until: Until,
}

/// The event that ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// The awaited ranks' programs act: they enter a scope, come to an exchange, put a value.
    Acted,
    /// The awaited ranks' programs end a scope that they may have open.
    Ended,
    /// The awaited ranks' kernels answer. The wait is for their programs only if these kernels hold back a request of
    /// this rank ([`Holds::call`]).
    Answered,
}

/// The ranks that have to act before a wait can end.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The programs of these ranks have to act. A wait with [`Acted`](Until::Acted) or [`Ended`](Until::Ended) for this
    /// rank itself can never end, because its program waits. If the list is empty, the wait ends without any program,
    /// by a transfer under way, a timer, a doorbell, a device or a thread of the object's own
    /// ([`Reach`](super::Reach)). Such a wait is never reported as a wait that cannot end.
    pub ranks: Vec<Rank>,
    /// The waiting rank's activity, in words that follow its name: `waits for the end of a scope of ..`.
    pub doing: String,
}

/// The ranks that all have to act before an object can answer a request that it holds back. If there are none, a
/// transfer is under way, or a thread of the object's own acts.
#[derive(Clone, Debug, Default)]
pub struct Obstacle {
    /// True if the program of the rank that keeps the request has to act.
    pub by_itself: bool,
    /// The other ranks whose programs have to act.
    pub behind: Vec<Rank>,
}

/// The requests that an object holds back, and its own work: see [`SharedObject::holds`](super::SharedObject::holds).
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

    /// A request of `from` is held back until the program of any one of these ranks acts. It is reported as a deadlock
    /// only if all of them wait or have left. `of` may contain this rank and `from`: a lock names the rank that has it.
    pub fn call_any(&mut self, from: Rank, of: impl IntoIterator<Item = Rank>) {
        let held = self.state.parked.entry((from, self.object)).or_default();
        let ranks = self.state.sent.len();
        held.any.push((of.into_iter().filter(|rank| rank.index() < ranks).collect(), self.object));
    }

    /// This rank's part works without its program. Other ranks' waits at this object with these numbers end after this
    /// work.
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
