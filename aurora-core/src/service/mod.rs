//! The one-sided service of a rank: everything that the transport's I/O loop decides on its behalf.
//!
//! [`Service`] is the state of one rank, changed under the endpoint's lock by its daemon (arriving messages) and by the
//! calling thread (through [`World`](crate::World)). It is passive: it never blocks, it only answers, parks, and notes.

pub(crate) mod asking;
pub(crate) mod batch;
mod cache;
mod copies;
mod deliver;
pub(crate) mod entering;
mod guests;
pub(crate) mod home;
mod leaving;
pub(crate) mod load;
mod loans;
mod lodging;
mod mail;
pub(crate) mod nodes;
pub(crate) mod object;
pub(crate) mod places;
pub(crate) mod rally;
mod scalar;
mod scope;
pub(crate) mod stream;
pub(crate) mod using;
pub(crate) mod watch;

pub(crate) use loans::Loan;
pub(crate) use mail::Reason;
pub use mail::Usage;

use crate::Error;
use crate::collective::{Rendezvous, Tell};
use crate::error::Claim;
use crate::memory::{Budget, LOST};
use crate::message::{CallId, Message, ObjectId, encode_error};
use aurora_net::{Buffer, Node, Outbox, Payload, Rank, Received, Token};
use load::Heard;
use loans::Loans;
use mail::Mail;
use nodes::Nodes;
use object::{Object, Obstacle, Outcome, Parked, Work};
use rally::Rally;
use scope::Ledger;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use watch::{Act, GuardState, RankState, Watch, What};

/// A request of ours.
pub(crate) struct Call {
    /// Whom we asked.
    pub(crate) to: Rank,
    /// Where the answer's payload goes, if not into a buffer.
    landing: Option<Token>,
    /// The answer, once it is here.
    pub(crate) reply: Option<Result<Received, Error>>,
}

/// State of one rank.
pub(crate) struct Service {
    pub(crate) me: Rank,
    pub(crate) size: usize,
    pub(crate) objects: BTreeMap<ObjectId, Object>,
    pub(crate) mail: Mail,
    pub(crate) loans: Loans,
    pub(crate) rendezvous: Rendezvous,
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
    /// Announcements whose first bytes have come.
    heard: Vec<Heard>,
    /// What a copy of a vector may take here.
    pub(crate) budget: Budget,
    /// What ended the job, for every later call.
    pub(crate) fault: Option<Error>,
    /// An error that had nowhere to go when it happened: `run` returns it.
    pub(crate) deferred: Option<Error>,
    /// Who has left the closure, and how many objects it had dropped.
    left: Vec<Option<u64>>,
    /// Objects that each rank has said it has dropped.
    farewells: Vec<u64>,
    leaving: bool,
    /// `run` is over.
    pub(crate) ended: bool,
}

impl Service {
    pub(crate) fn new(me: Rank, size: usize, limit: Option<Duration>) -> Self {
        Service {
            me,
            size,
            objects: BTreeMap::new(),
            mail: Mail::new(size),
            loans: Loans::default(),
            rendezvous: Rendezvous::new(me, size),
            node: None,
            nodes: Arc::new(Nodes::apart(size)),
            rally: None,
            calls: HashMap::new(),
            next_call: 0,
            next_guard: 0,
            watch: Watch::new(me, limit),
            heard: Vec::new(),
            budget: Budget::default(),
            fault: None,
            deferred: None,
            left: vec![None; size],
            farewells: vec![0; size],
            leaving: false,
            ended: false,
        }
    }

    fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        self.me.others(self.size)
    }

    /// Marks an object or the whole job as failed, here and on every other rank. The first fault stays.
    pub(crate) fn fail(&mut self, object: Option<ObjectId>, error: Error, out: &mut Outbox) {
        if self.note_fault(object, &error, out) {
            let payload = encode_error(&error);
            for rank in self.others() {
                self.mail.post(out, rank, &Message::Fault { object }, Payload::Bytes(payload.clone().into()));
            }
        }
    }

    /// Marks a failure on this rank alone; false if there was one before.
    fn note_fault(&mut self, object: Option<ObjectId>, error: &Error, out: &mut Outbox) -> bool {
        let place = match object {
            None => Some(&mut self.fault),
            Some(id) => self.objects.get_mut(&id).map(|object| &mut object.fault),
        };
        let Some(place) = place.filter(|place| place.is_none()) else {
            return false;
        };
        *place = Some(error.clone());
        if let Some(id) = object
            && self.has_dropped_writes(id)
        {
            self.deferred.get_or_insert(error.clone());
        }
        self.watch.progress();
        match object {
            Some(id) => self.advance(id, out),
            None => self.refresh_all(),
        }
        true
    }

    /// Whether a ReleaseC has been dropped whose writes are lost if the object fails now, and nobody waits to hear of it.
    fn has_dropped_writes(&self, id: ObjectId) -> bool {
        let heard = self.watch.waiting().is_some_and(|waiting| waiting.what == What::Settle { object: id });
        !heard && self.objects.get(&id).is_some_and(|object| object.ledger.has_ended_writes())
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

    /// What a rendezvous has told of faulty objects: known to all ranks after it, whichever way the word came.
    pub(crate) fn learn_faults(&mut self, faults: Vec<(ObjectId, Error)>, out: &mut Outbox) {
        for (object, error) in faults {
            self.note_fault(Some(object), &error, out);
        }
    }

    /// Settles what can be settled and does the parked work whose time has come.
    pub(crate) fn advance(&mut self, id: ObjectId, out: &mut Outbox) {
        loop {
            let settled = self.settle(id, out);
            let worked = self.retry_parked(id, out);
            if !settled && !worked {
                break;
            }
            self.watch.progress();
        }
        self.carry_on(id, out);
        self.refresh(id);
        let stuck = self.objects.get_mut(&id).and_then(|object| object.block.home()?.take_stuck());
        if let Some(rank) = stuck {
            self.fail(None, Error::PeerLost { rank, silent_for: LOST }, out);
        }
    }

    fn retry_parked(&mut self, id: ObjectId, out: &mut Outbox) -> bool {
        let mut progress = false;
        // One by one: an operation of the user's may panic, and what waits behind it has to be answered all the same.
        for _ in 0..self.objects.get(&id).map_or(0, |object| object.parked.len()) {
            let Some(parked) = self.objects.get_mut(&id).and_then(|object| object.parked.pop_front()) else {
                break;
            };
            progress |= self.work(id, parked, out);
        }
        progress
    }

    /// Does a piece of work or parks it; true if it is done.
    pub(crate) fn work(&mut self, id: ObjectId, mut work: Parked, out: &mut Outbox) -> bool {
        let Some(object) = self.objects.get_mut(&id) else {
            // Everyone has dropped the object, so nobody can ever see what this would write.
            return true;
        };
        match (object.attempt(work.from, &work.work, work.payload.bytes()), &work.work) {
            (Outcome::Park, _) => {
                // It may wait for long, and its sender for the memory.
                work.payload.detach();
                object.parked.push_back(work);
                return false;
            }
            (Outcome::Applied, applied) => self.batch_done(id, work.from, applied, out),
            (Outcome::Refuse(error), refused @ Work::Batch { .. }) => {
                self.batch_done(id, work.from, refused, out);
                self.fail(Some(id), error, out);
            }
            (Outcome::Refuse(error), Work::Call { id: call, .. }) => {
                self.answer(work.from, *call, Err(error), out);
            }
            (Outcome::Reply(bytes), Work::Call { id: call, .. }) => {
                self.answer(work.from, *call, Ok(Buffer::own(bytes)), out);
            }
            (Outcome::Gather { width, len }, Work::Call { id: call, .. }) => {
                let mut answer = out.buffer(work.from, len);
                object.gather(width, work.payload.bytes(), &mut answer);
                self.answer(work.from, *call, Ok(answer), out);
            }
            (Outcome::ReplyFromBlock(range), Work::Call { id: call, .. }) => {
                object.block.lend_to_transfer();
                let token = self.loans.add(Loan::Block { object: id, base: range.start });
                let payload = Payload::Lent { token, len: range.len() };
                self.mail.post(out, work.from, &Message::Reply { id: *call, refused: false }, payload);
            }
            (Outcome::Reply(_) | Outcome::Gather { .. } | Outcome::ReplyFromBlock(_), Work::Batch { .. }) => {
                unreachable!("a batch is applied, not answered")
            }
        }
        if let Received::Bytes(buffer) = work.payload {
            out.recycle(buffer);
        }
        true
    }

    /// Makes room at the sender of a batch, if it waits for that.
    fn batch_done(&mut self, id: ObjectId, from: Rank, batch: &Work, out: &mut Outbox) {
        if !matches!(batch, Work::Batch { acknowledge: true, .. }) {
            return;
        }
        if from == self.me {
            if let Some(object) = self.objects.get_mut(&id) {
                object.outstanding[from.index()] -= 1;
            }
        } else {
            self.mail.post(out, from, &Message::BatchDone { object: id }, Payload::Empty);
        }
    }

    fn answer(&mut self, to: Rank, id: CallId, answer: Result<Buffer, Error>, out: &mut Outbox) {
        if to == self.me {
            if let Some(call) = self.calls.get_mut(&id) {
                call.reply = Some(answer.map(|bytes| Received::Bytes(bytes.into())));
            }
            return;
        }
        let (refused, payload) = match answer {
            Ok(bytes) => (false, bytes.into()),
            Err(error) => (true, encode_error(&error).into()),
        };
        self.mail.post(out, to, &Message::Reply { id, refused }, payload);
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
            self.objects.remove(&id);
        }
    }

    /// The ranks that a wait is for.
    fn awaited(&self, what: What) -> Vec<Rank> {
        let ledger = |object: ObjectId| self.objects.get(&object).map(|object| &object.ledger);
        let missing = |ledger: &Ledger, epoch| {
            (ledger.settled + 1..=epoch).find_map(|epoch| {
                let missing: Vec<_> = ledger.awaited(epoch).collect();
                (!missing.is_empty()).then_some(missing)
            })
        };
        let mut ranks: Vec<Rank> = match what {
            What::Rendezvous(_) => match &self.node {
                Some(node) if !self.rendezvous.is_under_way() => node.absent(self.rendezvous.seq()),
                _ => self.rendezvous.awaited().into_iter().collect(),
            },
            What::Load { object, .. } if self.meeting(object).is_some() => {
                self.meeting(object).map(|(sharing, turn)| sharing.absent(turn)).unwrap_or_default()
            }
            What::Load { object, epoch } => ledger(object)
                .map(|l| missing(l, epoch).unwrap_or_else(|| l.incomplete_blocks(epoch).collect()))
                .filter(|ranks| !ranks.is_empty())
                .unwrap_or_else(|| self.receivers_awaited(object, epoch)),
            What::Settle { object } => ledger(object).and_then(|l| missing(l, l.epoch)).unwrap_or_default(),
            What::Calls { .. } => self.calls.values().filter(|call| call.reply.is_none()).map(|call| call.to).collect(),
            What::Room { object, owner } if owner == self.me => {
                ledger(object).and_then(|l| missing(l, l.epoch.saturating_sub(1))).unwrap_or_default()
            }
            What::Room { owner, .. } => vec![owner],
            What::Gate { .. } => Vec::new(),
            What::Leave => self.others().filter(|rank| self.left[rank.index()].is_none()).collect(),
        };
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|rank| *rank != self.me);
        ranks
    }

    /// What this rank is doing, in words for the others.
    fn claim(&self, what: What, site: &crate::Site) -> Claim {
        let name = |object: ObjectId| match self.objects.get(&object) {
            Some(object) => object.name.to_string(),
            None => "a dropped object".into(),
        };
        let action = match what {
            What::Rendezvous(action) => format!("is in {action}"),
            What::Load { object, .. } => format!("opens a ReadCache of {}", name(object)),
            What::Settle { object } => format!("waits for the end of a scope of {}", name(object)),
            What::Calls { object, action } => {
                format!("waits for the answer to `{action}` on {}", name(object))
            }
            What::Room { object, .. } => {
                format!("waits in a ReleaseC for room to write to {}", name(object))
            }
            What::Gate { object } => format!("waits until transfers from {} are acknowledged", name(object)),
            What::Leave => "is at the end of `run`".into(),
        };
        Claim { rank: self.me, action, site: site.clone() }
    }

    /// What this rank tells those who ask what it is doing.
    fn state(&self) -> RankState {
        let wait = self.watch.waiting().and_then(|waiting| {
            let what = waiting.what;
            self.watch.wait_state(self.claim(what, &waiting.site), self.awaited(what))
        });
        let mut state = RankState {
            wait,
            leaving: self.leaving,
            sent: self.mail.sent.clone(),
            received: self.mail.received.clone(),
            ..RankState::default()
        };
        for (id, object) in &self.objects {
            let told = |guard: &object::OpenGuard| GuardState {
                behaviour: guard.behaviour.into(),
                object: object.name.clone(),
                opened: guard.site.clone(),
            };
            if let Some(guard) = object.open.iter().find(|guard| guard.awaited) {
                state.open.insert(*id, told(guard));
            }
            for parked in &object.parked {
                let Obstacle { by_itself, behind } = object.obstacle(&parked.work);
                let held = state.parked.entry(parked.from).or_default();
                held.by_itself |= by_itself;
                if by_itself && held.guard.is_none() {
                    held.guard = object.open.last().map(told);
                }
                held.behind.extend(behind.into_iter().map(|rank| (rank, *id)));
            }
        }
        state
    }

    fn look(&mut self, now: Instant, out: &mut Outbox) {
        let Some(waiting) = self.watch.waiting() else {
            return;
        };
        let (what, site) = (waiting.what, waiting.site.clone());
        let (mine, claim, on) = (self.state(), self.claim(what, &site), self.awaited(what));
        let mut acts = Vec::new();
        self.watch.handle_timeout(now, mine, claim, on, &mut acts);
        self.act(acts, out);
    }

    fn act(&mut self, acts: Vec<Act>, out: &mut Outbox) {
        for act in acts {
            match act {
                Act::Ask(rank, look) => self.mail.post(out, rank, &Message::Ask { look }, Payload::Empty),
                Act::GiveUp(error) => self.fail(None, error, out),
                Act::Notice(claim, missing) => crate::notice::late(&claim, &missing),
            }
        }
    }
}
