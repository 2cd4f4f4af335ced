//! The epoll instance on which an endpoint sleeps, with an eventfd, a timer and, if there is one, a socket.
//!
//! The handler's sources are in a second epoll instance inside it, which is created with the first source. The events
//! of the outer instance are edge-triggered, those of the inner one are level-triggered. Linux reports the inner one to
//! the outer one whenever something happens to a source, and keeps the list of the sources that are ready.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::io::{Errno, write};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Wakes one thread that sleeps on the poller or polls this descriptor, or is about to do so. Clones share one eventfd.
#[derive(Clone, Debug)]
pub(crate) struct Waker(Arc<OwnedFd>);

impl Waker {
    pub fn new() -> io::Result<Self> {
        Ok(Waker::of(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// An eventfd received from another process.
    pub fn of(eventfd: OwnedFd) -> Self {
        Waker(Arc::new(eventfd))
    }

    pub fn descriptor(&self) -> &Arc<OwnedFd> {
        &self.0
    }

    /// Wakes a thread. Never blocks; any thread may call this.
    pub fn kick(&self) {
        // Every write is an event. If the counter is full, one is pending anyway.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    /// The epoll instance of the sources, if there has been one.
    sources: OnceLock<OwnedFd>,
    waker: Waker,
    timer: OwnedFd,
    /// The kinds of events since the last `take_news`.
    news: AtomicU8,
}

/// The maximum number of events per call; the next call returns further events.
const EVENTS: usize = 4;

/// The kinds of events, as bits.
const SOMETHING: u64 = 0;
const AN_END: u64 = 1;
const A_SOURCE: u64 = 2;

/// Events that a thread does not find by looking at the routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct News {
    /// A watched connection has ended.
    pub ended: bool,
    pub source: bool,
}

/// The maximum number of sources per call of [`Poller::ready_sources`]. If more are ready, they take turns.
const SOURCES: usize = 32;

impl Poller {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Waker::new()?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let poller = Poller { epoll, sources: OnceLock::new(), waker, timer, news: AtomicU8::new(0) };
        // The profiles of some containers refuse these calls: an error here, not in the daemon.
        let never = Itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(Duration::ZERO) };
        timerfd_settime(&poller.timer, TimerfdTimerFlags::empty(), &never)?;
        epoll::wait(&poller.epoll, &mut no_events::<EVENTS>(), Some(&timespec(Duration::ZERO)))?;
        poller.watch(&poller.waker.0)?;
        poller.watch(&poller.timer)?;
        Ok(poller)
    }

    pub fn watch_end(&self, connection: impl AsFd) -> io::Result<()> {
        let data = epoll::EventData::new_u64(AN_END);
        epoll::add(&self.epoll, connection, data, epoll::EventFlags::RDHUP | epoll::EventFlags::ET)?;
        Ok(())
    }

    /// The events since the last call. Costs one load in an endpoint without node peers and sources.
    pub fn take_news(&self) -> News {
        let kinds = match self.news.load(Ordering::Relaxed) {
            0 => 0,
            _ => u64::from(self.news.swap(0, Ordering::Relaxed)),
        };
        News { ended: kinds & AN_END != 0, source: kinds & A_SOURCE != 0 }
    }

    /// Adds a source: wakes as long as it is readable or at its end; if `once`, a single time for each write to it. The
    /// caller holds the endpoint's lock.
    pub fn watch_source(&self, fd: impl AsFd, number: u64, once: bool) -> io::Result<()> {
        let sources = match self.sources.get() {
            Some(sources) => sources,
            None => {
                let sources = epoll::create(epoll::CreateFlags::CLOEXEC)?;
                let data = epoll::EventData::new_u64(A_SOURCE);
                epoll::add(&self.epoll, &sources, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
                self.sources.get_or_init(|| sources)
            }
        };
        let mut flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        flags.set(epoll::EventFlags::ET, once);
        epoll::add(sources, fd, epoll::EventData::new_u64(number), flags)?;
        Ok(())
    }

    pub fn forget_source(&self, fd: impl AsFd) {
        // Fails only if the program has closed the descriptor; closing removes the source too.
        let _ = self.sources.get().map(|sources| epoll::delete(sources, fd));
    }

    /// Some of the sources that are ready now; all are reported before one is reported again. Does not wait.
    pub fn ready_sources(&self) -> impl Iterator<Item = epoll::Event> + use<> {
        let mut events = no_events::<SOURCES>();
        let mut wait = |sources| epoll::wait(sources, &mut events, Some(&timespec(Duration::ZERO)));
        let count = self.sources.get().and_then(|sources| wait(sources).ok()).unwrap_or(0);
        events.into_iter().take(count)
    }

    /// Starts or stops watching for room in the socket. Only for waiting data: Linux reports room after each datagram.
    pub fn watch_room(&self, socket: impl AsFd, wanted: bool) {
        let mut flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        flags.set(epoll::EventFlags::OUT, wanted);
        // This also rechecks the socket, so room made in the meantime is not missed.
        if let Err(error) = epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(SOMETHING), flags) {
            unreachable!("epoll_ctl on a socket of ours: {error}");
        }
    }

    /// Wakes when `fd` is readable.
    pub fn watch(&self, fd: impl AsFd) -> io::Result<()> {
        let data = epoll::EventData::new_u64(SOMETHING);
        epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(())
    }

    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Sleeps for `pause`, or until a source is ready.
    pub fn pause(&self, pause: Duration) {
        match self.sources.get() {
            None => thread::sleep(pause),
            Some(sources) => drop(poll(&mut [PollFd::new(sources, PollFlags::IN)], Some(&timespec(pause)))),
        }
    }

    /// Sleeps until an event, or for at most `longest`.
    pub fn sleep_at_most(&self, longest: Duration) {
        // `epoll_wait` counts in milliseconds.
        let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(longest)));
        self.sleep_for(Some(&timespec(Duration::ZERO)));
    }

    /// Sleeps until an event. The caller then looks at all routes.
    pub fn sleep(&self) {
        self.sleep_for(None);
    }

    fn sleep_for(&self, limit: Option<&Timespec>) {
        let mut events = no_events::<EVENTS>();
        match epoll::wait(&self.epoll, &mut events, limit) {
            // A signal: the caller looks and finds nothing.
            Err(Errno::INTR) => {}
            Ok(count) => {
                let kinds = events[..count].iter().fold(0, |kinds, event| kinds | event.data.u64());
                if kinds != SOMETHING {
                    self.news.fetch_or(kinds as u8, Ordering::Relaxed);
                }
            }
            Err(error) => unreachable!("epoll_wait on an epoll of ours: {error}"),
        }
    }

    /// Sets the timer to wake the poller once, `after` from now, instead of its earlier setting.
    pub fn set_timer(&self, after: Duration) {
        let spec = Itimerspec {
            it_interval: timespec(Duration::ZERO),
            // Zero would disarm it.
            it_value: timespec(after.max(Duration::from_nanos(1))),
        };
        if let Err(error) = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec) {
            unreachable!("timerfd_settime on a timer of ours: {error}");
        }
    }
}

fn no_events<const N: usize>() -> [epoll::Event; N] {
    [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(SOMETHING) }; N]
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs().min(1 << 40) as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}
