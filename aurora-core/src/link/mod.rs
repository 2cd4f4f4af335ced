//! The access of shared objects to their rank's kernel: calls, waits, node barriers, and the counting of time.

mod asked;
mod collective;

pub(crate) use asked::Asked;
pub(crate) use collective::{CollectiveCall, Give, Step};

use crate::config::Modes;
use crate::error::{Done, Result};
use crate::ids::ObjectId;
use crate::kernel::Kernel;
use crate::kernel::nodes::Nodes;
use crate::kernel::watch::Blocked;
use crate::memory::HolderTimeout;
use crate::once::Once;
use crate::polls::{Level, Look, Watcher};
use crate::stats::{Clock, InCall, Times};
use crate::{Error, Site};
use aurora_net::{Attending, BarrierState, Endpoint, Node, NodeBarrier, Outbox, Rank, Traffic};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tracing::span::EnteredSpan;

/// A call during which the rank's thread drives bulk transfers of MPI.
#[derive(Debug)]
pub(crate) struct BulkCall<'a> {
    // Dropped first, so that its last wait is a part of the call.
    _attending: Option<Attending<'a, Kernel>>,
    _call: InCall<'a>,
}

/// An action of a rank's thread on its kernel.
type Action<'a, R> = &'a mut dyn FnMut(&mut Kernel, &mut Outbox) -> R;

/// The way from a shared object to its rank's kernel.
#[allow(unnameable_types, reason = "handles deref to it; it has no public items")]
pub struct Link {
    pub(crate) endpoint: Endpoint<Kernel>,
    pub(crate) me: Rank,
    pub(crate) size: usize,
    /// The barrier in the node's memory, if there are other ranks, and all are on this node.
    pub(crate) barrier: Option<Rc<RefCell<NodeBarrier>>>,
    /// The ranks that share the memory of vectors, by node.
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) modes: Modes,
    pub(crate) holder_timeout: Arc<HolderTimeout>,
    /// The number of objects that this rank has constructed.
    objects: Rc<Cell<u64>>,
    /// The object to which this link belongs.
    object: Option<ObjectId>,
    /// Errors of calls at this moment are not returned to the program.
    quiet: Cell<bool>,
    clock: Rc<Clock>,
    watcher: Rc<Watcher>,
}

impl Link {
    /// The link of a rank's job. `timed`: calls are timed from the start.
    pub(crate) fn new(endpoint: Endpoint<Kernel>, me: Rank, size: usize, timed: bool) -> Self {
        let (node, nodes, modes, holder_timeout, polls) = endpoint.act(|kernel, _| {
            let core = &kernel.core;
            let (nodes, holder_timeout) = (core.nodes.clone(), core.holder_timeout.clone());
            (core.node.clone(), nodes, core.modes, holder_timeout, core.polling.polls.clone())
        });
        let barrier = node.and_then(|node| node.barrier()).map(|barrier| Rc::new(RefCell::new(barrier)));
        let (objects, object, quiet) = (Rc::new(Cell::new(0)), None, Cell::new(false));
        let clock = Rc::new(Clock::start(timed));
        let watcher = Rc::new(Watcher::new(polls));
        Link { endpoint, me, size, barrier, nodes, modes, holder_timeout, objects, object, quiet, clock, watcher }
    }

    /// The link of the next object that this rank constructs. It keeps the kernel alive, not the job.
    pub(crate) fn of_next_object(&self) -> Link {
        self.objects.set(self.objects.get() + 1);
        Link {
            endpoint: self.endpoint.clone(),
            barrier: self.barrier.clone(),
            nodes: self.nodes.clone(),
            holder_timeout: self.holder_timeout.clone(),
            objects: self.objects.clone(),
            object: Some(ObjectId(self.objects.get())),
            quiet: Cell::new(false),
            clock: self.clock.clone(),
            watcher: self.watcher.clone(),
            ..*self
        }
    }

    /// The ranks of this node, if there are others: they share the memory of vectors.
    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        Some(self.endpoint.node()).filter(|node| node.ranks().len() > 1)
    }

    /// The object to which this link belongs.
    pub(crate) fn id(&self) -> ObjectId {
        self.object.expect("the link of an object")
    }

    pub(crate) fn quietly<R>(&self, action: impl FnOnce() -> R) -> R {
        let before = self.quiet.replace(true);
        scopeguard::defer!(self.quiet.set(before));
        action()
    }

    fn reported(&self, kernel: &mut Kernel, error: &Error) {
        if !self.quiet.get() {
            kernel.note_reported(self.object, error);
        }
    }

    /// Begins a call that needs other ranks. Its time counts as sharing, its waits as waiting.
    pub(crate) fn call(&self, name: &'static str) -> InCall<'_> {
        self.watcher.disturb();
        self.clock.call(name)
    }

    /// Begins a call that may transfer much: until it returns, long payloads go by MPI if that is faster.
    pub(crate) fn bulk_call(&self, name: &'static str) -> BulkCall<'_> {
        self.in_bulk(self.call(name))
    }

    /// Long payloads go by MPI during a call.
    pub(crate) fn in_bulk<'a>(&'a self, call: InCall<'a>) -> BulkCall<'a> {
        BulkCall { _attending: self.endpoint.attend(), _call: call }
    }

    /// Begins a collective call. If all ranks share a node's memory, it needs no message, and apart from its waits,
    /// which [`Link::await_node_peers`] counts, it takes no longer than reading the clock: then it is not timed.
    pub(crate) fn in_collective(&self, name: &'static str) -> InCall<'_> {
        match self.barrier.is_some() || self.size == 1 {
            true => Clock::short_call(name),
            false => self.clock.call(name),
        }
    }

    /// Does an action at once, unless the job has ended.
    pub(crate) fn on_kernel<R>(
        &self,
        site: &Site,
        action: impl FnOnce(&mut Kernel, &mut Outbox) -> Result<R>,
    ) -> Result<R> {
        let mut once = Once::new(action);
        let acted = self.act_once(site, &mut |kernel, out| Ok(once.try_run(|action| action(kernel, out))?));
        acted.map_err(|error| *error)?;
        Ok(once.expect())
    }

    /// Takes a `dyn`, as [`Link::wait_once`] does, so that the code around an action is compiled once, and not again
    /// for each closure of each program.
    pub(crate) fn act_once(&self, site: &Site, action: Action<'_, Done>) -> Done {
        self.watcher.disturb();
        self.endpoint.act(|kernel, out| {
            let outcome = is_under_way(kernel, site).and_then(|()| {
                let outcome = action(kernel, out);
                kernel.none_given_up(out).and(outcome)
            });
            outcome.inspect_err(|error| self.reported(kernel, error))
        })
    }

    /// The error that ended the job, if a node peer has gone for that reason; else `error`. Ranks learn it one after
    /// another.
    pub(crate) fn why(&self, error: Error, site: &Site) -> Error {
        const TOLD: Duration = Duration::from_secs(2);
        let until = Instant::now() + TOLD;
        while Instant::now() < until {
            if let Err(why) = self.on_kernel(site, |_, _| Ok(())) {
                return why;
            }
            thread::sleep(Duration::from_millis(1));
        }
        error
    }

    /// Does an action even if the job has ended: for cleaning up.
    pub(crate) fn tidy_kernel<R>(&self, action: impl FnOnce(&mut Kernel, &mut Outbox) -> R) -> R {
        let mut once = Once::new(action);
        self.tidy_once(&mut |kernel, out| once.run(|action| action(kernel, out)));
        once.expect()
    }

    fn tidy_once(&self, action: Action<'_, ()>) {
        self.endpoint.act(|kernel, out| {
            action(kernel, out);
            let _ = kernel.none_given_up(out);
        });
    }

    /// Does something at the end of a guard or handle: inside a call of this rank it is done when that call has ended.
    pub(crate) fn let_go_of(&self, action: impl FnOnce(&mut Kernel, &mut Outbox) + Send + 'static) {
        let let_go = || self.endpoint.act_soon(action);
        if !thread::panicking() {
            return let_go();
        }
        // An operation of the user may panic here. Then its object is poisoned, so the panic is not lost.
        let _ = catch_unwind(AssertUnwindSafe(let_go));
    }

    /// Does an action that may be a *look*: it reads or tries, and finds nothing changed since the last look. `asked`
    /// and `found` return digests of the request and of the result; `found` returns `None` if something has changed.
    pub(crate) fn look_at<R>(
        &self,
        (object, action, site): (ObjectId, &'static str, &Site),
        asked: impl FnOnce() -> u64,
        look: impl FnOnce() -> Result<R>,
        found: impl FnOnce(&R) -> Option<u64>,
    ) -> Result<R> {
        match self.watched() {
            Level::Nothing => return look(),
            Level::Writes => {}
            Level::All => self.watcher.begin_look(),
        }
        let outcome = self.watcher.during(look);
        match outcome.as_ref().ok().and_then(found) {
            Some(found) => self.watcher.note(&Look { object, action, site, asked: asked(), found }),
            None => self.watcher.disturb(),
        }
        outcome
    }

    /// Does something that belongs to the next look.
    pub(crate) fn during_look<R>(&self, action: impl FnOnce() -> R) -> R {
        self.watcher.during(action)
    }

    #[inline]
    pub(crate) fn watched(&self) -> Level {
        self.watcher.level()
    }

    /// Called for an action that is no look, and no call of this link: it ends a series of looks.
    #[inline]
    pub(crate) fn no_look(&self) {
        self.watcher.disturb();
    }

    /// Reads the kernel, and the transport's counters at the same moment.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&Kernel) -> R) -> (R, Traffic) {
        self.endpoint.read(read)
    }

    /// The parts of this rank's time. The first call switches the timing of calls on.
    pub(crate) fn times(&self) -> Times {
        self.clock.time_calls();
        self.clock.times()
    }

    /// Handles the messages that have arrived.
    pub(crate) fn look(&self) {
        self.endpoint.look();
    }

    /// Waits a very short time for a write of this node's ranks to shared memory. If the write is not there at once and
    /// calls are timed, returns the start of the wait, for [`Link::wait_since`].
    pub(crate) fn linger(&self, mut has_come: impl FnMut() -> bool) -> Option<Instant> {
        self.watcher.disturb();
        if has_come() {
            return None;
        }
        let began = self.clock.now();
        self.endpoint.node().spin(has_come);
        began
    }

    /// Waits for the other ranks at a barrier in the node's memory: first by `linger`, which only spins for a moment,
    /// then in the usual way, until `poll` reports that all have arrived.
    pub(crate) fn await_node_peers(
        &self,
        wait: Blocked,
        site: &Site,
        linger: impl FnOnce() -> BarrierState,
        mut poll: impl FnMut(&mut Kernel) -> Result<BarrierState>,
    ) -> Result<BarrierState> {
        let arrived_at = self.clock.now();
        let soon = linger();
        if soon != BarrierState::Waiting && arrived_at.is_none() {
            return Ok(soon);
        }
        // If calls are timed, the moment in `linger` counts as a wait too.
        self.wait_since(arrived_at, wait, site, |kernel, _| match poll(kernel) {
            Ok(BarrierState::Waiting) => None,
            state => Some(state),
        })
    }

    /// Waits until `condition` returns `Some` or the job has ended, and drives the transport meanwhile.
    pub(crate) fn wait_kernel<R>(
        &self,
        wait: Blocked,
        site: &Site,
        condition: impl FnMut(&mut Kernel, &mut Outbox) -> Option<Result<R>>,
    ) -> Result<R> {
        self.wait_since(None, wait, site, condition)
    }

    /// As [`wait_kernel`](Self::wait_kernel), for a wait that has lasted since `began`. `None`: it is a wait if
    /// `condition` first returns `None`.
    pub(crate) fn wait_since<R>(
        &self,
        began: Option<Instant>,
        wait: Blocked,
        site: &Site,
        mut condition: impl FnMut(&mut Kernel, &mut Outbox) -> Option<Result<R>>,
    ) -> Result<R> {
        let mut outcome = None;
        self.wait_once(began, wait, site, &mut |kernel, out| {
            let met = condition(kernel, out)?;
            Some(met.map(|met| outcome = Some(met)).map_err(Box::new))
        })
        .map_err(|error| *error)?;
        Ok(outcome.expect("a wait ends when its condition is met"))
    }

    pub(crate) fn wait_once(
        &self,
        began: Option<Instant>,
        wait: Blocked,
        site: &Site,
        condition: Action<'_, Option<Done>>,
    ) -> Done {
        self.watcher.disturb();
        let (mut first, mut waited, mut span) = (true, None, None);
        let outcome = self.endpoint.wait(|kernel, out| {
            let outcome = match is_under_way(kernel, site) {
                Ok(()) => {
                    let outcome = condition(kernel, out);
                    kernel.none_given_up(out).map_or_else(|error| Some(Err(error)), |()| outcome)
                }
                Err(error) => Some(Err(error)),
            };
            if let Some(Err(error)) = &outcome {
                self.reported(kernel, error);
            }
            if outcome.is_some() {
                let blocked = (!first).then(|| kernel.core.watch.done(kernel.core.clock.now()));
                if let Some(time) = began.map(|began| began.elapsed()).or(blocked) {
                    let (object, kind) = kernel.account(wait, self.object);
                    kernel.core.mail.counters.waited(object, kind, time);
                    waited = Some(time);
                }
            } else if first {
                first = false;
                kernel.core.may_poll = !kernel.has_workers(wait);
                kernel.core.watch.begin(kernel.core.clock.now(), wait, site);
                span = self.wait_span(kernel, wait, site);
            } else {
                kernel.core.watch.evaluated();
            }
            outcome
        });
        drop(span);
        if let Some(waited) = waited {
            self.clock.waited(waited);
        }
        outcome
    }

    /// The span of a wait, for traces.
    fn wait_span(&self, kernel: &Kernel, wait: Blocked, site: &Site) -> Option<EnteredSpan> {
        let about = || {
            let (object, kind) = kernel.account(wait, self.object);
            let object = object.and_then(|id| kernel.objects.get(&id));
            (kind.name(), object.map(|object| &object.frame.name.what as &dyn fmt::Display))
        };
        crate::trace::wait(about, site)
    }
}

/// Fails once the job has ended.
fn is_under_way(kernel: &Kernel, site: &Site) -> Done {
    match &kernel.core.fault {
        Some(fault) => Err(Box::new(fault.clone())),
        None if kernel.core.ended => Err(Box::new(Error::Ended { site: site.clone() })),
        None => Ok(()),
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("me", &self.me).field("object", &self.object).finish_non_exhaustive()
    }
}
