//! Strangers: connections to a job's socket that have not proved yet that they belong to the job.
//!
//! Any process of this user can connect. So a stranger may send only a few bytes, within [`TIMEOUT`], and the number of
//! strangers is limited. If there is no room for a new connection, the oldest stranger is closed once it has had
//! [`PROTECTED`]; until then no connection is accepted. A rank sends its proof right after connecting, so it needs less
//! time. A connection known by its process id to belong to the job has no time limit and is never closed for another.

use crate::peer::Peer;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use rustix::process::{Resource, getrlimit};
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// The time for which a stranger is not closed for another one.
const PROTECTED: Duration = Duration::from_millis(100);

const MOST: usize = 64;

/// The maximum length of a stranger's proof in bytes.
pub(crate) const LONGEST: usize = 256;

#[derive(Debug)]
pub(crate) struct Strangers<T> {
    waiting: VecDeque<Stranger<T>>,
    most: usize,
    closed_until: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Room {
    Here,
    /// No room yet: accepting has been suspended for a moment.
    Later,
    /// No room ever: all connections belong to the job.
    None,
}

#[derive(Debug)]
struct Stranger<T> {
    channel: T,
    /// The time of its connection; `None` if it is known to belong to the job.
    since: Option<Instant>,
}

impl<T> Strangers<T> {
    pub fn new() -> Self {
        // The job itself needs descriptors too.
        let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(allowed / 4).unwrap_or(usize::MAX).clamp(1, MOST);
        Strangers { waiting: VecDeque::new(), most, closed_until: None }
    }

    pub fn is_open(&self, now: Instant) -> bool {
        self.closed_until.is_none_or(|until| until <= now)
    }

    fn room(&mut self, now: Instant) -> Room {
        let strangers = self.waiting.iter().filter(|stranger| stranger.since.is_some()).count();
        if strangers < self.most { Room::Here } else { self.make_room(now) }
    }

    /// Accepts at most `most` connections of this user, so that strangers cannot starve the rest of the job. `check`
    /// gets each one with its process id. It returns the connection if its proof is incomplete, and whether it is known
    /// to belong to the job.
    ///
    /// # Errors
    /// There is no descriptor for another connection, and all connections belong to the job.
    pub fn accept_from(
        &mut self,
        listener: impl AsFd,
        most: usize,
        mut check: impl FnMut(OwnedFd, i32) -> Option<(T, bool)>,
    ) -> Result<(), Errno> {
        for _ in 0..most {
            let now = Instant::now();
            if self.room(now) == Room::Later {
                break;
            }
            match accept(&listener) {
                Ok(None) => break,
                Ok(Some(socket)) => {
                    let peer = Peer::of(&socket).ok().filter(|peer| peer.is_same_user());
                    if let Some((channel, is_known)) = peer.and_then(|peer| check(socket, peer.pid)) {
                        self.admit(channel, is_known, now);
                    }
                }
                // No descriptor is left: close a connection that has sent nothing.
                Err(error) => match self.make_room(now) {
                    Room::Here => {}
                    Room::Later => break,
                    Room::None => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Closes a stranger, because there is no descriptor for another connection.
    fn make_room(&mut self, now: Instant) -> Room {
        let place = self.waiting.iter().position(|stranger| stranger.since.is_some());
        let Some((place, since)) = place.and_then(|place| Some((place, self.waiting[place].since?))) else {
            return Room::None;
        };
        if now < since + PROTECTED {
            self.closed_until = Some(since + PROTECTED);
            return Room::Later;
        }
        self.waiting.remove(place);
        Room::Here
    }

    fn admit(&mut self, channel: T, is_known: bool, now: Instant) {
        self.waiting.push_back(Stranger { channel, since: (!is_known).then_some(now) });
    }

    /// Reads all strangers, and closes those whose time has ended. `poll` returns a stranger whose proof is incomplete.
    pub fn poll(&mut self, now: Instant, mut poll: impl FnMut(T) -> Option<T>) {
        for Stranger { channel, since } in std::mem::take(&mut self.waiting) {
            // Read first: a proof sent in time counts, even if it is read late.
            if let Some(channel) = poll(channel)
                && since.is_none_or(|since| now < since + TIMEOUT)
            {
                self.waiting.push_back(Stranger { channel, since });
            }
        }
    }

    /// The time at which to poll again even if nothing arrives.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let over = self.waiting.iter().filter_map(|stranger| stranger.since).min().map(|since| since + TIMEOUT);
        let opened = self.closed_until.filter(|until| now < *until);
        over.into_iter().chain(opened).min()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().map(|stranger| &stranger.channel)
    }
}

/// The next connection in the queue of a non-blocking listener, if there is one.
pub(crate) fn accept(listener: impl AsFd) -> Result<Option<OwnedFd>, Errno> {
    loop {
        match accept_with(&listener, SocketFlags::CLOEXEC) {
            Ok(socket) => return Ok(Some(socket)),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channels(strangers: &Strangers<usize>) -> Vec<usize> {
        strangers.iter().copied().collect()
    }

    fn of_at_most(most: usize) -> Strangers<usize> {
        Strangers { waiting: VecDeque::new(), most, closed_until: None }
    }

    #[test]
    fn the_oldest_that_is_not_known_goes_for_another() {
        let now = Instant::now();
        let mut strangers = of_at_most(3);
        strangers.admit(0, true, now);
        for channel in 1..=3 {
            assert_eq!(strangers.room(now), Room::Here);
            strangers.admit(channel, false, now);
        }
        // A stranger is not closed before it has had time to send its proof.
        assert_eq!((strangers.room(now), strangers.is_open(now)), (Room::Later, false));
        assert_eq!(strangers.deadline(now), Some(now + PROTECTED));
        let now = now + PROTECTED;
        assert!(strangers.is_open(now));
        assert_eq!((strangers.room(now), channels(&strangers)), (Room::Here, vec![0, 2, 3]));
        strangers.admit(4, false, now);
        assert_eq!((strangers.room(now), channels(&strangers)), (Room::Here, vec![0, 3, 4]));
        assert_eq!([(); 3].map(|()| strangers.make_room(now + PROTECTED)), [Room::Here, Room::Here, Room::None]);
        assert_eq!(channels(&strangers), [0]);
    }

    #[test]
    fn a_stranger_has_its_time_and_is_heard_at_the_end_of_it() {
        let now = Instant::now();
        let mut strangers = of_at_most(9);
        assert_eq!(strangers.deadline(now), None);
        strangers.admit(0, true, now);
        strangers.admit(1, false, now);
        strangers.admit(2, false, now + TIMEOUT / 2);
        assert_eq!(strangers.deadline(now), Some(now + TIMEOUT));
        strangers.poll(now + TIMEOUT / 2, Some);
        assert_eq!(channels(&strangers), [0, 1, 2]);
        let mut heard = Vec::new();
        strangers.poll(now + TIMEOUT, |channel| {
            heard.push(channel);
            Some(channel)
        });
        assert_eq!((heard, channels(&strangers)), (vec![0, 1, 2], vec![0, 2]));
        strangers.poll(now + 9 * TIMEOUT, |channel| (channel != 0).then_some(channel));
        assert!(channels(&strangers).is_empty());
    }

    #[test]
    fn there_is_room_for_at_least_one_and_at_most_as_many_as_said() {
        assert!((1..=MOST).contains(&Strangers::<()>::new().most));
    }
}
