//! What a program's thread waits for at an object, and what the object keeps others waiting for: the watch over waits
//! judges by it whether a wait can ever end.

use crate::ids::ObjectId;
use crate::kernel::watch::{GuardState, RankState, Relay};
use aurora_net::Rank;
use std::ops::RangeInclusive;

/// A wait of the program's thread at an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// What is waited for, as the object numbers its waits.
    pub number: u64,
    /// What ends it.
    pub until: Until,
}

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// The awaited ranks' programs do something: they enter a scope, or come to an exchange.
    Came,
    /// The awaited ranks' programs end a scope that they may have open.
    Ended,
    /// The awaited ranks' kernels answer. The wait is for their programs only as far as these kernels keep something of
    /// this rank's ([`Holds::call`]).
    Answered,
}

/// Who has to act before a wait can end.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// These ranks. Nobody: a transfer is under way.
    pub ranks: Vec<Rank>,
    /// What the waiting rank does, in words that follow its name: `waits for the end of a scope of ..`.
    pub doing: String,
}

/// Who has to act before something that an object keeps can be done. Nobody: a transfer is under way.
#[derive(Clone, Debug, Default)]
pub struct Obstacle {
    /// The program of the rank that keeps it.
    pub by_itself: bool,
    /// The programs of these other ranks.
    pub behind: Vec<Rank>,
}

/// What an object keeps others waiting for: see [`SharedObject::holds`](super::SharedObject::holds).
pub struct Holds<'a> {
    pub(crate) state: &'a mut RankState,
    pub(crate) object: ObjectId,
    /// The guard that was opened last.
    pub(crate) guard: Option<GuardState>,
    /// Nothing has ended the object: the work of one at fault goes on no more.
    pub(crate) sound: bool,
}

impl Holds<'_> {
    /// A request, or something else, of another rank's is kept.
    pub fn call(&mut self, from: Rank, Obstacle { by_itself, behind }: Obstacle) {
        let held = self.state.parked.entry(from).or_default();
        held.by_itself |= by_itself;
        if by_itself && held.guard.is_none() {
            held.guard = self.guard.clone();
        }
        held.behind.extend(behind.into_iter().map(|rank| (rank, self.object)));
    }

    /// The same, until the program of one of these ranks does something: of any of them, this rank among them or not.
    pub fn call_any(&mut self, from: Rank, of: impl IntoIterator<Item = Rank>) {
        let held = self.state.parked.entry(from).or_default();
        held.any.push((of.into_iter().collect(), self.object));
    }

    /// The kernel of this rank does something by itself, on which waits at this object with these numbers depend,
    /// wherever they are.
    pub fn work(&mut self, waits: RangeInclusive<u64>, Obstacle { by_itself, behind }: Obstacle) {
        if !self.sound {
            return;
        }
        let relay = Relay { waits: waits.into_inner(), by_itself, behind: behind.into_iter().collect() };
        self.state.relays.push((self.object, relay));
    }
}
