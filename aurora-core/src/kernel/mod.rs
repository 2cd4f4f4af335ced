//! The one-sided kernel of a rank: everything that the transport's I/O loop decides on its behalf.
//!
//! [`Kernel`] is the state of one rank, changed under the endpoint's lock by its daemon (arriving messages) and by the
//! calling thread (through [`World`](crate::World)). It is passive: it never blocks, it only answers, parks, and notes.

mod asked;
pub(crate) mod asking;
mod counters;
mod deliver;
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

pub(crate) use asked::Asked;
pub(crate) use counters::Reason;
pub use counters::Usage;
pub(crate) use loans::Loan;

use crate::Error;
use crate::collective::pieces::Pieces;
use crate::collective::{Barrier, Tell};
use crate::config::Modes;
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::Message;
use crate::memory::{Budget, HolderTimeout};
use crate::object::{Cx, Frame, SharedObject};
use aurora_net::{Node, Outbox, Payload, Rank, Received, Token};
use loans::Loans;
use mail::Mail;
use nodes::Nodes;
use polling::Polling;
use reports::Reports;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;
use timers::Timers;
use watch::Watch;

/// A request of ours.
pub(crate) struct Call {
    /// Whom we asked.
    pub(crate) to: Rank,
    /// Where the answer's payload goes, if not into a buffer.
    landing: Option<Token>,
    /// Nobody waits for the answer yet.
    ahead: bool,
    /// The object that is asked.
    object: ObjectId,
    /// It changes something there.
    writes: bool,
    /// The answer, once it is here.
    pub(crate) reply: Option<Result<Received, Error>>,
}

/// State of one rank.
pub(crate) struct Kernel {
    pub(crate) core: Core,
    pub(crate) objects: BTreeMap<ObjectId, Entry>,
    /// When objects want to be called.
    timers: Timers,
}

/// A shared object: what the kernel keeps of it, whatever it is, and what it is.
pub(crate) struct Entry {
    pub(crate) frame: Frame,
    pub(crate) machine: Box<dyn SharedObject>,
}

/// What a rank's kernel knows beside its objects.
pub(crate) struct Core {
    pub(crate) me: Rank,
    pub(crate) size: usize,
    pub(crate) modes: Modes,
    pub(crate) mail: Mail,
    pub(crate) loans: Loans,
    pub(crate) barrier: Barrier,
    /// What other ranks have given to this one in steps of collective calls.
    pub(crate) pieces: Pieces,
    /// This rank's node, if the job has other ranks and all are on it.
    pub(crate) node: Option<Arc<Node>>,
    /// Which ranks share the memory of vectors.
    pub(crate) nodes: Arc<Nodes>,
    /// The job has several nodes.
    pub(crate) between_nodes: bool,
    pub(crate) calls: HashMap<CallId, Call>,
    next_call: u64,
    next_guard: u64,
    pub(crate) watch: Watch,
    pub(crate) polling: Polling,
    /// Objects to which a header has come that they have not been able to act on: nothing could be sent.
    pub(crate) placed: Vec<ObjectId>,
    /// How much memory a copy of a vector may take on this rank.
    pub(crate) budget: Budget,
    /// For ranks that hold the latches of our blocks.
    pub(crate) holder_timeout: Arc<HolderTimeout>,
    /// What ended the job, for every later call.
    pub(crate) fault: Option<Error>,
    /// Errors that no call could return when they happened: `run` returns the first that no call has returned since.
    deferred: Vec<(ObjectId, Error)>,
    /// Errors of objects that calls have returned to the program.
    reported: BTreeSet<(ObjectId, u64)>,
    /// By ranks: whether the rank has left the closure, and how many objects it had dropped.
    left: Vec<Option<u64>>,
    /// By ranks: how many drop notices have come from the rank. For this rank: how many objects it has dropped.
    drop_notices: Vec<u64>,
    leaving: bool,
    /// What ranks report to rank 0, and its answers.
    pub(crate) reports: Reports,
    /// `run` is over.
    pub(crate) ended: bool,
    /// The job has failed in the call of an object that is under way: the other ranks do not know yet.
    pub(crate) is_failing: bool,
}

impl Kernel {
    pub(crate) fn new(me: Rank, size: usize, limit: Option<Duration>) -> Self {
        let core = Core {
            me,
            size,
            modes: Modes::default(),
            mail: Mail::new(size),
            loans: Loans::default(),
            barrier: Barrier::new(me, size),
            pieces: Pieces::default(),
            node: None,
            nodes: Arc::new(Nodes::apart(size)),
            between_nodes: false,
            calls: HashMap::new(),
            next_call: 0,
            next_guard: 0,
            watch: Watch::new(me, limit),
            polling: Polling::new(limit),
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
        };
        Kernel { core, objects: BTreeMap::new(), timers: Timers::default() }
    }

    /// Calls an object. `None`: there is none of that number.
    ///
    /// # Panics
    /// If an operation of the program's does; what the object makes of that comes first.
    pub(crate) fn call<R>(
        &mut self,
        id: ObjectId,
        out: &mut Outbox,
        call: impl FnOnce(&mut dyn SharedObject, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        let Kernel { core, objects, timers } = self;
        let Entry { frame, machine } = objects.get_mut(&id)?;
        let called = catch_unwind(AssertUnwindSafe(|| call(&mut **machine, &mut Cx { core, frame, out })));
        if std::mem::take(&mut frame.is_failing) {
            machine.failed(&mut Cx { core, frame, out });
        }
        timers.set(id, machine.poll_timeout());
        self.shut_if_failing();
        Some(called.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Calls an object whose handle knows what it is.
    pub(crate) fn with<O: SharedObject, R>(
        &mut self,
        id: ObjectId,
        out: &mut Outbox,
        call: impl FnOnce(&mut O, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        self.call(id, out, |object, cx| {
            let object: &mut dyn Any = object;
            call(object.downcast_mut().expect("a handle is of its object's kind"), cx)
        })
    }

    /// Of a job that has failed nothing may be used.
    pub(crate) fn shut_if_failing(&mut self) {
        if std::mem::take(&mut self.core.is_failing) {
            self.refresh_all();
        }
    }

    /// What the calling thread and the ranks that share memory may do to objects without us follows what we know.
    fn refresh_all(&mut self) {
        let Kernel { core, objects, .. } = self;
        let usable = core.is_usable();
        objects.values_mut().for_each(|Entry { frame, machine }| machine.refresh(frame, usable));
    }

    /// `run` is over: nothing can be used any more.
    pub(crate) fn end(&mut self) {
        self.core.ended = true;
        self.refresh_all();
    }

    /// Forgets an object that every rank has dropped, once nothing is sent from it. Of a faulty one nobody misses a
    /// load that is under way, and its memory may be what is short.
    pub(crate) fn reap(&mut self, id: ObjectId) {
        if let Some(Entry { frame, machine }) = self.objects.get(&id)
            && frame.dropped.iter().all(|dropped| *dropped)
            && machine.is_idle(frame)
        {
            self.core.mail.counters.reap(id, &frame.name);
            self.core.reported.retain(|(of, _)| *of != id);
            self.objects.remove(&id);
            self.timers.set(id, None);
        }
    }
}

impl Core {
    pub(crate) fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        self.me.others(self.size)
    }

    /// Whether the job goes on.
    pub(crate) fn is_usable(&self) -> bool {
        self.fault.is_none() && !self.ended
    }

    fn tell(&mut self, told: Vec<Tell>, out: &mut Outbox) {
        for (to, round, summary) in told {
            let payload = postcard::to_allocvec(&summary).expect("summaries are plain data");
            let reason = Reason { action: "barrier", site: self.barrier.site().cloned() };
            let message = Message::Round { seq: self.barrier.seq(), round };
            self.mail.say_for(out, to, &message, Payload::Bytes(payload.into()), Some(&reason));
        }
    }
}
