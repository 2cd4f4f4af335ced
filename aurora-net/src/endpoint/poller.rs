//! Where an endpoint sleeps: one epoll instance with a wake-up, a timer and, if there is one, a socket.

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::{Errno, write};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Wakes one thread that sleeps on the poller it belongs to, or the next one that is about to.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    /// Never blocks, from any thread.
    pub fn kick(&self) {
        // Edge-triggered, so every write is an event and nobody has to read. The counter would overflow after 2^64
        // kicks; a write that fails for it finds the event pending anyway.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }
}

/// One epoll instance, everything in it edge-triggered.
#[derive(Debug)]
pub(crate) struct Poller {
    epoll: OwnedFd,
    waker: Arc<Waker>,
    timer: OwnedFd,
}

const SOURCES: usize = 3;

impl Poller {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let poller = Poller { epoll, waker: Arc::new(Waker(wake)), timer };
        poller.watch(&poller.waker.0, epoll::EventFlags::IN)?;
        poller.watch(&poller.timer, epoll::EventFlags::IN)?;
        Ok(poller)
    }

    /// Adds a socket: wakes when something arrives.
    pub fn watch_socket(&self, socket: impl AsFd) -> io::Result<()> {
        self.watch(socket, epoll::EventFlags::IN)
    }

    /// Whether to wake also when the socket has room again. Only while something waits for it: the kernel would report
    /// room after each datagram that has left.
    pub fn watch_room(&self, socket: impl AsFd, wanted: bool) {
        let mut flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        flags.set(epoll::EventFlags::OUT, wanted);
        // Looks at the socket anew, so that room made in the meantime is not missed.
        if let Err(error) = epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(0), flags) {
            unreachable!("epoll_ctl on a socket of ours: {error}");
        }
    }

    fn watch(&self, fd: impl AsFd, flags: epoll::EventFlags) -> io::Result<()> {
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.epoll, fd, data, flags | epoll::EventFlags::ET)?;
        Ok(())
    }

    /// What wakes this poller.
    pub fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// Sleeps until something has happened. What, the caller finds out by looking everywhere.
    pub fn sleep(&self) {
        let mut events =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; SOURCES];
        match epoll::wait(&self.epoll, &mut events, None) {
            // A signal: the caller looks and finds nothing.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => unreachable!("epoll_wait on an epoll of ours: {error}"),
        }
    }

    /// Lets the timer wake the poller once, `after` from now; replaces what was set before.
    pub fn set_timer(&self, after: Duration) {
        let time = |duration: Duration| Timespec {
            tv_sec: duration.as_secs().min(1 << 40) as i64,
            tv_nsec: i64::from(duration.subsec_nanos()),
        };
        let spec = Itimerspec {
            it_interval: time(Duration::ZERO),
            // Zero would disarm it.
            it_value: time(after.max(Duration::from_nanos(1))),
        };
        if let Err(error) = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec) {
            unreachable!("timerfd_settime on a timer of ours: {error}");
        }
    }
}
