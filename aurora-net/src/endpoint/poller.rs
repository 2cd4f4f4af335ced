//! Where an endpoint sleeps: one epoll instance with a wake-up, a timer and, if there is one, a socket.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::io::{Errno, write};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Wakes one thread that sleeps on the poller it belongs to, or the next one that is about to.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        Ok(Waker(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The same one, received from another process.
    pub fn of(eventfd: OwnedFd) -> Self {
        Waker(eventfd)
    }

    /// Another handle to it.
    pub fn share(&self) -> io::Result<Self> {
        self.0.try_clone().map(Waker)
    }

    /// Never blocks, from any thread.
    pub fn kick(&self) {
        // Edge-triggered, so every write is an event and nobody has to read. The counter would overflow after 2^64
        // kicks; a write that fails for it finds the event pending anyway.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// One epoll instance, everything in it edge-triggered.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    waker: Arc<Waker>,
    timer: OwnedFd,
    /// Whether a watched connection has ended since that was asked for.
    ended: AtomicBool,
}

/// As many as are asked for at a time; what else has happened comes at the next sleep.
const SOURCES: usize = 4;

/// What an event belongs to, where that is asked for.
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

    /// Adds a socket: wakes when something arrives.
    pub fn watch_socket(&self, socket: impl AsFd) -> io::Result<()> {
        self.watch(socket, epoll::EventFlags::IN)
    }

    /// Adds a connection: wakes when it ends.
    pub fn watch_end(&self, connection: impl AsFd) -> io::Result<()> {
        let data = epoll::EventData::new_u64(AN_END);
        epoll::add(&self.epoll, connection, data, epoll::EventFlags::RDHUP | epoll::EventFlags::ET)?;
        Ok(())
    }

    /// Whether one of those connections has ended since the last time.
    pub fn take_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) && self.ended.swap(false, Ordering::Relaxed)
    }

    /// Whether to wake also when the socket has room again. Only while something waits for it: the kernel would report
    /// room after each datagram that has left.
    pub fn watch_room(&self, socket: impl AsFd, wanted: bool) {
        let mut flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        flags.set(epoll::EventFlags::OUT, wanted);
        // Looks at the socket anew, so that room made in the meantime is not missed.
        if let Err(error) = epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(SOMETHING), flags) {
            unreachable!("epoll_ctl on a socket of ours: {error}");
        }
    }

    fn watch(&self, fd: impl AsFd, flags: epoll::EventFlags) -> io::Result<()> {
        let data = epoll::EventData::new_u64(SOMETHING);
        epoll::add(&self.epoll, fd, data, flags | epoll::EventFlags::ET)?;
        Ok(())
    }

    /// What wakes this poller.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// Sleeps until something has happened, or for so long.
    pub fn sleep_at_most(&self, longest: Duration) {
        // Epoll itself counts in milliseconds.
        let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timespec(longest)));
        self.sleep_for(Some(&timespec(Duration::ZERO)));
    }

    /// Sleeps until something has happened. What, the caller finds out by looking everywhere.
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

    /// Lets the timer wake the poller once, `after` from now; replaces what was set before.
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
