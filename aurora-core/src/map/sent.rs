//! The messages of one rank in a scope: batches, and the end.

use super::key::{MapKey, MapValue};
use super::message::Message;
use super::waits::MapWait;
use super::work::{Content, Parked, Work};
use super::{GMap, Pending};
use crate::Site;
use crate::epoch::Opening;
use crate::error::Result;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::race::Time;
use aurora_net::{Payload, Rank, Received};

/// Batches that one owner may have unapplied before a writer waits: this bounds memory on both sides.
const AHEAD: usize = 8;

/// Encoded writes for one owner.
#[derive(Clone, Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    /// The sum of their keys' hashes.
    pub(super) hashes: u64,
}

/// A scope of writes that this rank has entered, and the batches of it that it has sent.
pub(super) struct Sent {
    pub(super) epoch: Epoch,
    pub(super) opening: Opening,
    pub(super) reason: Reason,
    /// By owners: the number of batches.
    pub(super) batches: Vec<u64>,
    /// Checking mode: the time that this rank releases at the end.
    pub(super) time: Option<Time>,
}

impl Sent {
    /// The line that opened the scope.
    pub(super) fn site(&self) -> &Site {
        self.reason.site.as_ref().expect("scopes have lines")
    }

    /// Sends a batch to its owner, as soon as the owner may get another batch, or at once if not `wait`.
    pub(super) fn send<K: MapKey, V: MapValue>(
        &mut self,
        map: &GMap<K, V>,
        owner: Rank,
        batch: Batch,
        wait: bool,
    ) -> Result<()> {
        self.send_batch(map, owner, (batch, false), wait)
    }

    /// Checking mode: sends notes of the writes in the next batches to an owner.
    pub(super) fn send_notes<K: MapKey, V: MapValue>(
        &mut self,
        map: &GMap<K, V>,
        owner: Rank,
        notes: Vec<u8>,
        wait: bool,
    ) -> Result<()> {
        match owner == map.shared.me {
            true => self.apply_own(map, (Content::Sent(Received::Bytes(notes), 0), true), wait),
            false => self.send_batch(map, owner, (Batch { bytes: notes, hashes: 0 }, true), wait),
        }
    }

    fn send_batch<K: MapKey, V: MapValue>(
        &mut self,
        map: &GMap<K, V>,
        owner: Rank,
        (Batch { bytes, hashes }, notes): (Batch, bool),
        wait: bool,
    ) -> Result<()> {
        let Sent { epoch, opening, reason, batches, .. } = self;
        let (_call, seq) = (map.shared.call(reason.action), batches[owner.index()]);
        // Serves other ranks' batches, for which this rank is not woken.
        map.shared.look();
        let site = reason.site.as_ref().expect("scopes have lines");
        let mut bytes = Some(bytes);
        map.shared.wait_on(MapWait::Room(owner), site, |part, cx| {
            if let Err(fault) = cx.sound() {
                return Some(Err(fault));
            }
            if wait && part.outstanding[owner.index()] >= AHEAD {
                cx.out.nudge(owner);
                return None;
            }
            part.outstanding[owner.index()] += 1;
            let message = Message::Batch { epoch: *epoch, seq, opening: opening.clone(), hashes, notes };
            message.send(Some(reason), owner, Payload::Bytes(bytes.take()?.into()), cx);
            Some(Ok(()))
        })?;
        batches[owner.index()] += 1;
        Ok(())
    }

    /// Applies a batch to this rank's own entries, or parks it until that is possible.
    pub(super) fn send_own<K: MapKey, V: MapValue>(
        &mut self,
        map: &GMap<K, V>,
        batch: Vec<Pending<K, V>>,
        wait: bool,
    ) -> Result<()> {
        self.apply_own(map, (Content::Own(batch.into_iter()), false), wait)
    }

    fn apply_own<K: MapKey, V: MapValue>(
        &mut self,
        map: &GMap<K, V>,
        (batch, notes): (Content<K, V>, bool),
        wait: bool,
    ) -> Result<()> {
        let me = map.shared.me;
        let (epoch, op, seq) = (self.epoch, self.opening.op, self.batches[me.index()]);
        map.shared.look();
        let mut batch = Some(batch);
        map.shared.wait_on(MapWait::OwnRoom, self.site(), |part, cx| {
            if let Err(fault) = cx.sound() {
                return Some(Err(fault));
            }
            if wait && part.outstanding[me.index()] >= AHEAD {
                part.awaited = epoch - 1;
                return None;
            }
            part.outstanding[me.index()] += 1;
            part.begin_step(cx);
            let work = Work::Batch { epoch, seq, op, hashes: 0, notes, acknowledge: true };
            part.work_or_park(Parked { from: me, work, content: batch.take()? }, cx);
            part.has_changed = true;
            Some(cx.sound())
        })?;
        self.batches[me.index()] += 1;
        Ok(())
    }

    /// Tells an owner that this rank has ended the scope. `last`: a last batch, or nothing.
    pub(super) fn end<K: MapKey, V: MapValue>(&mut self, map: &GMap<K, V>, owner: Rank, last: Batch) -> Result<()> {
        let Batch { bytes, hashes } = last;
        let batches = self.batches[owner.index()] + u64::from(!bytes.is_empty());
        map.shared.on(self.site(), |_, cx| {
            if batches > 0 {
                cx.sound()?;
            }
            let (opening, time) = (self.opening.clone(), self.time.clone());
            let message = Message::End { epoch: self.epoch, opening, batches, hashes, time };
            message.send(Some(&self.reason), owner, Payload::Bytes(bytes.into()), cx);
            Ok(())
        })
    }

    /// This rank has ended the scope.
    pub(super) fn end_own<K: MapKey, V: MapValue>(&self, map: &GMap<K, V>) -> Result<()> {
        let me = map.shared.me.index();
        map.shared.on(self.site(), |part, _| {
            part.released(self.epoch, self.time.as_ref());
            let record = part.ledger.record(self.epoch);
            record.mine_complete = true;
            record.from[me].batches = self.batches[me];
            part.has_changed = true;
            Ok(())
        })
    }
}
