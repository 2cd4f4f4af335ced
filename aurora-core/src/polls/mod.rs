//! Polling: a rank that reads the same again and again until another has changed it.
//!
//! That is legal, and may last. But if nobody ever changes it, the rank would run for ever, and no watch over *waits*
//! would see it. So now and then a rank's kernel has a look at what its calling thread does (`kernel/polling.rs`), in
//! a *burst*: it sets all single accesses aside ([`Permit::watch`](crate::memory::Permit)), so that each goes by a slow
//! path, where it is noted. If the next few are looks at the same few places that find the same again and again
//! ([`record`]), the rank seems to poll. Reads are at once again then, until the next burst; but writes stay aside, and
//! any that is made, or any other call, ends the poll, as does a burst that finds something else. So a poll is sampled
//! as far as its reads go, and exact in that the rank has done nothing else; a single read pays nothing for being
//! watched: no counter, no branch.
//!
//! What is here belongs to the calling thread ([`Watcher`]), but for what it tells its kernel ([`Polls`]).

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

/// A rank that polls.
#[derive(Clone, Debug)]
pub(crate) struct Poll {
    /// Which of this rank's.
    pub(crate) number: u64,
    pub(crate) object: ObjectId,
    /// What it calls, and where.
    pub(crate) action: &'static str,
    pub(crate) site: Site,
    pub(crate) since: Instant,
}

/// What is noted of what a rank's calling thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Nothing,
    /// Between two bursts: all but single reads in memory that is shared.
    Writes,
    /// In a burst.
    All,
}

/// What a rank's calling thread tells its kernel of its looks.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// The poll that there may be, times 2, and 1 more in a burst; 0: there is none.
    state: AtomicU64,
    /// How often it has looked in bursts.
    looks: AtomicU64,
    poll: Mutex<Option<Poll>>,
}

const BURST: u64 = 1;

impl Polls {
    /// By the kernel: what may be poll `number` begins, with a burst.
    pub(crate) fn begin(&self, number: u64) {
        *self.poll() = None;
        self.looks.store(0, Ordering::Relaxed);
        self.state.store(number << 1 | BURST, Ordering::Release);
    }

    /// By the kernel: another burst, if the poll has not ended meanwhile.
    pub(crate) fn watch_again(&self, number: u64) {
        let _ = self.state.compare_exchange(number << 1, number << 1 | BURST, Ordering::AcqRel, Ordering::Acquire);
    }

    /// What is noted.
    #[inline]
    pub(crate) fn level(&self) -> Level {
        match self.state.load(Ordering::Acquire) {
            0 => Level::Nothing,
            state if state & BURST != 0 => Level::All,
            _ => Level::Writes,
        }
    }

    /// How often the calling thread has looked in bursts.
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
    /// Of which time, since when.
    record: RefCell<(u64, Instant, Record)>,
    /// A look is under way: what it calls is a part of it.
    looking: Cell<bool>,
    /// How much time of a processor the thread had used when its last look ended, and between that and the one under
    /// way.
    used: Cell<Duration>,
    computed: Cell<Duration>,
}

impl Watcher {
    pub(crate) fn new(polls: Arc<Polls>) -> Self {
        let (record, looking) = (RefCell::new((0, Instant::now(), Record::default())), Cell::new(false));
        Watcher { polls, record, looking, used: Cell::default(), computed: Cell::default() }
    }

    /// What is noted at this moment.
    #[inline]
    pub(crate) fn level(&self) -> Level {
        self.polls.level()
    }

    /// Something that is no look, unless it is a part of one.
    #[inline]
    pub(crate) fn disturb(&self) {
        if self.level() != Level::Nothing && !self.looking.get() {
            self.stop();
        }
    }

    /// Does something that may turn out to be a look.
    pub(crate) fn during<R>(&self, look: impl FnOnce() -> R) -> R {
        struct Looking<'a>(&'a Cell<bool>, bool);
        impl Drop for Looking<'_> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let _looking = Looking(&self.looking, self.looking.replace(true));
        look()
    }

    /// A look of a burst is about to begin.
    pub(crate) fn begin_look(&self) {
        self.computed.set(thread_time().saturating_sub(self.used.get()));
    }

    /// It was one.
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

/// How much time of a processor the calling thread has used.
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
