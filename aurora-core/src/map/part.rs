//! The state of a map in a rank's kernel: this rank's entries, the scopes, and the work that waits.

use super::allowance::Allowance;
use super::check::Checker;
use super::entries::Entries;
use super::key::{MapKey, MapValue};
use super::message::{self, Asked, Message};
use super::operations::{self, OpFn};
use super::waits::MapWait;
use super::work::{Content, Parked, Work};
use crate::Error;
use crate::epoch::{Ends, Ledger, Opening, Rule, defer_lost_writes};
use crate::error::{Claim, ObjectName};
use crate::ids::Epoch;
use crate::object::{Awaited, Call, Cx, Holds, Malformed, SharedObject, Wait};
use crate::operation::Operations;
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::{Rank, Received};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that the machine works before other code gets its turn.
const STEP: Duration = Duration::from_micros(100);

pub(super) struct Part<K, V> {
    pub(super) ledger: Ledger,
    /// This rank's entries. A guard that shows them holds a clone; `None`: a guard that writes has taken them.
    pub(super) own: Option<Arc<Entries<K, V>>>,
    pub(super) ops: Operations<OpFn<V>>,
    pub(super) allowance: Allowance,
    /// By owners: batches of this rank that the owner has not applied.
    pub(super) outstanding: Vec<usize>,
    /// The scope that the calling thread waits for, if it waits for scopes to end.
    pub(super) awaited: Epoch,
    pub(super) parked: VecDeque<Parked<K, V>>,
    /// True if `advance` has to look: an epoch may be completed, or parked work done.
    pub(super) has_changed: bool,
    /// The end of this step: no more work is begun, and long work is interrupted.
    pub(super) until: Option<Instant>,
    /// The time at which work was interrupted.
    pub(super) interrupted: Option<Instant>,
    /// Checking mode: the accesses to keys.
    pub(super) check: Option<Box<Checker>>,
    ends: Ends,
}

impl<K: MapKey, V: MapValue> Part<K, V> {
    pub(super) fn new((me, size): (Rank, usize), check: bool) -> Self {
        Part {
            ledger: Ledger::new(me, size),
            own: Some(Arc::default()),
            ops: operations::built_in(),
            allowance: Allowance::default(),
            outstanding: vec![0; size],
            awaited: 0,
            parked: VecDeque::new(),
            has_changed: false,
            until: None,
            interrupted: None,
            check: check.then(Box::default),
            ends: Ends::new(size),
        }
    }

    /// Enters a scope.
    pub(super) fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        // Ranks that have entered the scope before may have sent batches that wait for this entry.
        self.has_changed = true;
        self.ledger.enter_as(opening, &cx.frame.name).inspect_err(|error| cx.fail(error.clone()))
    }

    /// This rank has entered a scope under [`Rule::Met`] and has done its part.
    pub(super) fn end_met(&mut self, epoch: Epoch) {
        self.ledger.set_settled(epoch);
        self.ledger.forget(epoch);
        self.has_changed = true;
    }

    /// Ready when all earlier scopes are completed, so that the map may be used (written, if `mutable`).
    pub(super) fn poll_usable(&mut self, mutable: bool, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        if let Err(error) = cx.usable(mutable, Window::WHOLE) {
            return Some(Err(error));
        }
        self.poll_settled(self.ledger.epoch, cx)
    }

    /// Ready when all scopes up to this epoch are completed.
    pub(super) fn poll_settled(&mut self, epoch: Epoch, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        self.awaited = epoch;
        let is_settled = self.ledger.pending(Window::WHOLE, epoch).is_none();
        if is_settled {
            self.acquire(cx);
        }
        cx.frame.sound_if(is_settled)
    }

    /// True if a guard shows this rank's entries.
    pub(super) fn is_lent(&self) -> bool {
        self.own.as_ref().is_none_or(|own| Arc::strong_count(own) > 1)
    }

    /// Begins the time for work of this call, unless it has begun.
    pub(super) fn begin_step(&mut self, cx: &Cx<'_>) {
        self.until.get_or_insert_with(|| cx.now() + STEP);
    }

    /// Another rank has opened a scope, which must be the same on all ranks.
    fn opened(&mut self, from: Rank, epoch: Epoch, opening: &Opening, cx: &mut Cx<'_>) {
        if let Err(error) = self.ledger.opened_by(from, epoch, opening, &cx.frame.name) {
            cx.fail(error);
        }
    }
}

impl<K: MapKey, V: MapValue> SharedObject for Part<K, V> {
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        self.begin_step(cx);
        match Message::decode(header).ok_or(Malformed)? {
            Message::Batch { epoch, seq, opening, hashes, notes } => {
                self.opened(from, epoch, &opening, cx);
                let work = Work::Batch { epoch, seq, op: opening.op, hashes, notes, acknowledge: true };
                self.work_or_park(Parked { from, work, content: Content::Sent(payload, 0) }, cx);
            }
            Message::BatchDone => self.has_room(from),
            Message::End { epoch, opening, batches, hashes, time } => {
                self.opened(from, epoch, &opening, cx);
                self.released(epoch, time.as_ref());
                if cx.is_sound() {
                    let arrival = &mut self.ledger.record(epoch).from[from.index()];
                    arrival.complete = true;
                    arrival.batches = batches;
                }
                if !payload.bytes().is_empty() {
                    let seq = batches.checked_sub(1).ok_or(Malformed)?;
                    let work = Work::Batch { epoch, seq, op: opening.op, hashes, notes: false, acknowledge: false };
                    self.work_or_park(Parked { from, work, content: Content::Sent(payload, 0) }, cx);
                }
            }
        }
        self.has_changed = true;
        Ok(())
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        self.begin_step(cx);
        let asked: Asked = postcard::from_bytes(header).map_err(|_| Malformed)?;
        let work = Work::Call { id: call.id, asked };
        self.work_or_park(Parked { from: call.from, work, content: Content::Sent(payload, 0) }, cx);
        Ok(())
    }

    /// Settles epochs and does parked work, for as long as the step lasts.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        if self.has_changed && self.interrupted.is_none() {
            self.begin_step(cx);
            self.settle_and_retry(cx);
        }
        self.until = None;
    }

    fn failed(&mut self, cx: &mut Cx<'_>) {
        // Parked calls are answered with the fault.
        self.has_changed = true;
        self.interrupted = None;
        defer_lost_writes(&self.ledger, cx);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.interrupted
    }

    fn handle_timeout(&mut self, _: Instant, _: &mut Cx<'_>) {
        self.interrupted = None;
        self.has_changed = true;
    }

    fn entered(&self) -> u64 {
        self.ledger.epoch
    }

    fn digest(&self) -> u64 {
        self.ledger.entered()
    }

    fn claim(&self, name: &ObjectName, _: Rank) -> Claim {
        self.ledger.last_claim(name)
    }

    fn drop_notice(&mut self, cx: &mut Cx<'_>) -> Vec<u8> {
        self.ends.drop_notice(&self.ledger, cx)
    }

    fn peer_dropped(&mut self, from: Rank, notice: &[u8], cx: &mut Cx<'_>) -> Result<(), Malformed> {
        self.ends.peer_dropped((from, notice), message::fits, &self.ledger, cx)
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        let wait = MapWait::from(wait);
        Awaited { ranks: self.awaited(wait), doing: Self::doing(wait, name) }
    }

    fn holds(&self, held: &mut Holds<'_>) {
        self.parked.iter().for_each(|parked| held.call(parked.from, self.obstacle(&parked.work)));
    }

    fn wait_kind(&self, _: Wait) -> Kind {
        Kind::Flush
    }

    fn describe(&self, header: &[u8], is_request: bool) -> &'static str {
        match is_request {
            true => Kind::Access.name(),
            false => Message::decode(header).map_or("message", |_| Kind::Flush.name()),
        }
    }
}

impl<K: MapKey, V: MapValue> Part<K, V> {
    /// Settles the next epoch, if possible. Returns true if it was possible.
    pub(super) fn settle(&mut self) -> bool {
        let settled = self.ledger.try_settle();
        if let Some((epoch, rule)) = settled {
            debug_assert!(matches!(rule, Rule::Ended | Rule::Met));
            self.ledger.forget(epoch);
        }
        settled.is_some()
    }
}
