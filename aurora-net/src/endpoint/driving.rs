//! Who drives an endpoint, who sleeps, and who wakes whom.
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
//! threads, and the daemon sleeps on; while nobody waits, the daemon serves.
//!
//! # Why no wake-up is lost
//!
//! None of this leans on *which* thread wakes:
//!
//! 1. Whoever takes an event then takes the lock and looks *everywhere* (queue, rings, socket, timer) until nothing is
//!    left, or goes on at once. What arrives after that look is a new edge.
//! 2. Whatever may have made a waiter's condition true ([`Endpoint::act`] on another thread) kicks the eventfd and
//!    notifies the followers.
//! 3. A kick or an arrival may wake the daemon instead of the waiter, which is then on its way to sleep, or was woken
//!    earlier and is busy. A daemon that finds a waiter kicks and stands aside: it sleeps on the condition variable
//!    until that waiter has left. Now nobody else can take the kick, so the waiter looks at what the daemon has
//!    handled; and during bulk transfers the two do not take turns at the lock. Then it sleeps on the epoll instance as
//!    before, also beside another waiter: whose condition was asked after the daemon had handled anything.
//! 4. A waiter that leaves while more is to be done kicks, for the daemon to go on, and wakes the followers, one of
//!    which takes its place.
//!
//! # Shared memory
//!
//! What node peers put into their rings is no event of the epoll instance. They ring a doorbell for it
//! (`shm/doorbell.rs`), and write our eventfd only if it says that nobody here looks. Whoever looks answers the
//! doorbell first, and before a thread sleeps, or a waiter leaves, it dozes: if the doorbell has rung meanwhile it
//! looks again, or kicks. For what is sent *lazily* they only hint: nobody is woken then but a thread that waits, and
//! what is hinted at may lie there until somebody looks ([`Endpoint::look`]). A waiter waits for its doorbell for a
//! short while before it sleeps, without a system call if there is a core for each rank, else by yielding
//! (`doorbell.rs`).
//!
//! The timer is one timerfd, set again only to an earlier time or after it has fired; a time that moved back costs one
//! idle wake-up. Nothing polls: an idle rank uses no CPU.

use super::backoff::Backoff;
use super::core::{Core, Progress};
use super::doorbell::OwnDoorbell;
use super::later::Later;
use super::lock::{Lock, Locked};
use super::poller::Poller;
use super::rendezvous::carrier::{Held, aboard};
use crate::shm::Look;
use crate::{Handler, Rank};
use std::sync::Condvar;
use std::thread;
use std::time::Instant;

/// How often a look goes on while there is more.
const LOOKS: usize = 16;

pub(super) struct Shared<H> {
    pub me: Rank,
    pub poller: Poller,
    /// By which node peers call us, if there are any.
    pub doorbell: Option<OwnDoorbell>,
    pub lock: Lock<State<H>>,
    /// What is to be done as soon as somebody takes the lock.
    pub later: Later<H>,
    /// Followers sleep here, and a daemon that stands aside.
    pub notify: Condvar,
    /// Whether some thread has a carrier for it.
    pub is_carried: bool,
}

pub(super) struct State<H> {
    pub core: Core<H>,
    /// Whether a waiter drives.
    pub waiter: bool,
    /// How many waiters have driven, one after the other.
    pub turns: u64,
    /// How many threads sleep on `notify`.
    pub parked: usize,
    /// Whether the poller watches for room in the socket.
    pub wants_room: bool,
    /// When the timer will fire.
    pub timer: Option<Instant>,
    /// Closed, or the daemon has panicked.
    pub ended: bool,
}

impl<H: Handler> Shared<H> {
    /// The carrier, if it is the calling thread's.
    pub fn carrier(&self) -> Option<Held> {
        self.is_carried.then(|| aboard(self.address())).flatten()
    }

    /// What tells this endpoint from others of the process.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Takes the lock, and does what waits for that.
    pub fn enter(&self) -> Locked<'_, State<H>> {
        let mut state = self.lock.lock();
        while let Some(action) = self.later.next() {
            state.core.run(action);
            self.changed(&mut state);
        }
        state
    }

    /// Asks `ready` again and again, after everything that may have changed its answer, until it says `Some`; drives
    /// the transport meanwhile, and the carrier if it is this thread's. `ready` also says whether the handler was
    /// called by what it has sent.
    pub fn wait_until<R>(&self, mut ready: impl FnMut(&mut Core<H>) -> (Option<R>, bool)) -> R {
        let carrier = self.carrier();
        // Before the lock, so that it is dropped after it, also by a panic.
        let mut driving = Driving { shared: self, active: false, progress: Progress::default() };
        let mut backoff = Backoff::default();
        let mut state = self.enter();
        loop {
            state.core.forget_nudges();
            let moved = carrier.as_ref().is_some_and(|carrier| state.core.carry(&mut *carrier.borrow_mut()));
            if moved {
                self.moved(&state, driving.active);
            }
            let (outcome, called) = ready(&mut state.core);
            if let Some(outcome) = outcome {
                driving.leave(&mut state);
                self.changed(&mut state);
                return outcome;
            }
            if called {
                // By what came of its own sends: its answer may be another now, and that of other waiters.
                self.changed(&mut state);
                continue;
            }
            self.arrange(&mut state);
            assert!(!state.ended, "waiting on the endpoint of {}, which is closed", self.me);
            // What is under way in the carrier wakes nobody.
            let carries = carrier.is_some() && state.core.is_moving();
            if driving.active || !state.waiter {
                if !std::mem::replace(&mut driving.active, true) {
                    state.waiter = true;
                    state.turns += 1;
                }
                if carries {
                    state.core.nudge();
                }
                drop(state);
                match carries {
                    true => {
                        backoff.wait(moved || driving.progress.handled || driving.progress.more, Some(&self.poller))
                    }
                    false => self.rest(driving.progress, true),
                }
                state = self.enter();
                driving.progress = self.take_in(&mut state);
            } else if carries {
                drop(state);
                backoff.wait(moved, None);
                state = self.enter();
            } else {
                state = self.park(state);
            }
        }
    }

    /// The carrier has moved something, which others may wait for.
    fn moved(&self, state: &State<H>, by_waiter: bool) {
        if state.waiter && !by_waiter {
            self.wake();
        }
        self.notify_parked(state);
    }

    /// Takes in what has arrived by now.
    pub fn look(&self) {
        // Before the lock, so that it is dropped after it, also by a panic of the handler's.
        let mut looking = Looking { shared: self, left: None };
        let mut state = self.enter();
        if state.waiter || state.ended {
            return;
        }
        for _ in 0..=LOOKS {
            looking.left = Some(Progress { more: true, ..Progress::default() });
            let progress = self.take_in(&mut state);
            looking.left = Some(progress);
            if !progress.more {
                break;
            }
        }
    }

    /// Takes in what has arrived.
    fn take_in(&self, state: &mut State<H>) -> Progress {
        // Before looking anywhere.
        if let Some(doorbell) = &self.doorbell {
            doorbell.acknowledge();
        }
        let now = Instant::now();
        if state.timer.is_some_and(|due| due <= now) {
            state.timer = None;
        }
        let progress = state.core.take_in(now, self.poller.take_ended());
        if progress.handled {
            self.notify_parked(state);
        }
        self.arrange(state);
        progress
    }

    /// After the handler was called outside [`Shared::take_in`]: tells those who wait.
    pub fn changed(&self, state: &mut State<H>) {
        if state.waiter {
            self.wake();
        }
        self.notify_parked(state);
        self.arrange(state);
    }

    /// Wakes whoever sleeps first, or lets it look once more.
    fn wake(&self) {
        match &self.doorbell {
            Some(doorbell) => doorbell.ring(),
            None => self.poller.waker().kick(),
        }
    }

    fn notify_parked(&self, state: &State<H>) {
        if state.parked > 0 {
            self.notify.notify_all();
        }
    }

    /// A thread that has looked goes: has the daemon do what is left.
    fn depart(&self, state: &State<H>, left: Progress) {
        // What has come since we looked, and nobody has been woken for; who waits, if somebody does, will see it.
        let rung =
            !state.waiter && self.doorbell.as_ref().is_some_and(|doorbell| doorbell.stop_polling() == Look::Again);
        if left.more || rung {
            self.poller.waker().kick();
        }
    }

    fn park<'a>(&self, mut state: Locked<'a, State<H>>) -> Locked<'a, State<H>> {
        state.parked += 1;
        let mut state = state.wait(&self.notify);
        state.parked -= 1;
        state
    }

    /// Arranges to be woken for what does not arrive: time, and room in the socket.
    pub fn arrange(&self, state: &mut State<H>) {
        if let Some(port) = state.core.port()
            && port.is_full() != state.wants_room
        {
            let wanted = port.is_full();
            self.poller.watch_room(port.fd(), wanted);
            state.wants_room = wanted;
        }
        let Some(due) = state.core.poll_timeout() else {
            return;
        };
        if state.timer.is_none_or(|set| due < set) {
            state.timer = Some(due);
            self.poller.set_timer(due.saturating_duration_since(Instant::now()));
        }
    }

    /// Nothing will arrive any more: wakes everyone to see it.
    pub fn end(&self) {
        let mut state = self.lock.lock();
        state.ended = true;
        state.core.close();
        self.notify_parked(&state);
        drop(state);
        self.poller.waker().kick();
    }

    /// Sleeps until there is something to do after `progress`; `spins` polls the doorbell for a short while before
    /// that.
    fn rest(&self, progress: Progress, spins: bool) {
        if progress.more {
            return;
        }
        if let Some(lull) = progress.lull {
            thread::sleep(lull);
        }
        if let Some(doorbell) = &self.doorbell {
            let again = if spins { self.spin_then_prepare_sleep(doorbell) } else { self.withdraw(doorbell) };
            if again == Look::Again {
                return;
            }
        }
        self.poller.sleep();
    }

    /// The waiter's last looks before it sleeps.
    fn spin_then_prepare_sleep(&self, doorbell: &OwnDoorbell) -> Look {
        if doorbell.spin() {
            return Look::Again;
        }
        self.lock.lock().core.nudge();
        doorbell.prepare_sleep()
    }

    /// The daemon's. While somebody waits the doorbell is the waiter's, who would not see hints any more; else what is
    /// in no hurry stays, or the daemon would look for each of it once it looks at all.
    fn withdraw(&self, doorbell: &OwnDoorbell) -> Look {
        // Under the lock: whoever begins to wait now comes before that, or after it.
        let state = self.lock.lock();
        if state.waiter { Look::Sleep } else { doorbell.stop_polling() }
    }

    pub fn daemon(&self) {
        let mut progress = Progress::default();
        loop {
            self.rest(progress, false);
            let mut state = self.enter();
            if state.ended {
                // A waiter may sleep on, having missed the kick that we took.
                self.poller.waker().kick();
                return;
            }
            progress = self.take_in(&mut state);
            if state.waiter {
                self.stand_aside(state);
                progress = Progress::default();
            }
        }
    }

    /// Leaves the driving to the waiter: makes sure that it looks at what we have handled, and sleeps until it has
    /// left. The next one, if there is one by then, has looked for itself: it need not wake us again when it leaves.
    fn stand_aside(&self, mut state: Locked<'_, State<H>>) {
        self.poller.waker().kick();
        let turn = state.turns;
        while state.waiter && state.turns == turn && !state.ended {
            state = self.park(state);
        }
    }
}

/// A thread that looks once, and what it leaves to the daemon.
struct Looking<'a, H: Handler> {
    shared: &'a Shared<H>,
    left: Option<Progress>,
}

impl<H: Handler> Drop for Looking<'_, H> {
    fn drop(&mut self) {
        if let Some(left) = self.left {
            self.shared.depart(&self.shared.lock.lock(), left);
        }
    }
}

/// The place of the driving waiter, given up also by a panic.
struct Driving<'a, H: Handler> {
    shared: &'a Shared<H>,
    active: bool,
    progress: Progress,
}

impl<H: Handler> Driving<'_, H> {
    fn leave(&mut self, state: &mut State<H>) {
        if !std::mem::take(&mut self.active) {
            return;
        }
        state.waiter = false;
        self.shared.notify_parked(state);
        self.shared.depart(state, self.progress);
        if state.ended {
            // Only we may have been woken for it.
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
