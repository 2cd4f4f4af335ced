//! Entering collective scopes and ending them, on the calling rank's side.

use super::object::{Outcome, Parked, Work};
use super::writes::note_made;
use crate::Error;
use crate::element::OpId;
use crate::epoch::{Collective, Opening};
use crate::ids::{Epoch, ObjectId};
use crate::kernel::message::Message;
use crate::kernel::{Loan, Reason, Service};
use crate::memory::{Sharing, Turn};
use aurora_net::{Buffer, Outbox, Payload, Rank, Received};
use std::sync::Arc;

/// More writes in an announcement would not fit a header.
pub(crate) const ANNOUNCED_WRITES: usize = 32;

/// A rank may have ended so many scopes of one object that the slowest has not, of all of its parts together, before it waits in the next, so that
/// what it sends ahead stays bounded. Those that it has open do not count, nor those that all others are known to have entered, who may hold
/// them open for long: how many of these there are is what the program has written down.
pub(crate) const SCOPES_AHEAD: usize = 8;

/// Blocks up to this length, in bytes, are sent from a copy, so that no write waits for acknowledgements, which are in no
/// hurry for what fits a packet.
pub(crate) const COPIED_BLOCK: usize = 1024;

/// A ReleaseC scope under way.
pub(crate) struct ReleaseScope<'a> {
    pub(crate) object: ObjectId,
    pub(crate) epoch: Epoch,
    pub(crate) opening: &'a Opening,
    pub(crate) reason: &'a Reason,
    /// Batches sent to this owner before.
    pub(crate) sent: u64,
}

/// What is left of a ReleaseC scope for one owner at its end.
pub(crate) struct LastBatch {
    pub(crate) op: Option<OpId>,
    pub(crate) bytes: Buffer,
}

impl Service {
    /// Enters a collective scope.
    pub(crate) fn enter(&mut self, id: ObjectId, opening: Opening, out: &mut Outbox) -> Result<Epoch, Error> {
        // What others have said before us, by the first packets of what they send.
        self.hear(out);
        let me = self.me;
        let object = self.objects.get_mut(&id).expect("an object lives as long as its handle");
        let name = object.name.clone();
        let entered = object.ledger.enter(opening.clone());
        object.refresh(true);
        entered.map_err(|(other, theirs)| {
            let error = crate::collective::mismatch(opening.claim(me, &name), theirs.claim(other, &name));
            self.fail(Some(id), error.clone(), out);
            error
        })
    }

    /// Enters a ReadCache. Where all ranks share the memory it comes to a meeting of theirs, at which they find out whether all blocks are
    /// in their places and nobody has anything to tell; else this rank announces itself at once.
    pub(crate) fn enter_read_cache(
        &mut self,
        id: ObjectId,
        opening: Opening,
        out: &mut Outbox,
    ) -> Result<Epoch, Error> {
        let (me, size) = (self.me, self.size);
        let (combined, window) = (opening.behaviour == Collective::Combined, opening.window);
        let epoch = self.enter(id, opening, out)?;
        let object = self.objects.get_mut(&id).expect("just entered");
        if object.block.find_home().is_none() || object.nodes.mates(me).len() < size {
            self.announce(id, epoch, out);
            return Ok(epoch);
        }
        let own = object.own_part(window);
        let at_home = object.block.bring_home(&own);
        let to_tell = !at_home || window.is_whole() && object.cache.is_used() || object.writes.are_told();
        object.loads += 1;
        // The same for all who have nothing to tell.
        let word = epoch << 24 | u64::from(combined) << 23 | if to_tell { me.index() as u64 + 1 } else { 0 };
        object.meeting = Some(Turn { number: object.loads, word: word ^ window.digest() });
        Ok(epoch)
    }

    /// The meeting that this rank has come to for a ReadCache.
    pub(crate) fn meeting(&self, id: ObjectId) -> Option<(&Arc<Sharing>, Turn)> {
        let object = self.objects.get(&id)?;
        Some((object.block.find_home()?.sharing(), object.meeting?))
    }

    /// All have come to it. If nobody has anything to tell, everything that an announcement could say is known.
    pub(crate) fn have_met(&mut self, id: ObjectId, epoch: Epoch, agreed: bool, out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        object.meeting = None;
        if !agreed {
            return self.announce(id, epoch, out);
        }
        let record = object.ledger.record(epoch);
        record.mine_complete = true;
        for arrival in &mut record.from {
            (arrival.complete, arrival.arrived, arrival.at_home) = (true, true, true);
        }
        self.advance(id, out);
    }

    /// Announces the ReadCache that it has entered to all, each announcement with our block if it has changed.
    fn announce(&mut self, id: ObjectId, epoch: Epoch, out: &mut Outbox) {
        let (me, size) = (self.me, self.size);
        let object = self.objects.get_mut(&id).expect("just entered");
        let opening = object.ledger.record(epoch).mine.clone().expect("just entered");
        if !opening.window.is_whole() {
            return self.announce_part(id, epoch, opening, out);
        }
        let site = opening.site.clone();
        let element = object.block.element;
        let range = object.dist.range(me);
        let nodes = object.nodes.clone();
        if nodes.mates(me).len() < size {
            // What goes to other nodes has to contain all that was written before.
            object.block.freeze();
        }
        let at_home = object.block.go_home();
        if let Some(home) = object.block.home() {
            home.guests.enter(epoch);
        }
        if !at_home || object.cache.is_used() {
            object.loading(epoch);
            let replica = object.cache.find_loading(epoch).expect("just begun");
            let version = object.block.version;
            if !at_home && replica.have[me.index()] != version {
                let written = object.block.read(|bytes| replica.write(range.start * element, bytes));
                written.expect("no write guard is open");
                replica.have[me.index()] = version;
            }
        }
        object.touched = Some(Vec::new());
        let mut made = object.writes.vouch();
        let version = object.block.version;
        // What lies at home our mates have before their eyes; of another node one rank receives it for all.
        let to_mates = !at_home && version != object.pushed && !range.is_empty();
        let abroad = version != object.sent_abroad && !range.is_empty() && nodes.mates(me).len() < size;
        let sends_to = |rank| if nodes.are_mates(me, rank) { to_mates } else { abroad && nodes.receives(me, rank) };
        let contains = object.writes.applied();
        let record = object.ledger.record(epoch);
        note_made(&mut record.made, &made);
        record.mine_complete = true;
        let mine = &mut record.from[me.index()];
        (mine.version, mine.at_home, mine.contains) = (version, at_home, contains);
        let reason = Reason { object: Some(id), action: "ReadCache", site: Some(site) };
        let list_follows = made.len() > ANNOUNCED_WRITES;
        let list = list_follows.then(|| std::mem::take(&mut made));
        let message = Message::Enter { object: id, epoch, opening, version, at_home, contains, made, list_follows };
        let own = range.start * element..range.end * element;
        let is_short = (to_mates || abroad) && own.len() <= COPIED_BLOCK;
        let copied = if is_short { object.block.read(bytes::Bytes::copy_from_slice) } else { None };
        for rank in me.others(size) {
            let payload = match &copied {
                _ if !sends_to(rank) => Payload::Empty,
                Some(copied) => Payload::Bytes(copied.clone()),
                None => {
                    let object = self.objects.get_mut(&id).expect("just entered");
                    let token = self.loans.add(if at_home {
                        // Nobody writes there before it is acknowledged.
                        object.block.lend_to_transfer();
                        Loan::Block { object: id, base: 0 }
                    } else {
                        let serial = object.cache.begin_send(epoch);
                        Loan::CacheOut { object: id, serial, base: own.start }
                    });
                    Payload::Lent { token, len: own.len() }
                }
            };
            self.mail.post_for(out, &reason, rank, &message, payload);
            if let Some(list) = &list {
                let list = postcard::to_allocvec(list).expect("pairs of numbers");
                let message = Message::Made { object: id, epoch };
                self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(list.into()));
            }
        }
        self.advance(id, out);
    }

    /// Tells all that this rank has entered a scope beside so many others that who has ended all of these would wait in his next for
    /// their end: which may come behind that.
    pub(crate) fn tell_if_many_are_open(
        &mut self,
        (id, epoch): (ObjectId, Epoch),
        opening: &Opening,
        reason: &Reason,
        out: &mut Outbox,
    ) {
        let open = self.objects.get(&id).map_or(0, |object| object.open.iter().filter(|guard| guard.awaited).count());
        if open + 1 >= SCOPES_AHEAD {
            for rank in self.others() {
                let message = Message::Come { object: id, epoch, opening: opening.clone() };
                self.mail.post_for(out, reason, rank, &message, Payload::Empty);
            }
        }
    }

    /// Sends a batch of a ReleaseC scope to another rank.
    pub(crate) fn send_batch(
        &mut self,
        scope: &ReleaseScope<'_>,
        owner: Rank,
        op: Option<OpId>,
        bytes: Buffer,
        out: &mut Outbox,
    ) {
        let Some(object) = self.objects.get_mut(&scope.object) else {
            return;
        };
        object.outstanding[owner.index()] += 1;
        let (object, epoch, opening) = (scope.object, scope.epoch, scope.opening.clone());
        let message = Message::Batch { object, epoch, seq: scope.sent, opening, op };
        self.mail.post_for(out, scope.reason, owner, &message, bytes.into());
    }

    /// Applies a batch of a ReleaseC scope to our own block, or keeps a copy until it can be.
    pub(crate) fn apply_own(&mut self, scope: &ReleaseScope<'_>, op: Option<OpId>, bytes: &[u8], out: &mut Outbox) {
        let (id, me) = (scope.object, self.me);
        let work = Work::Batch { epoch: scope.epoch, seq: scope.sent, op, acknowledge: true };
        let outcome = self.attempt(id, me, &work, bytes, out);
        let Some((object, outcome)) = self.objects.get_mut(&id).zip(outcome) else {
            return;
        };
        match outcome {
            Outcome::Park => {
                object.outstanding[me.index()] += 1;
                object.parked.push_back(Parked { from: me, work, payload: Received::Bytes(bytes.to_vec()) });
            }
            Outcome::Refuse(error) => self.fail(Some(id), error, out),
            _ => {}
        }
        self.advance(id, out);
    }

    /// Changes our own block in place, as a part of a scope of writes, if its time has come. Whether it has.
    pub(crate) fn merge_own(
        &mut self,
        scope: &ReleaseScope<'_>,
        merge: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let me = self.me;
        let Some(object) = self.objects.get_mut(&scope.object) else {
            return Ok(false);
        };
        object.sound()?;
        let merged = if object.is_due(me, scope.epoch) { object.block.write(merge) } else { None };
        self.refresh(scope.object);
        merged.map_or(Ok(false), |merged| merged.map(|()| true))
    }

    /// Ends a ReleaseC scope: `sent` says how many batches went to each owner, `last` what is still to go. That goes with
    /// the word of the end, and nobody waits for room: how many scopes a rank may be ahead is bounded.
    pub(crate) fn end_release(
        &mut self,
        scope: &ReleaseScope<'_>,
        sent: &[u64],
        mut last: Vec<Option<LastBatch>>,
        out: &mut Outbox,
    ) {
        let (id, epoch, me) = (scope.object, scope.epoch, self.me);
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let record = object.ledger.record(epoch);
        record.mine_complete = true;
        record.from[me.index()].batches = sent[me.index()] + u64::from(last[me.index()].is_some());
        for rank in me.others(self.size) {
            let last = last[rank.index()].take();
            let message = Message::End {
                object: id,
                epoch,
                opening: scope.opening.clone(),
                batches: sent[rank.index()] + u64::from(last.is_some()),
                op: last.as_ref().and_then(|last| last.op),
            };
            let payload = last.map_or(Payload::Empty, |last| last.bytes.into());
            self.mail.post_for(out, scope.reason, rank, &message, payload);
        }
        if let Some(LastBatch { op, bytes }) = last[me.index()].take() {
            let work = Work::Batch { epoch, seq: sent[me.index()], op, acknowledge: false };
            self.work(id, Parked { from: me, work, payload: Received::Bytes(bytes.into()) }, out);
        }
        self.advance(id, out);
    }

    /// `fill` is over on this rank: its epoch needs nothing of the others, who have all come before.
    pub(crate) fn end_fill(&mut self, id: ObjectId, epoch: Epoch, out: &mut Outbox) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.ledger.set_settled(epoch);
            object.ledger.forget(epoch);
        }
        self.advance(id, out);
    }
}
