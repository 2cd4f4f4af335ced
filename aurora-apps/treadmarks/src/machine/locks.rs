//! Locks. Each lock has a manager, rank `lock mod n`, which remembers the last rank that has requested the lock.

use super::Machine;
use super::message::{Malformed, Message, Peer, Time};
use std::collections::BTreeMap;

/// The locks that a rank manages or has requested.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Locks {
    of: BTreeMap<u32, Lock>,
    /// The lock that the program waits for.
    wanted: Option<u32>,
}

/// A lock, as one rank knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lock {
    /// True: the rank was the last one to have the lock, and may acquire it again without a message.
    here: bool,
    /// True: the program holds the lock.
    held: bool,
    /// The rank that gets the lock next, and the vector time of that rank's request.
    next: Option<(Peer, Time)>,
    /// At the manager: the last rank that has requested the lock.
    last: Peer,
}

impl Machine {
    fn manager(&self, lock: u32) -> Peer {
        (lock as usize % self.ranks) as Peer
    }

    fn lock(&mut self, lock: u32) -> &mut Lock {
        let manager = self.manager(lock);
        let here = manager == self.me;
        self.locks.of.entry(lock).or_insert(Lock { here, held: false, next: None, last: manager })
    }

    /// Returns true if acquiring this lock takes no message.
    pub fn has_lock(&self, lock: u32) -> bool {
        self.locks.of.get(&lock).map_or(self.manager(lock) == self.me, |lock| lock.here)
    }

    /// The lock that the program waits for.
    pub fn awaited_lock(&self) -> Option<u32> {
        self.locks.wanted
    }

    /// The ranks to which this rank owes a lock.
    pub fn owed(&self) -> impl Iterator<Item = Peer> + '_ {
        self.locks.of.values().filter_map(|lock| lock.next.as_ref()).map(|(rank, _)| *rank)
    }

    /// The program acquires a lock that it does not hold. It has [closed](Machine::close) its interval, unless this
    /// rank [has](Machine::has_lock) the lock. It holds the lock once [`Machine::awaited_lock`] is `None`.
    pub fn acquire(&mut self, lock: u32) -> Vec<(Peer, Message)> {
        let (me, manager, time) = (self.me, self.manager(lock), self.time());
        let known = self.lock(lock);
        if known.here {
            known.held = true;
            return Vec::new();
        }
        let last = std::mem::replace(&mut known.last, me);
        self.locks.wanted = Some(lock);
        vec![match manager == me {
            true => (last, Message::Forward { lock, rank: me, time }),
            false => (manager, Message::Acquire { lock, time }),
        }]
    }

    /// The program releases a lock that it holds. It has [closed](Machine::close) its interval.
    pub fn release(&mut self, lock: u32) -> Vec<(Peer, Message)> {
        let known = self.lock(lock);
        known.held = false;
        match known.next.take() {
            Some((rank, time)) => vec![self.grant(lock, rank, &time)],
            None => Vec::new(),
        }
    }

    fn grant(&mut self, lock: u32, to: Peer, time: &Time) -> (Peer, Message) {
        self.lock(lock).here = false;
        (to, Message::Grant { lock, news: self.news_beyond(time) })
    }

    /// Handles a request at the manager: another rank wants a lock.
    pub(super) fn wanted_by(&mut self, from: Peer, lock: u32, time: Time) -> Result<Vec<(Peer, Message)>, Malformed> {
        if self.manager(lock) != self.me || time.len() != self.ranks {
            return Err(Malformed);
        }
        let last = std::mem::replace(&mut self.lock(lock).last, from);
        if last == self.me {
            return self.forwarded(from, lock, time);
        }
        if last == from { Err(Malformed) } else { Ok(vec![(last, Message::Forward { lock, rank: from, time })]) }
    }

    /// Handles a forwarded request at the last rank that has requested a lock: `rank` wants the lock now.
    pub(super) fn forwarded(&mut self, rank: Peer, lock: u32, time: Time) -> Result<Vec<(Peer, Message)>, Malformed> {
        let is_wanted = self.locks.wanted == Some(lock);
        let is_rank = usize::from(rank) < self.ranks && rank != self.me && time.len() == self.ranks;
        let known = self.lock(lock);
        if !is_rank || known.next.is_some() || !(known.here || is_wanted) {
            return Err(Malformed);
        }
        if known.here && !known.held {
            return Ok(vec![self.grant(lock, rank, &time)]);
        }
        known.next = Some((rank, time));
        Ok(Vec::new())
    }

    /// This rank gets the lock.
    pub(super) fn granted(&mut self, lock: u32) -> Result<(), Malformed> {
        if self.locks.wanted.take() != Some(lock) {
            return Err(Malformed);
        }
        let known = self.lock(lock);
        (known.here, known.held) = (true, true);
        Ok(())
    }
}
