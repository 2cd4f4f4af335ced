//! Loading a ReadCache, on the receiving side: blocks arrive, epochs settle, a replica becomes whole.

use super::batch::{Batch, batch_of};
use super::cache::{BlockArrived, Correction};
use super::{Loan, Service};
use crate::message::{Collective, Epoch, Message, ObjectId, malformed};
use aurora_net::{Outbox, Payload, Placement, Rank, Received};

/// What an announcement says.
pub(super) struct Announced {
    pub(super) version: u64,
    pub(super) contains: u64,
    pub(super) made: Vec<(u32, u64)>,
    pub(super) list_follows: bool,
}

impl Service {
    pub(super) fn place_block(&mut self, from: Rank, id: ObjectId, epoch: Epoch, len: usize) -> Placement {
        let size = self.size;
        let Some(object) = self.objects.get_mut(&id).filter(|object| object.fault.is_none()) else {
            return Placement::Buffer;
        };
        let (range, element) = (object.dist.range(from), object.block.element);
        let expected = epoch > object.ledger.settled && object.cache.may_load(epoch);
        if len != range.len() * element || !expected {
            return Placement::Buffer;
        }
        let fresh = object.fresh.clone();
        object.cache.loading(epoch, size, || fresh());
        Placement::At(self.loans.add(Loan::CacheIn { object: id, epoch, base: range.start * element, len }))
    }

    pub(super) fn announced(
        &mut self,
        id: ObjectId,
        from: Rank,
        epoch: Epoch,
        said: Announced,
        payload: Received,
        out: &mut Outbox,
    ) {
        let placed = match payload {
            Received::Placed(token) => matches!(self.loans.end(token), Some(Loan::CacheIn { .. })),
            Received::Bytes(bytes) => {
                let faulty = self.objects.get(&id).is_none_or(|object| object.fault.is_some());
                if !bytes.is_empty() && !faulty {
                    return self.fail(None, malformed(from), out);
                }
                false
            }
        };
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        if placed && let Some(replica) = object.cache.find_loading(epoch) {
            replica.have[from.index()] = said.version;
        }
        let record = object.ledger.record(epoch);
        add_made(&mut record.made, &said.made);
        let arrival = &mut record.from[from.index()];
        arrival.complete = true;
        arrival.version = said.version;
        arrival.list_follows = said.list_follows;
        if arrival.correction.is_none() {
            arrival.contains = said.contains;
        }
        self.advance(id, out);
    }

    /// Settles the next epoch of an object, if it can be.
    pub(crate) fn settle(&mut self, id: ObjectId, out: &mut Outbox) -> bool {
        let Some(object) = self.objects.get_mut(&id) else {
            return false;
        };
        let Some((epoch, behaviour)) = object.ledger.try_settle() else {
            return false;
        };
        match behaviour {
            Collective::ReadCache => self.settle_read_cache(id, epoch, out),
            Collective::ReleaseC | Collective::Fill => object.ledger.forget(epoch),
        }
        true
    }

    /// All ranks have announced, so no earlier write is still to come: what came after our push goes out once more.
    fn settle_read_cache(&mut self, id: ObjectId, epoch: Epoch, out: &mut Outbox) {
        let (me, others) = (self.me, self.others());
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        let contains = std::mem::take(&mut object.applied);
        object.pushed = object.block.version;
        let touched = object.touched.take().unwrap_or_default();
        if touched.is_empty() {
            return;
        }
        let element = object.block.element;
        // Lent for writing only after the scope was given up with an error.
        let Some(bytes) = object.block.bytes() else {
            return;
        };
        let changes = batch_of(bytes, element, &touched);
        let base = object.dist.range(me).start * element;
        if let Some(replica) = object.cache.find_loading(epoch) {
            for run in &touched {
                let run = run.start * element..run.end * element;
                replica.bytes_mut()[base + run.start..base + run.end].copy_from_slice(&bytes[run]);
            }
        }
        let reason = super::Reason { object: Some(id), action: "correction", site: None };
        let message = Message::Correct { object: id, epoch, version: object.block.version, contains };
        let changes = bytes::Bytes::from(changes);
        for rank in others {
            self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(changes.clone()));
        }
    }

    /// The replica of a ReadCache, once every block of it is here and final.
    pub(crate) fn poll_loaded(
        &mut self,
        id: ObjectId,
        epoch: Epoch,
    ) -> Option<std::sync::Arc<dyn crate::memory::Storage>> {
        let (me, size) = (self.me, self.size);
        let object = self.objects.get_mut(&id)?;
        if object.ledger.settled < epoch || object.ledger.incomplete_blocks(epoch).next().is_some() {
            return None;
        }
        let element = object.block.element;
        let mine = object.pushed;
        let record = object.ledger.find(epoch)?;
        let arrived: Vec<BlockArrived> = (0..size)
            .map(|rank| {
                let elements = object.dist.range(Rank::new(rank));
                let arrival = &record.from[rank];
                let correction = arrival.correction.as_ref().map(|(version, changes)| {
                    let batch = Batch::parse(changes, element, elements.len()).expect("checked when it came");
                    let changes = batch
                        .runs(element)
                        .into_iter()
                        .map(|(run, bytes)| (run.start * element, bytes.to_vec()))
                        .collect();
                    Correction { version: *version, changes }
                });
                BlockArrived {
                    range: elements.start * element..elements.end * element,
                    version: if me == rank { mine } else { arrival.version },
                    correction,
                }
            })
            .collect();
        object.ledger.forget(epoch);
        let own = me.index();
        if let Some(replica) = object.cache.find_loading(epoch) {
            replica.have[own] = mine;
        }
        Some(object.cache.complete(epoch, &arrived))
    }
}

pub(super) fn add_made(total: &mut [u64], made: &[(u32, u64)]) {
    for (owner, writes) in made {
        if let Some(total) = total.get_mut(*owner as usize) {
            *total += writes;
        }
    }
}
