//! The one-sided service of a rank: everything that the transport's I/O loop decides on its behalf.
//!
//! [`Service`] is the state of one rank, changed under the endpoint's lock by its daemon (arriving messages) and by the
//! calling thread (through [`World`](crate::World)). It is passive: it never blocks, it only answers, parks, and notes.

pub(crate) mod asking;
pub(crate) mod batch;
pub(crate) mod block;
mod cache;
pub(crate) mod check;
mod copies;
mod deliver;
pub(crate) mod edges;
pub(crate) mod entering;
mod guests;
pub(crate) mod home;
mod leaving;
pub(crate) mod load;
mod loans;
mod lodging;
mod mail;
#[cfg(test)]
mod model;
pub(crate) mod nodes;
pub(crate) mod object;
mod part;
pub(crate) mod places;
pub(crate) mod rally;
mod relays;
pub(crate) mod scalar;
mod scope;
pub(crate) mod stream;
pub(crate) mod using;
pub(crate) mod watch;
pub(crate) mod writes;

pub(crate) use loans::Loan;
pub(crate) use mail::Reason;
pub use mail::Usage;

use crate::Error;
use crate::collective::{Rendezvous, Tell};
use crate::config::Modes;
use crate::error::Claim;
use crate::memory::{Budget, LOST};
use crate::message::{CallId, Collective, Epoch, Message, ObjectId, encode_error};
use crate::window::Window;
use aurora_net::bootstrap::capture;
use aurora_net::{Buffer, Node, Outbox, Payload, Rank, Received, Token};
use load::Heard;
use loans::Loans;
use mail::Mail;
use nodes::Nodes;
use object::{Object, Obstacle, Outcome, Parked, Work};
use rally::Rally;
use scope::Ledger;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use watch::{Act, GuardState, RankState, Watch, What};

/// A request of ours.
pub(crate) struct Call {
    /// Whom we asked.
    pub(crate) to: Rank,
    /// Where the answer's payload goes, if not into a buffer.
    landing: Option<Token>,
    /// Nobody waits for the answer yet.
    ahead: bool,
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
    /// Errors that had nowhere to go when they happened: `run` returns the first that no call has returned before.
    deferred: Vec<(ObjectId, Error)>,
    /// Errors of objects that calls have returned to the program.
    told: BTreeSet<(ObjectId, u64)>,
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
            modes: Modes::default(),
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
            deferred: Vec::new(),
            told: BTreeSet::new(),
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
            && (self.has_dropped_writes(id) || matches!(error, Error::Conflict { .. }))
        {
            self.defer(id, error.clone());
        }
        self.watch.progress();
        match object {
            Some(id) => self.advance(id, out),
            None => self.refresh_all(),
        }
        true
    }

    /// Keeps an error of an object for the end of `run`, unless the program has heard of it.
    pub(crate) fn defer(&mut self, object: ObjectId, error: Error) {
        if !self.knows(object, &error) {
            self.deferred.push((object, error));
        }
    }

    /// What nobody has heard of.
    pub(crate) fn take_deferred(&mut self) -> Option<Error> {
        std::mem::take(&mut self.deferred).into_iter().next().map(|(_, error)| error)
    }

    /// A call, on this object or on none, returns an error to the program, which need not hear of it again.
    pub(crate) fn has_told(&mut self, object: Option<ObjectId>, error: &Error) {
        let digest = digest_of(error);
        match object {
            Some(object) => {
                self.told.insert((object, digest));
                if error.is_of_an_object() {
                    self.told.insert((object, ANY_FAULT));
                }
            }
            None => self.told.extend(self.objects.keys().map(|object| (*object, digest))),
        }
        let deferred = std::mem::take(&mut self.deferred);
        let is_news = |(of, error): &(ObjectId, Error)| {
            !self.knows(*of, error) && (object.is_some() || digest_of(error) != digest)
        };
        self.deferred = deferred.into_iter().filter(is_news).collect();
    }

    /// Whether the program has heard of this error of an object, or of another that is its end as well: ranks do not all find the same
    /// words for what is wrong.
    fn knows(&self, object: ObjectId, error: &Error) -> bool {
        self.told.contains(&(object, digest_of(error)))
            || error.is_of_an_object() && self.told.contains(&(object, ANY_FAULT))
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
        self.spread(id, out);
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
        let Some(outcome) = self.attempt(id, work.from, &work.work, work.payload.bytes(), out) else {
            return true;
        };
        let object = self.objects.get_mut(&id).expect("just used");
        match (outcome, &work.work) {
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

    /// Does a piece of work, if its time has come. `None`: there is no such object any more, so nobody can ever see what this would write;
    /// or an operation of the user's has panicked amid it, and the object is poisoned.
    ///
    /// # Panics
    /// If the work is the program's own, of this rank: then it is in a call on that object. In what others have sent an operation
    /// may panic amid any call, or with nobody there but the daemon.
    pub(crate) fn attempt(
        &mut self,
        id: ObjectId,
        from: Rank,
        work: &Work,
        payload: &[u8],
        out: &mut Outbox,
    ) -> Option<Outcome> {
        if from == self.me {
            return self.by_itself(id, work, out, |object| object.attempt(from, work, payload));
        }
        let object = self.objects.get_mut(&id)?;
        let failure = match capture(self.me, || object.attempt(from, work, payload)) {
            Ok(outcome) => return Some(outcome),
            Err(failure) => failure,
        };
        let error = self.break_off(id, work, false, out)?;
        crate::notice::operation_panicked(&failure, &error);
        if let Work::Call { id: call, .. } = work {
            self.answer(from, *call, Err(error.clone()), out);
        }
        self.defer(id, error);
        None
    }

    /// Does a piece of the program's own work, amid its own call. `None`: there is no such object.
    ///
    /// # Panics
    /// If an operation of the user's does; the object is poisoned by then.
    pub(crate) fn by_itself<R>(
        &mut self,
        id: ObjectId,
        work: &Work,
        out: &mut Outbox,
        act: impl FnOnce(&mut Object) -> R,
    ) -> Option<R> {
        let object = self.objects.get_mut(&id)?;
        match catch_unwind(AssertUnwindSafe(|| act(object))) {
            Ok(outcome) => Some(outcome),
            Err(panic) => {
                self.break_off(id, work, true, out);
                resume_unwind(panic)
            }
        }
    }

    /// An operation of the user's has left an object half written.
    fn break_off(&mut self, id: ObjectId, work: &Work, own: bool, out: &mut Outbox) -> Option<Error> {
        let error = self.objects.get(&id)?.broken_off(work, own);
        self.fail(Some(id), error.clone(), out);
        Some(error)
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
            self.told.retain(|(of, _)| *of != id);
        }
    }

    /// The ranks that a wait is for.
    fn awaited(&self, what: What) -> Vec<Rank> {
        if let Some(ranks) = self.awaited_at_scalar(what) {
            return ranks;
        }
        let ledger = |object: ObjectId| self.objects.get(&object).map(|object| &object.ledger);
        let missing = |ledger: &Ledger, (window, upto): (Window, Epoch)| {
            ledger.in_the_way(window, upto).find_map(|epoch| {
                let missing: Vec<_> = ledger.awaited(epoch).collect();
                (!missing.is_empty()).then_some(missing)
            })
        };
        let behind = |object: ObjectId| {
            let object = self.objects.get(&object)?;
            let all = (Window::WHOLE, object.ledger.epoch);
            missing(&object.ledger, if object.scalar_scopes.is_some() { all } else { object.behind })
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
                .map(|l| missing(l, l.scope_of(epoch)).unwrap_or_else(|| l.incomplete_blocks(epoch).collect()))
                .filter(|ranks| !ranks.is_empty())
                .unwrap_or_else(|| self.receivers_awaited(object, epoch)),
            What::Halo { object } => {
                self.objects.get(&object).map(|object| object.edges.awaited().collect()).unwrap_or_default()
            }
            What::Settle { object } => behind(object).unwrap_or_default(),
            What::Room { object, owner } if owner == self.me => {
                let turn = |o: &Object| o.ledger.awaited_before(o.behind.1 + 1, self.me).collect();
                behind(object).or_else(|| self.objects.get(&object).map(turn)).unwrap_or_default()
            }
            What::Calls { .. } => {
                let awaited = |call: &&Call| call.reply.is_none() && !call.ahead;
                self.calls.values().filter(awaited).map(|call| call.to).collect()
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
            What::Halo { object } => {
                let doing = self.objects.get(&object).map(|object| object.edges.exchange()).unwrap_or_default();
                let action = if doing.number == 0 { "opens" } else { "refreshes" };
                // Where several are open it says which.
                format!("{action} a HaloCache of {}, scope {} of it", name(object), doing.epoch)
            }
            What::Load { object, .. } => {
                let last = self.objects.get(&object).and_then(|object| object.ledger.last.as_ref());
                let mostly = last.is_some_and(|last| last.behaviour == Collective::ReadMostly);
                format!("opens a {} of {}", if mostly { "ReadMostly" } else { "ReadCache" }, name(object))
            }
            What::Settle { object } => format!("waits for the end of a scope of {}", name(object)),
            What::Calls { object, action } => {
                format!("waits for the answer to `{action}` on {}", name(object))
            }
            What::Room { object, .. } => {
                let last = self.objects.get(&object).and_then(|object| object.ledger.last.as_ref());
                let behaviour = match last.map(|last| last.behaviour) {
                    Some(Collective::Accumulate | Collective::AccumulateInOrder) => "an Accumulate",
                    _ => "a ReleaseC",
                };
                format!("waits in {behaviour} for room to write to {}", name(object))
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
            relays: self.relays(),
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
                let Obstacle { by_itself, behind } = object.obstacle(parked.from, &parked.work);
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

/// In place of what it says, for errors that are the end of their object.
const ANY_FAULT: u64 = 0;

/// The same for errors that say the same.
fn digest_of(error: &Error) -> u64 {
    let mut hasher = DefaultHasher::new();
    error.to_string().hash(&mut hasher);
    hasher.finish()
}
