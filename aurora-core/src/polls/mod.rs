//! Polling: a rank that repeats the same read until another rank has changed the element.
//!
//! Polling is legal, and may last. But if no rank ever changes the element, the rank would run for ever, and the watch
//! over *waits* would not see it. So from time to time a rank's kernel watches its calling thread
//! (`kernel/polling.rs`), in a *burst*. It sets all single accesses aside ([`Permit::watch`](crate::memory::Permit)),
//! so that each takes a slow path, where it is noted. If the next accesses are looks at the same few places that find
//! the same each time ([`record`]), the rank seems to poll. After that, reads take the fast path until the next burst,
//! but writes stay aside. A write or any other call ends the poll, and so does a burst that finds something else. So
//! the reads of a poll are only sampled, but it is certain that the rank has done nothing else. Watching costs a single
//! read nothing: no counter, no branch.
//!
//! [`Watcher`] belongs to the calling thread, which reports to its kernel by [`Polls`].

mod record;

pub(crate) use record::Look;

use crate::Site;
use crate::ids::ObjectId;
use record::Record;
use rustix::time::{ClockId, clock_gettime};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub(crate) struct Poll {
    /// The number of this poll on its rank.
    pub(crate) number: u64,
    pub(crate) object: ObjectId,
    /// The call, and its line.
    pub(crate) action: &'static str,
    pub(crate) site: Site,
    pub(crate) since: Instant,
}

/// The accesses of a rank's calling thread that are noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Nothing,
    /// Between two bursts: all except single reads in shared memory.
    Writes,
    /// In a burst.
    All,
}

/// The report of a rank's calling thread to its kernel about its looks.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// The number of the possible poll, times 2, plus 1 in a burst; 0: none.
    state: AtomicU64,
    /// The number of looks in bursts.
    looks: AtomicU64,
    poll: Mutex<Option<Poll>>,
}

const BURST: u64 = 1;

impl Polls {
    /// Called by the kernel: poll `number` may begin; starts a burst.
    pub(crate) fn begin(&self, number: u64) {
        *self.poll() = None;
        self.looks.store(0, Ordering::Relaxed);
        self.state.store(number << 1 | BURST, Ordering::Release);
    }

    /// Called by the kernel: starts another burst, if the poll has not ended meanwhile.
    pub(crate) fn watch_again(&self, number: u64) {
        let _ = self.state.compare_exchange(number << 1, number << 1 | BURST, Ordering::AcqRel, Ordering::Acquire);
    }

    #[inline]
    pub(crate) fn level(&self) -> Level {
        match self.state.load(Ordering::Acquire) {
            0 => Level::Nothing,
            state if state & BURST != 0 => Level::All,
            _ => Level::Writes,
        }
    }

    pub(crate) fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }

    /// The poll, once a burst has found one.
    pub(crate) fn find(&self) -> Option<Poll> {
        self.poll().clone()
    }

    fn poll(&self) -> std::sync::MutexGuard<'_, Option<Poll>> {
        self.poll.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The looks of a rank, on its calling thread.
#[derive(Debug)]
pub(crate) struct Watcher {
    polls: Arc<Polls>,
    /// The number of the poll, when its record began, and the record.
    record: RefCell<(u64, Instant, Record)>,
    /// A look is under way: calls inside it are a part of it.
    looking: Cell<bool>,
    /// `used`: the thread's processor time when its last look ended. `computed`: the time between this look and the
    /// last.
    used: Cell<Duration>,
    computed: Cell<Duration>,
}

impl Watcher {
    pub(crate) fn new(polls: Arc<Polls>) -> Self {
        let (record, looking) = (RefCell::new((0, Instant::now(), Record::default())), Cell::new(false));
        Watcher { polls, record, looking, used: Cell::default(), computed: Cell::default() }
    }

    #[inline]
    pub(crate) fn level(&self) -> Level {
        self.polls.level()
    }

    /// Ends the poll: called for every action that is no look, and ignored inside a look.
    #[inline]
    pub(crate) fn disturb(&self) {
        if self.level() != Level::Nothing && !self.looking.get() {
            self.stop();
        }
    }

    /// Does something that may be a look.
    pub(crate) fn during<R>(&self, look: impl FnOnce() -> R) -> R {
        let before = self.looking.replace(true);
        scopeguard::defer!(self.looking.set(before));
        look()
    }

    pub(crate) fn begin_look(&self) {
        self.computed.set(thread_time().saturating_sub(self.used.get()));
    }

    /// The action was a look.
    pub(crate) fn note(&self, look: &Look<'_>) {
        let state = self.polls.state.load(Ordering::Acquire);
        if state == 0 {
            return;
        }
        let (number, record) = (state >> 1, &mut *self.record.borrow_mut());
        if record.0 != number {
            *record = (number, Instant::now(), Record::default());
        }
        let (_, since, record) = record;
        if state & BURST == 0 {
            if !record.agrees(look) {
                self.stop();
            }
            return;
        }
        if !record.note(look, self.computed.get()) {
            return self.stop();
        }
        self.used.set(thread_time());
        self.polls.looks.store(record.looks(), Ordering::Relaxed);
        if record.ends_burst()
            && let Some((object, action, site)) = record.first()
        {
            let mut poll = self.polls.poll();
            if poll.as_ref().is_none_or(|poll| poll.number != number) {
                *poll = Some(Poll { number, object, action, site: site.clone(), since: *since });
            }
            drop(poll);
            // The kernel may have given the poll up meanwhile.
            let _ = self.polls.state.compare_exchange(state, state & !BURST, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    #[cold]
    fn stop(&self) {
        self.polls.state.store(0, Ordering::Release);
        *self.polls.poll() = None;
    }
}

/// Processor time of the calling thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_is_told_until_it_is_disturbed() {
        let (polls, site) = (Arc::new(Polls::default()), Site::here());
        let watcher = Watcher::new(polls.clone());
        let look = Look { object: ObjectId(3), action: "get", site: &site, asked: 0, found: 1 };
        let burst = || (0..record::BURST).for_each(|_| watcher.note(&look));
        burst();
        assert!(polls.find().is_none() && polls.looks() == 0, "nobody watches");
        for number in 1..3 {
            polls.begin(number);
            (1..record::BURST).for_each(|_| watcher.note(&look));
            assert!(polls.find().is_none());
            watcher.during(|| watcher.disturb());
            assert_eq!(polls.level(), Level::All);
            watcher.note(&look);
            let poll = polls.find().unwrap();
            assert_eq!((poll.number, poll.object, poll.action), (number, ObjectId(3), "get"));
            assert_eq!((polls.level(), polls.looks()), (Level::Writes, record::BURST));
            // Between bursts looks agree, and do not count.
            burst();
            polls.watch_again(number);
            burst();
            assert_eq!((polls.level(), polls.looks()), (Level::Writes, 2 * record::BURST));
            watcher.disturb();
            assert!(polls.find().is_none() && polls.level() == Level::Nothing);
            polls.watch_again(number);
            assert_eq!(polls.level(), Level::Nothing);
        }
        for in_burst in [true, false] {
            polls.begin(3);
            burst();
            if in_burst {
                polls.watch_again(3);
            }
            watcher.note(&Look { found: 2, ..look });
            assert!(polls.find().is_none() && polls.level() == Level::Nothing);
        }
    }
}
