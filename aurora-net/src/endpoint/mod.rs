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
//! threads, and the daemon sleeps on; while nobody waits, the daemon serves.
//!
//! # Why no wake-up is lost
//!
//! None of this leans on *which* thread wakes:
//!
//! 1. Whoever takes an event then takes the lock and looks *everywhere* (queue, rings, socket, timer) until nothing is left, or
//!    goes on at once. What arrives after that look is a new edge.
//! 2. Whatever may have made a waiter's condition true ([`Endpoint::act`] on another thread) kicks the eventfd and notifies
//!    the followers.
//! 3. A kick or an arrival may wake the daemon instead of the waiter, which is then on its way to sleep, or was woken
//!    earlier and is busy. A daemon that finds a waiter kicks and stands aside: it sleeps on the condition variable until
//!    that waiter has left. Now nobody else can take the kick, so the waiter looks at what the daemon has handled; and
//!    during bulk transfers the two do not take turns at the lock. Then it sleeps on the epoll instance as before, also beside another waiter:
//!    whose condition was asked after the daemon had handled anything.
//! 4. A waiter that leaves while more is to be done kicks, for the daemon to go on, and wakes the followers, one of which
//!    takes its place.
//!
//! # Shared memory
//!
//! What node-mates put into their rings is no event of the epoll instance. They ring a bell for it (`shm/bell.rs`), and write our
//! eventfd only if it says that nobody here looks. Whoever looks answers the bell first, and before a thread sleeps, or a
//! waiter leaves, it dozes: if the bell has rung meanwhile it looks again, or kicks. For what is sent *quietly* they only hint:
//! nobody is woken then but a thread that waits, and what is hinted at may lie there until somebody looks ([`Endpoint::look`]). A waiter waits for its bell for a
//! short while before it sleeps, without a system call if there is a core for each rank, else by yielding (`pulse.rs`).
//!
//! The timer is one timerfd, set again only to an earlier time or after it has fired; a time that moved back costs one
//! idle wake-up. Nothing polls: an idle rank uses no CPU.
//!
//! # After [`Endpoint::close`]
//!
//! The daemon is gone, nothing arrives, nothing is sent: [`Endpoint::act`] still runs its closure, and what it queues is
//! dropped, lent payloads given back. What was still under way is forgotten: its memory is not read any more, and not given
//! back either. Transfers that others send to a closed endpoint vanish.

mod core;
mod datagrams;
mod door;
mod lock;
mod poller;
mod pulse;
mod rings;
mod setup;
mod trace;

pub(crate) use poller::Waker;
pub(crate) use setup::Setup;

use self::core::{Core, Progress};
use self::lock::{Lock, Locked};
use self::poller::Poller;
use self::pulse::Pulse;
use crate::shm::Look;
use crate::udp::{UdpInfo, UdpPort};
use crate::{Handler, Node, Outbox, Rank, Route, Traffic};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// How often [`Endpoint::look`] goes on while there is more.
const LOOKS: usize = 16;

/// A rank's end of the transport. Clones are handles to the same one; dropping the last closes it.
///
/// Any thread may call any method, but not from inside a closure or a [`Handler`] method of the same endpoint: that
/// panics, it does not deadlock.
pub struct Endpoint<H: Handler> {
    owner: Arc<Owner<H>>,
}

impl<H: Handler> Clone for Endpoint<H> {
    fn clone(&self) -> Self {
        Endpoint { owner: self.owner.clone() }
    }
}

impl<H: Handler> fmt::Debug for Endpoint<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let me = self.owner.shared.me;
        f.debug_struct("Endpoint").field("rank", &me).finish_non_exhaustive()
    }
}

impl<H: Handler> Endpoint<H> {
    /// Runs `action` on the handler and sends what it queues, as far as flow control lets it; the rest follows by itself.
    /// Never waits for a peer.
    pub fn act<R>(&self, action: impl FnOnce(&mut H, &mut Outbox) -> R) -> R {
        let shared = &*self.owner.shared;
        let mut state = shared.lock.lock();
        let (outcome, _) = state.core.run(action);
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
        let mut driving = Driving { shared, active: false, progress: Progress::default() };
        let mut state = shared.lock.lock();
        loop {
            state.core.forget_calls();
            let (outcome, told) = state.core.run(&mut condition);
            if let Some(outcome) = outcome {
                driving.leave(&mut state);
                shared.changed(&mut state);
                return outcome;
            }
            if told {
                // By what came of its own sends: its answer may be another now, and that of other waiters.
                shared.changed(&mut state);
                continue;
            }
            shared.arrange(&mut state);
            assert!(!state.ended, "waiting on the endpoint of {}, which is closed", shared.me);
            if driving.active || !state.waiter {
                if !std::mem::replace(&mut driving.active, true) {
                    state.waiter = true;
                    state.turns += 1;
                }
                drop(state);
                shared.rest(driving.progress, true);
                state = shared.lock.lock();
                driving.progress = shared.take_in(&mut state);
            } else {
                state = shared.park(state);
            }
        }
    }

    /// Takes in what has arrived by now, for a thread that has no reason to wait: the daemon need not be woken for it. Does nothing
    /// where another thread waits, and does it.
    pub fn look(&self) {
        let shared = &*self.owner.shared;
        // Before the lock, so that it is dropped after it, also by a panic of the handler's.
        let mut looking = Looking { shared, left: None };
        let mut state = shared.lock.lock();
        if state.waiter || state.ended {
            return;
        }
        for _ in 0..=LOOKS {
            looking.left = Some(Progress { more: true, ..Progress::default() });
            let progress = shared.take_in(&mut state);
            looking.left = Some(progress);
            if !progress.more {
                break;
            }
        }
    }

    /// Reads the handler, and what has passed by the same moment.
    pub fn read<R>(&self, read: impl FnOnce(&H) -> R) -> (R, Traffic) {
        let state = self.owner.shared.lock.lock();
        (read(state.core.handler()), state.core.traffic())
    }

    /// What has passed so far.
    pub fn traffic(&self) -> Traffic {
        self.owner.shared.lock.lock().core.traffic()
    }

    /// What the system has given us as a UDP socket, if there is one.
    pub fn udp(&self) -> Option<UdpInfo> {
        self.owner.shared.lock.lock().core.port().map(UdpPort::info)
    }

    /// The ranks that share this one's memory. This one alone where [`Route::Local`] or [`Route::Udp`] was asked for.
    pub fn node(&self) -> &Arc<Node> {
        &self.owner.node
    }

    /// On how many nodes the ranks of the job are.
    pub fn nodes(&self) -> usize {
        self.owner.nodes.count
    }

    /// The leader of each rank's node, by ranks: those with the same one share memory.
    pub fn leaders(&self) -> &[Rank] {
        &self.owner.nodes.leaders
    }

    /// The routes that lead from this rank to the others, best first.
    pub fn routes(&self) -> &[Route] {
        &self.owner.routes
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
    node: Arc<Node>,
    nodes: Nodes,
    routes: Vec<Route>,
}

/// Who is where.
pub(crate) struct Nodes {
    pub count: usize,
    /// Of each rank's node; itself where it shares its memory with nobody.
    pub leaders: Vec<Rank>,
}

impl<H: Handler> Owner<H> {
    fn close(&self) {
        self.shared.end();
        self.node.close();
        let daemon = self.daemon.lock().unwrap_or_else(PoisonError::into_inner).take();
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
    /// By which node-mates call us, if there are any.
    pulse: Option<Pulse>,
    lock: Lock<State<H>>,
    /// Followers sleep here, and a daemon that stands aside.
    notify: Condvar,
}

struct State<H> {
    core: Core<H>,
    /// Whether a waiter drives.
    waiter: bool,
    /// How many waiters have driven, one after the other.
    turns: u64,
    /// How many threads sleep on `notify`.
    parked: usize,
    /// Whether the poller watches for room in the socket.
    wants_room: bool,
    /// When the timer will fire.
    timer: Option<Instant>,
    /// Closed, or the daemon has panicked.
    ended: bool,
}

impl<H: Handler> Shared<H> {
    /// Takes in what has arrived.
    fn take_in(&self, state: &mut State<H>) -> Progress {
        // Before looking anywhere.
        if let Some(pulse) = &self.pulse {
            pulse.answer();
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
    fn changed(&self, state: &mut State<H>) {
        if state.waiter {
            self.wake();
        }
        self.notify_parked(state);
        self.arrange(state);
    }

    /// Wakes whoever sleeps first, or lets it look once more.
    fn wake(&self) {
        match &self.pulse {
            Some(pulse) => pulse.ring(),
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
        let rung = !state.waiter && self.pulse.as_ref().is_some_and(|pulse| pulse.leave() == Look::Again);
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
    fn arrange(&self, state: &mut State<H>) {
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
    fn end(&self) {
        let mut state = self.lock.lock();
        state.ended = true;
        state.core.close();
        self.notify_parked(&state);
        drop(state);
        self.poller.waker().kick();
    }

    /// Sleeps until there is something to do after `progress`; `patient` waits a while before that.
    fn rest(&self, progress: Progress, patient: bool) {
        if progress.more {
            return;
        }
        if let Some(lull) = progress.lull {
            thread::sleep(lull);
        }
        if let Some(pulse) = &self.pulse {
            let again = if patient { self.linger(pulse) } else { self.withdraw(pulse) };
            if again == Look::Again {
                return;
            }
        }
        self.poller.sleep();
    }

    /// The waiter's last looks before it sleeps.
    fn linger(&self, pulse: &Pulse) -> Look {
        if pulse.linger() {
            return Look::Again;
        }
        self.lock.lock().core.call();
        pulse.doze()
    }

    /// The daemon's. While somebody waits the bell is the waiter's, who would not see hints any more; else what is in no hurry stays, or the
    /// daemon would look for each of it once it looks at all.
    fn withdraw(&self, pulse: &Pulse) -> Look {
        // Under the lock: whoever begins to wait now comes before that, or after it.
        let state = self.lock.lock();
        if state.waiter { Look::Sleep } else { pulse.leave() }
    }

    fn daemon(&self) {
        let mut progress = Progress::default();
        loop {
            self.rest(progress, false);
            let mut state = self.lock.lock();
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

    /// Leaves the driving to the waiter: makes sure that it looks at what we have handled, and sleeps until it has left. The next one, if
    /// there is one by then, has looked for itself: it need not wake us again when it leaves.
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
