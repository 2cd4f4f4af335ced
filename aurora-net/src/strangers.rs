//! Connections to a socket of a job that have not proved yet that they come from it.
//!
//! Any process of this user may connect. So nobody who has merely connected takes much, or for long: a stranger may say
//! a few bytes, has [`TIMEOUT`] for that, and there is a limit to how many there are. Where another comes and there is
//! no room, the oldest goes, if it has had [`PROTECTED`]; if not, the door stays closed for so long. A rank connects
//! and says who it is in one go: it needs less. A connection that is known to come from a process of the job (by its
//! number) waits as long as it wants, and is never dropped for others.

use rustix::process::{Resource, getrlimit};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How long a stranger may stay one.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

/// How long a stranger is heard before it may be dropped for another.
const PROTECTED: Duration = Duration::from_millis(100);

/// How many there may be.
const MOST: usize = 64;

/// What a stranger may say before it is known, in bytes.
pub(crate) const LONGEST: usize = 256;

/// Connections of kind `T` that wait to be heard.
#[derive(Debug)]
pub(crate) struct Strangers<T> {
    waiting: VecDeque<Stranger<T>>,
    most: usize,
    /// Nobody is taken in before.
    closed_until: Option<Instant>,
}

/// Whether there is room for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    Here,
    /// Soon: the door is closed for a moment.
    Later,
    /// All who wait are known to belong to the job.
    None,
}

#[derive(Debug)]
struct Stranger<T> {
    channel: T,
    /// When it came; none of one that is known to belong to the job.
    since: Option<Instant>,
}

impl<T> Strangers<T> {
    pub fn new() -> Self {
        // The job itself needs descriptors too.
        let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(allowed / 4).unwrap_or(usize::MAX).clamp(1, MOST);
        Strangers { waiting: VecDeque::new(), most, closed_until: None }
    }

    /// Whether the door is open: only then somebody has to be looked for there.
    pub fn is_open(&self, now: Instant) -> bool {
        self.closed_until.is_none_or(|until| until <= now)
    }

    /// Makes room for another, if there is none.
    pub fn room(&mut self, now: Instant) -> Room {
        let strangers = self.waiting.iter().filter(|stranger| stranger.since.is_some()).count();
        if strangers < self.most { Room::Here } else { self.make_room(now) }
    }

    /// Makes room for another: there is no descriptor for it.
    pub fn make_room(&mut self, now: Instant) -> Room {
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

    /// Takes one in.
    pub fn admit(&mut self, channel: T, is_known: bool, now: Instant) {
        self.waiting.push_back(Stranger { channel, since: (!is_known).then_some(now) });
    }

    /// Drops those whose time is over, and hears all others: `poll` gives a stranger back that has not said all yet.
    pub fn poll(&mut self, now: Instant, mut poll: impl FnMut(T) -> Option<T>) {
        for Stranger { channel, since } in std::mem::take(&mut self.waiting) {
            // Heard first: what it has said in time counts, whenever we come to it.
            if let Some(channel) = poll(channel)
                && since.is_none_or(|since| now < since + TIMEOUT)
            {
                self.waiting.push_back(Stranger { channel, since });
            }
        }
    }

    /// When to look again, although nothing has happened.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let over = self.waiting.iter().filter_map(|stranger| stranger.since).min().map(|since| since + TIMEOUT);
        let opened = self.closed_until.filter(|until| now < *until);
        over.into_iter().chain(opened).min()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().map(|stranger| &stranger.channel)
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
        // Not before it has had time to speak.
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
