//! The I/O loop of a rank: one lock, one place to sleep, and whoever waits drives.
//!
//! # Who drives
//!
//! A rank's transport is a [`Handler`] and its connections under one lock, and an epoll instance to sleep on. A thread
//! *drives* when it sleeps on that epoll instance and, woken, takes the lock and everything that has arrived. Two
//! threads may do so: the **daemon**, always, and one **waiter**, a thread in [`Endpoint::wait`]. Further waiters
//! *follow*: they sleep on a condition variable until something was handled.
//!
//! Everything in the epoll instance is edge-triggered, and the kernel wakes one sleeper per event, the last that came
//! first. A waiter came after the daemon, so it gets the answer that it waits for itself, without a second switch of
//! threads, and the daemon sleeps on; nobody waits: the daemon serves.
//!
//! # Why no wake-up is lost
//!
//! None of this leans on *which* thread wakes:
//!
//! 1. Whoever takes an event then takes the lock and looks *everywhere* (queue, socket, timer) until nothing is left, or
//!    goes on at once. What arrives after that look is a new edge.
//! 2. Everything that may make a waiter's condition true bumps `generation` under the lock. A waiter notes the generation
//!    at which its condition was false; whoever changes it afterwards (the daemon, [`Endpoint::act`] on another thread)
//!    kicks the eventfd and notifies the followers.
//! 3. That kick may wake the daemon instead of the waiter. So the daemon never goes back to sleep on the epoll instance
//!    while a waiter has not seen the latest generation: it kicks again and sleeps on the condition variable until the
//!    waiter has looked. The waiter is then the only one who can take the kick.
//! 4. A waiter that leaves while more is to be done kicks, for the daemon to go on, and wakes the followers, one of which
//!    takes its place.
//!
//! The timer is one timerfd, set again only to an earlier time or after it has fired; a time that moved back costs one
//! idle wake-up. Nothing polls: an idle rank uses no CPU.
//!
//! # After [`Endpoint::close`]
//!
//! The daemon is gone, nothing arrives, nothing is sent: [`Endpoint::act`] still runs its closure, and what it queues is
//! dropped, lent payloads given back. Transfers that others send to a closed endpoint vanish.

mod core;
mod lock;
mod poller;

pub(crate) use poller::Waker;

use self::core::{Core, Peer, Progress};
use self::lock::{Lock, Locked};
use self::poller::Poller;
use crate::bootstrap::{Failure, Job};
use crate::local::{self, Inbox, LocalAddress};
use crate::route::Contact;
use crate::{Error, Handler, Outbox, Rank, Route, Traffic};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A rank's end of the transport. Clones are handles to the same one; dropping the last closes it.
///
/// Any thread may call any method, but not from inside a closure or a [`Handler`] method of the same endpoint: that
/// panics, it does not deadlock.
pub struct Endpoint<H: Handler> {
    owner: Arc<Owner<H>>,
}

impl<H: Handler> Clone for Endpoint<H> {
    fn clone(&self) -> Self {
        Endpoint {
            owner: self.owner.clone(),
        }
    }
}

impl<H: Handler> fmt::Debug for Endpoint<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let me = self.owner.shared.me;
        f.debug_struct("Endpoint")
            .field("rank", &me)
            .finish_non_exhaustive()
    }
}

impl<H: Handler> Endpoint<H> {
    /// Runs `action` on the handler and sends what it queues, as far as flow control lets it; the rest follows by itself.
    /// Never waits for a peer.
    pub fn act<R>(&self, action: impl FnOnce(&mut H, &mut Outbox) -> R) -> R {
        let shared = &*self.owner.shared;
        let mut state = shared.lock.lock();
        let outcome = state.core.run(action);
        shared.changed(&mut state);
        outcome
    }

    /// Runs `condition` on the handler again and again, after everything that may have changed its answer, until it says
    /// `Some`. The calling thread drives the transport meanwhile.
    ///
    /// While it says `None`, `condition` may queue transfers but must not change what another waiter waits for.
    ///
    /// # Panics
    /// If the endpoint is closed, or its daemon has panicked, while the condition is not met: nothing could ever change it.
    pub fn wait<R>(&self, mut condition: impl FnMut(&mut H, &mut Outbox) -> Option<R>) -> R {
        let shared = &*self.owner.shared;
        // Before the lock, so that it is dropped after it, also by a panic.
        let mut driving = Driving {
            shared,
            active: false,
            more: false,
        };
        let mut state = shared.lock.lock();
        loop {
            if let Some(outcome) = state.core.run(&mut condition) {
                driving.leave(&mut state);
                shared.changed(&mut state);
                return outcome;
            }
            shared.set_timer(&mut state);
            assert!(
                !state.ended,
                "waiting on the endpoint of {}, which is closed",
                shared.me
            );
            if driving.active || state.waiter.is_none() {
                driving.active = true;
                state.waiter = Some(state.generation);
                shared.notify_parked(&state);
                drop(state);
                if !driving.more {
                    shared.poller.sleep();
                }
                state = shared.lock.lock();
                driving.more = shared.take_in(&mut state).more;
            } else {
                state = shared.park(state);
            }
        }
    }

    /// What has passed so far.
    pub fn traffic(&self) -> Traffic {
        self.owner.shared.lock.lock().core.traffic
    }

    /// Ends the daemon and gives up queues and sockets. Closing again does nothing.
    ///
    /// To call when every rank has finished ([`Seat::finish`](crate::bootstrap::Seat::finish)): others may need the daemon
    /// until then.
    pub fn close(&self) {
        self.owner.close();
    }
}

/// What the handles share. The daemon shares only the inner part, so that dropping the last handle ends it.
struct Owner<H: Handler> {
    shared: Arc<Shared<H>>,
    daemon: Mutex<Option<JoinHandle<()>>>,
}

impl<H: Handler> Owner<H> {
    fn close(&self) {
        self.shared.end();
        let daemon = self
            .daemon
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(daemon) = daemon
            && daemon.thread().id() != thread::current().id()
        {
            // It catches its panics.
            let _ = daemon.join();
        }
    }
}

impl<H: Handler> Drop for Owner<H> {
    fn drop(&mut self) {
        self.close();
    }
}

struct Shared<H> {
    me: Rank,
    poller: Poller,
    lock: Lock<State<H>>,
    /// Followers sleep here, and the daemon while the waiter has not seen the latest generation.
    notify: Condvar,
}

struct State<H> {
    core: Core<H>,
    /// Counts what may have made a condition true.
    generation: u64,
    /// The generation that the driving waiter has seen, if there is one.
    waiter: Option<u64>,
    /// How many threads sleep on `notify`.
    parked: usize,
    /// When the timer will fire.
    timer: Option<Instant>,
    /// Closed, or the daemon has panicked.
    ended: bool,
}

impl<H: Handler> Shared<H> {
    /// Takes in what has arrived.
    fn take_in(&self, state: &mut State<H>) -> Progress {
        let now = Instant::now();
        if state.timer.is_some_and(|due| due <= now) {
            state.timer = None;
        }
        let progress = state.core.take_in(now);
        if progress.handled {
            state.generation += 1;
            self.notify_parked(state);
        }
        self.set_timer(state);
        progress
    }

    /// After the handler was called outside [`Shared::take_in`]: tells those who wait.
    fn changed(&self, state: &mut State<H>) {
        state.generation += 1;
        if state.waiter.is_some() {
            self.poller.waker().kick();
        }
        self.notify_parked(state);
        self.set_timer(state);
    }

    fn notify_parked(&self, state: &State<H>) {
        if state.parked > 0 {
            self.notify.notify_all();
        }
    }

    fn park<'a>(&self, mut state: Locked<'a, State<H>>) -> Locked<'a, State<H>> {
        state.parked += 1;
        let mut state = state.wait(&self.notify);
        state.parked -= 1;
        state
    }

    fn set_timer(&self, state: &mut State<H>) {
        let Some(due) = state.core.poll_timeout() else {
            return;
        };
        if state.timer.is_none_or(|set| due < set) {
            state.timer = Some(due);
            self.poller
                .set_timer(due.saturating_duration_since(Instant::now()));
        }
    }

    /// Nothing will arrive any more: wakes everyone to see it.
    fn end(&self) {
        let mut state = self.lock.lock();
        state.ended = true;
        state.core.close();
        state.generation += 1;
        self.notify_parked(&state);
        drop(state);
        self.poller.waker().kick();
    }

    fn daemon(&self) {
        let mut more = false;
        loop {
            if !more {
                self.poller.sleep();
            }
            let mut state = self.lock.lock();
            if state.ended {
                // A waiter may sleep on, having missed the kick that we took.
                self.poller.waker().kick();
                return;
            }
            more = self.take_in(&mut state).more;
            if !more {
                self.hand_over(state);
            }
        }
    }

    /// Sleeps until the waiter, if there is one, has seen the latest generation.
    fn hand_over(&self, mut state: Locked<'_, State<H>>) {
        let stale = |state: &State<H>| {
            state.waiter.is_some_and(|seen| seen != state.generation) && !state.ended
        };
        while stale(&state) {
            self.poller.waker().kick();
            state = self.park(state);
        }
    }
}

/// The place of the driving waiter, given up also by a panic.
struct Driving<'a, H: Handler> {
    shared: &'a Shared<H>,
    active: bool,
    more: bool,
}

impl<H: Handler> Driving<'_, H> {
    fn leave(&mut self, state: &mut State<H>) {
        if !std::mem::take(&mut self.active) {
            return;
        }
        state.waiter = None;
        self.shared.notify_parked(state);
        // What we leave undone; and an end that only we may have been woken for.
        if self.more || state.ended {
            self.shared.poller.waker().kick();
        }
    }
}

impl<H: Handler> Drop for Driving<'_, H> {
    fn drop(&mut self) {
        if self.active {
            let shared = self.shared;
            self.leave(&mut shared.lock.lock());
        }
    }
}

/// An endpoint in the making: can be reached, but does not know the others yet.
pub(crate) struct Setup {
    me: Rank,
    route: Route,
    poller: Poller,
    address: LocalAddress,
    inbox: Inbox,
}

impl Setup {
    pub fn new(job: &Job, route: Route, silence: Duration) -> Result<Self, Error> {
        let _ = (job.key, silence);
        let poller = Poller::new().map_err(Error::system("make an epoll instance and a timer"))?;
        let (address, inbox) = local::queue(poller.waker().clone());
        Ok(Setup {
            me: job.rank,
            route,
            poller,
            address,
            inbox,
        })
    }

    /// What the others have to know.
    pub fn contact(&self) -> Contact {
        Contact {
            local: Some(self.address.clone()),
            udp: None,
        }
    }

    /// Connects to the others. `alarm` is told if the daemon panics.
    pub fn start<H: Handler>(
        self,
        handler: H,
        contacts: &[Contact],
        alarm: Arc<dyn Fn(Failure) + Send + Sync>,
    ) -> Result<Endpoint<H>, Error> {
        let me = self.me;
        let peers = contacts
            .iter()
            .enumerate()
            .map(|(index, contact)| match &contact.local {
                _ if me == index => Ok(Peer::Nobody),
                Some(address) => Ok(Peer::Local(address.clone())),
                None => Err(Error::NoAddress {
                    rank: Rank::new(index),
                    route: self.route,
                }),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let shared = Arc::new(Shared {
            me,
            poller: self.poller,
            lock: Lock::new(State {
                core: Core::new(me, handler, Some(self.inbox), peers),
                generation: 0,
                waiter: None,
                parked: 0,
                timer: None,
                ended: false,
            }),
            notify: Condvar::new(),
        });
        // The handler may want to be called before anything arrives.
        shared.set_timer(&mut shared.lock.lock());
        let daemon = thread::Builder::new()
            .name(format!("aurora-daemon-{}", me.index()))
            .spawn({
                let shared = shared.clone();
                move || {
                    if let Err(failure) = crate::bootstrap::capture(me, || shared.daemon()) {
                        shared.end();
                        alarm(failure);
                    }
                }
            })
            .map_err(Error::system("start the daemon's thread"))?;
        let daemon = Mutex::new(Some(daemon));
        let owner = Arc::new(Owner { shared, daemon });
        Ok(Endpoint { owner })
    }
}
