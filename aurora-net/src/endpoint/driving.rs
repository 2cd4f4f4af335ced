//! The threads of an endpoint: the one that drives it, those that sleep, and how they are woken.
//!
//! # The driving thread
//!
//! An endpoint has one lock, which protects the [`Handler`] and the connections, and one epoll instance. A thread
//! *drives* the endpoint when it sleeps on that epoll instance and, once woken, takes the lock and handles everything
//! that has arrived. Two threads may drive: the **daemon**, always, and one **waiter**, a thread in
//! [`Endpoint::wait`](super::Endpoint::wait). Further waiters *follow*: they sleep on a condition variable until
//! something has been handled.
//!
//! All events are edge-triggered, and Linux wakes one sleeper per event: the one that began to sleep last. A waiter
//! began after the daemon, so the waiter itself gets the event, without a second context switch, and the daemon stays
//! asleep. While no thread waits, the daemon handles all events.
//!
//! # Why no wake-up is lost
//!
//! None of this depends on *which* thread wakes:
//!
//! 1. A thread that takes an event then takes the lock and looks *everywhere* (queue, rings, socket, timer) until
//!    nothing is left, or continues at once. Every arrival after that look is a new event.
//! 2. A thread that may have made a waiter's condition true ([`Endpoint::act`](super::Endpoint::act)) kicks the eventfd
//!    and notifies the followers.
//! 3. An event may wake the daemon while the waiter is about to sleep, or is busy after an earlier event. A daemon that
//!    finds a waiter kicks the eventfd and stands aside: it sleeps on the condition variable until that waiter has
//!    left. Now no other thread can take the kick, so the waiter sees the daemon's changes. During bulk
//!    transfers this also keeps the two from alternating at the lock. Then the daemon sleeps on the epoll instance as
//!    before, even if there is a new waiter, since that waiter evaluated its condition after the daemon had handled its
//!    event.
//! 4. A waiter that leaves work undone kicks the eventfd, so that the daemon continues, and notifies the followers, one
//!    of which becomes the waiter.
//!
//! # Shared memory
//!
//! Node peers' messages in the rings are not epoll events. The sender rings this rank's doorbell (`shm/doorbell.rs`),
//! and writes the eventfd only if the doorbell says that no thread of this rank looks. A thread acknowledges the
//! doorbell before it looks. Before it sleeps, or leaves as a waiter, it checks the doorbell, and looks again or kicks
//! the eventfd if it has rung. A *lazy* message wakes only a thread that waits; otherwise it stays in the ring until a
//! thread looks ([`Endpoint::look`](super::Endpoint::look)). A waiter polls the doorbell for a short while before it
//! sleeps: without system calls if there is a core for each rank, otherwise by yielding.
//!
//! There is one timerfd. It is set again only to an earlier time or after it has fired, so a timeout that moves back
//! costs one needless wake-up. Nothing polls: an idle rank uses no CPU.

use super::backoff::Backoff;
use super::core::{Core, Progress};
use super::later::{Action, Later};
use super::lock::{Lock, Locked};
use super::rendezvous::Rendezvous;
use super::rendezvous::carrier::{Held, carrier_of};
use crate::poller::Poller;
use crate::shm::{Control, Look, SpinBudget};
use crate::{Handler, Outbox, Rank};
use std::sync::{Arc, Condvar};
use std::time::Instant;

/// The maximum number of rounds of one [`Endpoint::look`](super::Endpoint::look).
const LOOKS: usize = 16;

pub(super) struct Shared<H> {
    pub me: Rank,
    pub poller: Arc<Poller>,
    /// Has this rank's doorbell; `None`: this rank is alone on its node.
    pub control: Option<Arc<Control>>,
    /// `None`: transfers arrive by routes that do not ring the doorbell.
    pub spin: Option<SpinBudget>,
    pub lock: Lock<State<H>>,
    /// Actions for the next thread that takes the lock.
    pub later: Later<H>,
    /// Followers, and a daemon that stands aside, sleep here.
    pub notify: Condvar,
    /// True if a thread has a carrier for this endpoint.
    pub is_carried: bool,
}

pub(super) struct State<H> {
    pub core: Core<H>,
    /// True if a waiter drives.
    pub waiter: bool,
    /// The number of waiters that have driven so far.
    pub turns: u64,
    pub parked: usize,
    /// True if the poller also reports room in the socket.
    pub wants_room: bool,
    pub timer: Option<Instant>,
    /// True: the endpoint is closed, or the daemon has panicked.
    pub ended: bool,
}

impl<H: Handler> Shared<H> {
    pub fn carrier(&self) -> Option<Held> {
        self.is_carried.then(|| carrier_of(self.address())).flatten()
    }

    /// Identifies this endpoint within the process.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    #[inline]
    pub fn enter(&self) -> Locked<'_, State<H>> {
        let state = self.lock.lock();
        if self.later.is_empty() { state } else { self.run_later(state) }
    }

    #[cold]
    fn run_later<'a>(&self, mut state: Locked<'a, State<H>>) -> Locked<'a, State<H>> {
        while let Some(action) = self.later.next() {
            state.core.run(action);
            self.changed(&mut state);
        }
        state
    }

    /// [`Endpoint::act`](super::Endpoint::act). Takes a `dyn`, as [`Shared::wait`] does, so that the code around an
    /// action is compiled once, and not again for each closure of each program.
    pub fn act(&self, action: &mut dyn FnMut(&mut H, &mut Outbox)) {
        let mut state = self.enter();
        state.core.run(action);
        self.changed(&mut state);
    }

    /// [`Endpoint::act_quietly`](super::Endpoint::act_quietly): waiting threads look again if the action returns true,
    /// or if sending its messages has called the handler.
    pub fn act_quietly(&self, action: &mut dyn FnMut(&mut H, &mut Outbox) -> bool) {
        let mut state = self.enter();
        let (wakes, called) = state.core.run(action);
        if wakes || called { self.changed(&mut state) } else { self.arrange(&mut state) }
    }

    /// The next thread that takes the lock runs the action: the daemon at the latest.
    pub fn act_later(&self, action: Action<H>) {
        self.later.add(action);
        self.poller.waker().kick();
    }

    /// Waits until `condition` returns true.
    pub fn wait(&self, condition: &mut dyn FnMut(&mut H, &mut Outbox) -> bool) {
        self.wait_until(|core| core.run(&mut *condition));
    }

    /// Evaluates `ready` after every change until it returns true. Meanwhile drives the transport, and the carrier if
    /// it belongs to this thread. `ready` also returns whether sending its messages has called the handler.
    pub fn wait_until(&self, mut ready: impl FnMut(&mut Core<H>) -> (bool, bool)) {
        let carrier = self.carrier();
        // Declared before the lock, so that it is dropped after it, even by a panic.
        let mut driving = Driving { shared: self, active: false, progress: Progress::default() };
        let mut backoff = Backoff::default();
        let mut state = self.enter();
        loop {
            state.core.forget_nudges();
            let moved = carrier.as_ref().is_some_and(|carrier| state.core.carry(&mut *carrier.borrow_mut()));
            if moved {
                self.moved(&state, driving.active);
            }
            let (is_ready, called) = ready(&mut state.core);
            if is_ready {
                driving.leave(&mut state);
                self.changed(&mut state);
                return;
            }
            if called {
                // The handler was called: this condition, and those of other waiters, may have changed.
                self.changed(&mut state);
                continue;
            }
            self.arrange(&mut state);
            assert!(!state.ended, "waiting on the endpoint of {}, which is closed", self.me);
            // The carrier is polled, since it wakes no thread.
            let carries = carrier.is_some() && state.core.rendezvous.as_ref().is_some_and(Rendezvous::is_moving);
            if driving.active || !state.waiter {
                if !std::mem::replace(&mut driving.active, true) {
                    state.waiter = true;
                    state.turns += 1;
                }
                if carries {
                    state.core.nudge();
                }
                let budget =
                    self.spin.map(|budget| if state.core.handler.may_poll() { budget } else { SpinBudget::SMALL });
                drop(state);
                match carries {
                    true => {
                        backoff.wait(moved || driving.progress.handled || driving.progress.more, Some(&self.poller))
                    }
                    false => self.rest_waiter(driving.progress, budget),
                }
                // This value remains if the handler panics.
                driving.progress = Progress { more: true, ..Progress::default() };
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

    /// The carrier has made progress: other threads may wait for it.
    fn moved(&self, state: &State<H>, by_waiter: bool) {
        if state.waiter && !by_waiter {
            self.wake();
        }
        self.notify_parked(state);
    }

    pub fn look(&self) {
        // Declared before the lock, so that it is dropped after it, even if the handler panics.
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

    fn take_in(&self, state: &mut State<H>) -> Progress {
        // Before looking anywhere.
        if let Some(control) = &self.control {
            control.own_doorbell().acknowledge();
        }
        let now = Instant::now();
        if state.timer.is_some_and(|due| due <= now) {
            state.timer = None;
        }
        let progress = state.core.take_in(now, self.poller.take_news());
        if progress.handled {
            self.notify_parked(state);
        }
        self.arrange(state);
        progress
    }

    /// Wakes waiting threads after the handler was called outside [`Shared::take_in`].
    pub fn changed(&self, state: &mut State<H>) {
        if state.waiter {
            self.wake();
        }
        self.notify_parked(state);
        self.arrange(state);
    }

    /// Wakes a sleeping thread, or makes a driving thread look again.
    fn wake(&self) {
        match &self.control {
            Some(control) => control.ring(control.me()),
            None => self.poller.waker().kick(),
        }
    }

    fn notify_parked(&self, state: &State<H>) {
        if state.parked > 0 {
            self.notify.notify_all();
        }
    }

    /// A thread that has looked leaves: wakes the daemon for the remaining work.
    fn depart(&self, state: &State<H>, left: Progress) {
        // Messages since the last look have woken no thread. A waiter, if there is one, will see them.
        let rings = |control: &Arc<Control>| control.own_doorbell().stop_polling() == Look::Again;
        let rung = !state.waiter && self.control.as_ref().is_some_and(rings);
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

    /// Sets the timer, and watches for room in the socket if needed.
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

    pub fn end(&self) {
        let mut state = self.lock.lock();
        state.ended = true;
        state.core.close();
        self.notify_parked(&state);
        drop(state);
        self.poller.waker().kick();
    }

    /// Sleeps until there is work, and returns true. Does not sleep after `progress.more`, or if `check` says so.
    fn rest(&self, progress: Progress, check: impl FnOnce(&Control) -> Look) -> bool {
        if progress.more {
            return false;
        }
        if let Some(lull) = progress.lull {
            self.poller.pause(lull);
        }
        let sleeps = self.control.as_deref().is_none_or(|control| check(control) == Look::Sleep);
        if sleeps {
            self.poller.sleep();
        }
        sleeps
    }

    /// Rests the waiting thread, which goes on with the program on a core of its own, if it has one.
    fn rest_waiter(&self, progress: Progress, budget: Option<SpinBudget>) {
        let slept = self.rest(progress, |control| self.spin_then_prepare_sleep(control, budget));
        if let Some(control) = self.control.as_deref().filter(|_| slept && budget.is_some_and(SpinBudget::has_core)) {
            control.leave_wakers_core();
        }
    }

    /// The waiter's last checks before it sleeps.
    fn spin_then_prepare_sleep(&self, control: &Control, budget: Option<SpinBudget>) -> Look {
        if budget.is_some_and(|budget| control.spin(budget)) {
            return Look::Again;
        }
        self.lock.lock().core.nudge();
        control.own_doorbell().prepare_sleep()
    }

    /// The daemon's last check. While a thread waits, that waiter handles the doorbell. Otherwise lazy messages stay
    /// unread: once awake, the daemon would handle each of them.
    fn withdraw(&self, control: &Control) -> Look {
        // Under the lock, so that a new waiter starts either before or after this.
        let state = self.lock.lock();
        if state.waiter { Look::Sleep } else { control.own_doorbell().stop_polling() }
    }

    pub fn daemon(&self) {
        let mut progress = Progress::default();
        loop {
            self.rest(progress, |control| self.withdraw(control));
            let mut state = self.enter();
            if state.ended {
                // This thread may have taken a kick meant for a waiter.
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

    /// Leaves the driving to the waiter: makes the waiter look at the daemon's changes, and sleeps until it has left. A
    /// later waiter has evaluated its condition itself and need not wake the daemon when it leaves.
    fn stand_aside(&self, mut state: Locked<'_, State<H>>) {
        self.poller.waker().kick();
        let turn = state.turns;
        while state.waiter && state.turns == turn && !state.ended {
            state = self.park(state);
        }
    }
}

/// A thread in [`Shared::look`], and the work that it leaves.
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

/// The role of the driving waiter. It is given up even by a panic.
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
            // Perhaps only this thread was woken for the end.
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
