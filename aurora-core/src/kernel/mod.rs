//! The kernel of a rank: everything that the transport's I/O loop decides for it.
//!
//! [`Kernel`] is the state of one rank, changed under the endpoint's lock by its daemon (arriving messages) and by
//! the calling thread (through [`World`](crate::World)). It never blocks: it only answers, parks, and notes.

pub(crate) mod asking;
mod clock;
mod counters;
pub(crate) mod cx;
mod deliver;
mod digests;
mod faults;
#[cfg(test)]
mod given_up;
#[cfg(test)]
mod hostile;
mod leaving;
mod loans;
mod mail;
pub(crate) mod message;
#[cfg(test)]
mod model;
pub(crate) mod nodes;
pub(crate) mod polling;
mod reports;
mod timers;
pub(crate) mod using;
mod waits;
pub(crate) mod watch;

pub use counters::{Reason, Usage};

use crate::collective::pieces::Pieces;
use crate::collective::{Barrier, Envelope};
use crate::config::Modes;
use crate::error::{A_CALL, ObjectName};
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::Message;
use crate::memory::{Budget, HolderTimeout};
use crate::object::{Cx, Frame, Loans, SharedObject};
use crate::once::Once;
use crate::{Error, Kind};
use aurora_net::bootstrap::capture;
use aurora_net::{Node, Outbox, Payload, Rank, Received, Source, Token};
use clock::Clock;
use digests::{Digests, Share};
use loans::CallerLoan;
use mail::Mail;
use nodes::Nodes;
use polling::Polling;
use reports::Reports;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
use timers::Timers;
use watch::Watch;

/// A request of this rank.
pub(crate) struct OpenCall {
    pub(crate) to: Rank,
    /// The caller's memory for the answer; `None`: a buffer.
    landing: Option<Token>,
    /// No thread waits for the answer yet.
    ahead: bool,
    object: ObjectId,
    /// The object gets the answer.
    shown: bool,
    /// Discard the answer when it arrives.
    forgotten: bool,
    pub(crate) reply: Option<Result<Received, Error>>,
}

pub(crate) struct Kernel {
    pub(crate) core: Core,
    pub(crate) objects: BTreeMap<ObjectId, Entry>,
    timers: Timers,
    digests: Digests,
}

/// A shared object.
pub(crate) struct Entry {
    pub(crate) frame: Frame,
    pub(crate) machine: Box<dyn SharedObject>,
    share: Share,
}

/// The state of a rank's kernel, except its objects.
pub(crate) struct Core {
    pub(crate) clock: Clock,
    pub(crate) me: Rank,
    pub(crate) size: usize,
    pub(crate) modes: Modes,
    pub(crate) mail: Mail,
    loans: Loans<CallerLoan>,
    pub(crate) barrier: Barrier,
    /// The data of other ranks for this rank in steps of collective calls.
    pub(crate) pieces: Pieces,
    /// This rank's node, if the job has other ranks and all are on it.
    pub(crate) node: Option<Arc<Node>>,
    /// The ranks that share the memory of vectors, by node.
    pub(crate) nodes: Arc<Nodes>,
    pub(crate) between_nodes: bool,
    pub(crate) calls: HashMap<CallId, OpenCall>,
    /// The object that watches each source.
    pub(crate) sources: BTreeMap<Source, ObjectId>,
    next_call: u64,
    next_guard: u64,
    pub(crate) watch: Watch,
    pub(crate) polling: Polling,
    /// Objects to which a header has arrived while nothing could be sent: they act on it at the next message.
    pub(crate) placed: Vec<ObjectId>,
    /// The memory that a copy of a vector may take on this rank.
    pub(crate) budget: Budget,
    /// For ranks that hold the latches of this rank's blocks.
    pub(crate) holder_timeout: Arc<HolderTimeout>,
    /// The error that ended the job, for every later call.
    pub(crate) fault: Option<Error>,
    /// Checking mode: the time of this rank's present accesses.
    pub(crate) order: crate::race::Clock,
    /// Errors that no call could return when they happened: `run` returns the first that no call has returned since.
    deferred: Vec<(ObjectId, Error)>,
    /// Errors of objects that calls have returned to the program.
    reported: BTreeSet<(ObjectId, u64)>,
    /// By rank: `Some` if the rank has left the closure, with the number of objects that it had dropped.
    left: Vec<Option<u64>>,
    /// By rank: its drop notices that have arrived. For this rank: the number of objects it has dropped.
    drop_notices: Vec<u64>,
    leaving: bool,
    pub(crate) reports: Reports,
    pub(crate) ended: bool,
    /// The job has failed in the present call of an object: the other objects are not shut yet.
    pub(crate) is_failing: bool,
    /// The wait that began last may poll: see [`SharedObject::has_workers`].
    pub(crate) may_poll: bool,
}

/// A call of an object, made once. As a `dyn`, so that the code around a call is compiled once.
type Action<'a> = &'a mut dyn FnMut(&mut dyn SharedObject, &mut Cx<'_>);

impl Kernel {
    pub(crate) fn new(me: Rank, size: usize, limit: Option<Duration>) -> Self {
        let clock = Clock;
        let began = clock.now();
        let core = Core {
            clock,
            me,
            size,
            modes: Modes::default(),
            mail: Mail::new(me, size),
            loans: Loans::default(),
            barrier: Barrier::new(me, size),
            order: crate::race::Clock::new(me),
            pieces: Pieces::default(),
            node: None,
            nodes: Arc::new(Nodes::apart(size)),
            between_nodes: false,
            calls: HashMap::new(),
            sources: BTreeMap::new(),
            next_call: 0,
            next_guard: 0,
            watch: Watch::new(me, limit),
            polling: Polling::new(limit, began),
            placed: Vec::new(),
            budget: Budget::default(),
            holder_timeout: Arc::new(HolderTimeout::new(Duration::from_secs(5))),
            fault: None,
            deferred: Vec::new(),
            reported: BTreeSet::new(),
            left: vec![None; size],
            drop_notices: vec![0; size],
            leaving: false,
            reports: Reports::default(),
            ended: false,
            is_failing: false,
            may_poll: true,
        };
        Kernel { core, objects: BTreeMap::new(), timers: Timers::default(), digests: Digests::default() }
    }

    /// Adds an object. Called before ranks agree on it, so that no message arrives for an object that does not exist.
    pub(crate) fn add(&mut self, id: ObjectId, name: ObjectName, machine: impl SharedObject) {
        let frame = Frame::new(id, name, self.core.size);
        let mut entry = Entry { frame, machine: Box::new(machine), share: Share::default() };
        self.digests.touch(id, &mut entry.share);
        self.objects.insert(id, entry);
    }

    pub(crate) fn remove(&mut self, id: ObjectId) {
        if let Some(entry) = self.objects.remove(&id) {
            self.digests.remove(entry.share);
            self.timers.set(id, None);
            self.core.sources.retain(|_, of| *of != id);
        }
    }

    /// Calls an object for the program. `None`: it does not exist. A panic poisons the object and continues.
    pub(crate) fn call<R>(
        &mut self,
        id: ObjectId,
        out: &mut Outbox,
        call: impl FnOnce(&mut dyn SharedObject, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        let mut once = Once::new(call);
        self.call_once(id, out, &mut |object, cx| once.run(|call| call(object, cx)));
        once.outcome()
    }

    fn call_once(&mut self, id: ObjectId, out: &mut Outbox, once: Action<'_>) {
        if let Some(Err(panic)) = self.call_caught((id, true), out, |call| catch_unwind(AssertUnwindSafe(call)), once) {
            resume_unwind(panic);
        }
    }

    /// Calls an object with a message for it. A panic ends here: it poisons the object, and a notice is printed.
    pub(crate) fn hand<R>(
        &mut self,
        id: ObjectId,
        out: &mut Outbox,
        call: impl FnOnce(&mut dyn SharedObject, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        let mut once = Once::new(call);
        let returned = self.hand_once(id, out, &mut |object, cx| once.run(|call| call(object, cx)));
        once.outcome().filter(|_| returned)
    }

    /// False: the call has panicked, or `advance` or `poll_timeout` of the object after it.
    fn hand_once(&mut self, id: ObjectId, out: &mut Outbox, once: Action<'_>) -> bool {
        let me = self.core.me;
        let Some(Err(failure)) = self.call_caught((id, false), out, |call| capture(me, call), once) else {
            return true;
        };
        if let Some(fault) = self.objects.get(&id).and_then(|entry| entry.frame.fault.clone()) {
            crate::notice::operation_panicked(&failure, &fault);
            self.core.defer(id, fault);
        }
        false
    }

    /// Makes a call, of the program if `own`, and then calls [`advance`](SharedObject::advance).
    fn call_caught<P>(
        &mut self,
        (id, own): (ObjectId, bool),
        out: &mut Outbox,
        caught: impl FnOnce(&mut dyn FnMut()) -> Result<(), P>,
        call: Action<'_>,
    ) -> Option<Result<(), P>> {
        let Kernel { core, objects, timers, digests } = self;
        let Entry { frame, machine, share } = objects.get_mut(&id)?;
        digests.touch(id, share);
        let machine = &mut **machine;
        let (had_panicked, mut timeout) = (frame.has_panicked, None);
        let called = caught(&mut || {
            let mut cx = Cx { core, frame, out };
            call(machine, &mut cx);
            if !had_panicked {
                machine.advance(&mut cx);
                timeout = machine.poll_timeout();
            }
        });
        let mut cx = Cx { core, frame, out };
        if called.is_err() || std::mem::take(&mut cx.frame.is_broken) {
            // A panic of the program happens in the guard that it has opened last.
            let guard = cx.frame.open.last().filter(|_| own).map(|guard| (guard.behaviour, guard.site.clone()));
            let (behaviour, opened) = guard.unzip();
            cx.poison(behaviour.unwrap_or(A_CALL), opened);
        }
        let me = cx.core.me;
        if had_panicked {
            // The object still does its work for other ranks. A second panic is not reported.
            let _ = capture(me, || machine.advance(&mut cx));
        }
        if std::mem::take(&mut cx.frame.is_failing) {
            let failing = capture(me, || {
                machine.shut();
                machine.failed(&mut cx);
            });
            if let Err(failure) = failing {
                // The object cannot even clean up.
                cx.fail_job(Error::heard(failure));
            }
            // Nothing more can be expected of an object that panics here.
            let _ = capture(me, || machine.advance(&mut cx));
            timeout = capture(me, || machine.poll_timeout()).unwrap_or(None);
        }
        cx.frame.has_panicked |= called.is_err();
        timers.set(id, timeout.filter(|_| !cx.frame.has_panicked));
        self.shut_if_failing();
        Some(called)
    }

    /// Calls an object whose handle knows its type.
    pub(crate) fn with<O: SharedObject, R>(
        &mut self,
        id: ObjectId,
        out: &mut Outbox,
        call: impl FnOnce(&mut O, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        self.call(id, out, |object, cx| call(object.of_kind(), cx))
    }

    #[inline]
    pub(crate) fn shut_if_failing(&mut self) {
        if std::mem::take(&mut self.core.is_failing) {
            self.shut_all();
        }
    }

    /// Stops the calling thread, and ranks that share memory, from using any object without the kernel.
    fn shut_all(&mut self) {
        let me = self.core.me;
        for entry in self.objects.values_mut() {
            // The job is over already.
            let _ = capture(me, || entry.machine.shut());
        }
    }

    pub(crate) fn end(&mut self) {
        self.core.ended = true;
        self.shut_all();
    }

    /// True if an object that every rank has dropped still does work in steps: its errors belong to this job.
    pub(crate) fn is_working(&self) -> bool {
        self.objects.values().any(|Entry { frame, machine, .. }| {
            frame.fault.is_none()
                && frame.dropped.iter().all(|dropped| *dropped)
                && machine.poll_timeout().is_some()
                && !machine.is_idle(false)
        })
    }

    /// Forgets an object that every rank has dropped, once nothing is sent from it. A faulty object does not wait for
    /// its load, which is not needed and may lack memory.
    pub(crate) fn reap(&mut self, id: ObjectId) {
        if let Some(Entry { frame, machine, .. }) = self.objects.get(&id)
            && frame.dropped.iter().all(|dropped| *dropped)
            && machine.is_idle(frame.fault.is_some())
        {
            self.core.mail.counters.reap(id, &frame.name);
            self.core.reported.retain(|(of, _)| *of != id);
            self.remove(id);
        }
    }
}

impl Core {
    pub(crate) fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        self.me.others(self.size)
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.fault.is_none() && !self.ended
    }

    pub(crate) fn send_envelopes(&mut self, envelopes: Vec<Envelope>, out: &mut Outbox) {
        for (to, round, message) in envelopes {
            let payload = postcard::to_allocvec(&message).expect("plain data");
            let reason = Reason { action: "barrier", site: self.barrier.site().cloned(), kind: Kind::Barrier };
            let message = Message::Round { seq: self.barrier.seq(), round };
            self.mail.say_for(out, to, &message, Payload::Bytes(payload.into()), Some(&reason));
        }
    }
}
