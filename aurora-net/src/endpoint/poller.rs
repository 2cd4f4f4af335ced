//! The epoll instance on which an endpoint sleeps, with an eventfd, a timer and, if there is one, a socket.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::io::{Errno, write};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Wakes one thread that sleeps on the poller, or that is about to.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub fn new() -> io::Result<Self> {
        Ok(Waker(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// An eventfd received from another process.
    pub fn of(eventfd: OwnedFd) -> Self {
        Waker(eventfd)
    }

    pub fn share(&self) -> io::Result<Self> {
        self.0.try_clone().map(Waker)
    }

    /// Never blocks; any thread may call it.
    pub fn kick(&self) {
        // Edge-triggered: every write is an event, and the counter is never read. If it overflows after 2^64 kicks, the
        // write fails, but then an event is pending.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// An epoll instance whose events are all edge-triggered.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    waker: Arc<Waker>,
    timer: OwnedFd,
    /// Whether a watched connection has ended since the last `take_ended`.
    ended: AtomicBool,
}

/// The most events per call; further ones come with the next call.
const SOURCES: usize = 4;

/// The kinds of events that are told apart.
const SOMETHING: u64 = 0;
const AN_END: u64 = 1;

impl Poller {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let waker = Arc::new(Waker::new()?);
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let poller = Poller { epoll, waker, timer, ended: AtomicBool::new(false) };
        poller.watch(&poller.waker.0, epoll::EventFlags::IN)?;
        poller.watch(&poller.timer, epoll::EventFlags::IN)?;
        Ok(poller)
    }

    /// Adds a socket: wakes when a datagram arrives.
    pub fn watch_socket(&self, socket: impl AsFd) -> io::Result<()> {
        self.watch(socket, epoll::EventFlags::IN)
    }

    /// Adds a connection: wakes when it ends.
    pub fn watch_end(&self, connection: impl AsFd) -> io::Result<()> {
        let data = epoll::EventData::new_u64(AN_END);
        epoll::add(&self.epoll, connection, data, epoll::EventFlags::RDHUP | epoll::EventFlags::ET)?;
        Ok(())
    }

    /// Whether a watched connection has ended since the last call.
    pub fn take_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) && self.ended.swap(false, Ordering::Relaxed)
    }

    /// Sets whether room in the socket wakes. Only while data waits for room: Linux reports it after each datagram that
    /// has left.
    pub fn watch_room(&self, socket: impl AsFd, wanted: bool) {
        let mut flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        flags.set(epoll::EventFlags::OUT, wanted);
        // This also rechecks the socket, so room made in the meantime is not missed.
        if let Err(error) = epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(SOMETHING), flags) {
            unreachable!("epoll_ctl on a socket of ours: {error}");
        }
    }

    fn watch(&self, fd: impl AsFd, flags: epoll::EventFlags) -> io::Result<()> {
        let data = epoll::EventData::new_u64(SOMETHING);
        epoll::add(&self.epoll, fd, data, flags | epoll::EventFlags::ET)?;
        Ok(())
    }

    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// Sleeps until an event, or for at most `longest`.
    pub fn sleep_at_most(&self, longest: Duration) {
        // `epoll_wait` counts in milliseconds.
        let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(longest)));
        self.sleep_for(Some(&timespec(Duration::ZERO)));
    }

    /// Sleeps until an event. The caller then looks everywhere.
    pub fn sleep(&self) {
        self.sleep_for(None);
    }

    fn sleep_for(&self, limit: Option<&Timespec>) {
        let mut events =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(SOMETHING) }; SOURCES];
        match epoll::wait(&self.epoll, &mut events, limit) {
            // A signal: the caller looks and finds nothing.
            Err(Errno::INTR) => {}
            Ok(count) => {
                if events[..count].iter().any(|event| event.data.u64() == AN_END) {
                    self.ended.store(true, Ordering::Relaxed);
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

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs().min(1 << 40) as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}
