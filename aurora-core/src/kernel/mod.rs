//! The one-sided service of a rank: everything that the transport's I/O loop decides on its behalf.
//!
//! [`Service`] is the state of one rank, changed under the endpoint's lock by its daemon (arriving messages) and by the
//! calling thread (through [`World`](crate::World)). It is passive: it never blocks, it only answers, parks, and notes.

mod asked;
pub(crate) mod asking;
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
mod relays;
mod tally;
mod telling;
pub(crate) mod using;
mod waits;
pub(crate) mod watch;
mod working;

pub(crate) use asked::Asked;
pub(crate) use loans::Loan;
pub(crate) use mail::Reason;
pub use mail::Usage;

use crate::Error;
use crate::behaviour::read_cache::load::Heard;
use crate::collective::pieces::Pieces;
use crate::collective::{Rendezvous, Tell};
use crate::config::Modes;
use crate::ids::{CallId, ObjectId};
use crate::kernel::message::Message;
use crate::memory::{Budget, Patience};
use crate::vector::object::{Object, Parked};
use crate::vector::rally::Rally;
use aurora_net::{Node, Outbox, Payload, Rank, Received, Token};
use loans::Loans;
use mail::Mail;
use nodes::Nodes;
use polling::Polling;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use telling::Telling;
use watch::Watch;

/// A request of ours.
pub(crate) struct Call {
    /// Whom we asked.
    pub(crate) to: Rank,
    /// Where the answer's payload goes, if not into a buffer.
    landing: Option<Token>,
    /// Nobody waits for the answer yet.
    ahead: bool,
    /// It writes to this vector.
    writes: Option<ObjectId>,
    /// The answer, once it is here.
    pub(crate) reply: Option<Result<Received, Error>>,
}

/// State of one rank.
pub(crate) struct Service {
    pub(crate) me: Rank,
    pub(crate) size: usize,
    pub(crate) modes: Modes,
    pub(crate) objects: BTreeMap<ObjectId, Object>,
    pub(crate) mail: Mail,
    pub(crate) loans: Loans,
    pub(crate) rendezvous: Rendezvous,
    /// What other ranks have given to this one in steps of collective calls.
    pub(crate) pieces: Pieces,
    /// If there are others, and all are on it.
    pub(crate) node: Option<Arc<Node>>,
    /// Who shares the memory of vectors with whom.
    pub(crate) nodes: Arc<Nodes>,
    /// Only between machines: inside of one nothing overflows.
    pub(crate) rally: Option<Rally<(ObjectId, Parked)>>,
    pub(crate) calls: HashMap<CallId, Call>,
    next_call: u64,
    next_guard: u64,
    pub(crate) watch: Watch,
    pub(crate) polling: Polling,
    /// Announcements whose first bytes have come.
    pub(crate) heard: Vec<Heard>,
    /// What a copy of a vector may take here.
    pub(crate) budget: Budget,
    /// With ranks that are inside of our blocks.
    pub(crate) patience: Arc<Patience>,
    /// What ended the job, for every later call.
    pub(crate) fault: Option<Error>,
    /// Errors that had nowhere to go when they happened: `run` returns the first that no call has returned before.
    deferred: Vec<(ObjectId, Error)>,
    /// Errors of objects that calls have returned to the program.
    told: BTreeSet<(ObjectId, u64)>,
    /// Who has left the closure, and how many objects it had dropped.
    left: Vec<Option<u64>>,
    /// Objects that each rank has said it has dropped.
    farewells: Vec<u64>,
    leaving: bool,
    /// What ranks tell rank 0, or it them, beside the program's own.
    pub(crate) telling: Telling,
    /// `run` is over.
    pub(crate) ended: bool,
}

impl Service {
    pub(crate) fn new(me: Rank, size: usize, limit: Option<Duration>) -> Self {
        Service {
            me,
            size,
            modes: Modes::default(),
            objects: BTreeMap::new(),
            mail: Mail::new(size),
            loans: Loans::default(),
            rendezvous: Rendezvous::new(me, size),
            pieces: Pieces::default(),
            node: None,
            nodes: Arc::new(Nodes::apart(size)),
            rally: None,
            calls: HashMap::new(),
            next_call: 0,
            next_guard: 0,
            watch: Watch::new(me, limit),
            polling: Polling::new(limit),
            heard: Vec::new(),
            budget: Budget::default(),
            patience: Arc::new(Patience::new(Duration::from_secs(5))),
            fault: None,
            deferred: Vec::new(),
            told: BTreeSet::new(),
            left: vec![None; size],
            farewells: vec![0; size],
            leaving: false,
            telling: Telling::default(),
            ended: false,
        }
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        self.me.others(self.size)
    }

    /// What the calling thread and the ranks that share memory may do to an object without us follows what we know.
    pub(crate) fn refresh(&mut self, id: ObjectId) {
        let usable = self.fault.is_none() && !self.ended;
        if let Some(object) = self.objects.get_mut(&id) {
            object.refresh(usable);
        }
    }

    fn refresh_all(&mut self) {
        let objects: Vec<ObjectId> = self.objects.keys().copied().collect();
        objects.into_iter().for_each(|id| self.refresh(id));
    }

    /// `run` is over: nothing can be used any more.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.refresh_all();
    }

    fn tell(&mut self, told: Vec<Tell>, out: &mut Outbox) {
        for (to, round, summary) in told {
            let payload = postcard::to_allocvec(&summary).expect("summaries are plain data");
            let reason = Reason { object: None, action: "rendezvous", site: self.rendezvous.site().cloned() };
            let message = Message::Round { seq: self.rendezvous.seq(), round };
            self.mail.post_for(out, &reason, to, &message, Payload::Bytes(payload.into()));
        }
    }

    /// Forgets an object that every rank has dropped, once nothing is sent from it. Of a faulty one nobody misses a load that is under
    /// way, and its memory may be what is short.
    fn bury(&mut self, id: ObjectId) {
        if let Some(object) = self.objects.get(&id)
            && object.dropped.iter().all(|dropped| *dropped)
            && !object.block.is_in_flight()
            && (object.fault.is_some() || !object.cache.is_in_flight())
        {
            self.mail.bury(id, &object.name);
            self.objects.remove(&id);
            self.told.retain(|(of, _)| *of != id);
        }
    }
}
