//! Loading a ReadCache, on the receiving side: blocks arrive, epochs settle, a replica becomes whole.

use super::batch::{Batch, batch_of};
use super::cache::{BlockArrived, Correction};
use super::{Loan, Service};
use crate::memory::{Reading, Shortage, Storage};
use crate::message::{Collective, Epoch, Message, ObjectId, malformed};
use crate::{Error, Site};
use aurora_net::{Outbox, Payload, Placement, Rank, Received};
use std::sync::Arc;

/// What an announcement says.
pub(super) struct Announced {
    pub(super) version: u64,
    pub(super) at_home: bool,
    pub(super) contains: u64,
    pub(super) made: Vec<(u32, u64)>,
    pub(super) list_follows: bool,
    /// The line that opens the ReadCache there.
    pub(super) site: Site,
}

impl Service {
    pub(super) fn place_block(&mut self, from: Rank, id: ObjectId, epoch: Epoch, len: usize) -> Placement {
        let size = self.size;
        let Some(object) = self.objects.get_mut(&id).filter(|object| object.fault.is_none()) else {
            // It may be faulty because there is no memory for this.
            return Placement::At(self.loans.add(Loan::Nowhere));
        };
        let (range, element) = (object.dist.range(from), object.block.element);
        let expected = epoch > object.ledger.settled && object.cache.may_load(epoch);
        if len != range.len() * element || !expected {
            return Placement::Buffer;
        }
        let (fresh, bytes) = (object.fresh.clone(), object.dist.len() * element);
        object.cache.loading(epoch, size, bytes, || fresh());
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
            if let Some(shortage) = replica.short().cloned() {
                return drop(self.no_cache(id, shortage, &said.site, out));
            }
        }
        let record = object.ledger.record(epoch);
        add_made(&mut record.made, &said.made);
        let arrival = &mut record.from[from.index()];
        arrival.complete = true;
        arrival.version = said.version;
        arrival.at_home = said.at_home;
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
        let announced_at_home = object.ledger.record(epoch).from[me.index()].at_home;
        if !announced_at_home {
            object.pushed = object.block.version;
        }
        if let Some(home) = object.block.home() {
            home.settled(epoch);
        }
        let mut touched = object.touched.take().unwrap_or_default();
        if touched.is_empty() {
            return;
        }
        if announced_at_home && object.block.is_at_home() {
            // Everyone has it before their eyes; they only wait to hear that it is final.
            touched.clear();
        }
        let element = object.block.element;
        // Lent for writing only after the scope was given up with an error.
        let base = object.dist.range(me).start * element;
        let replica = object.cache.find_loading(epoch).filter(|_| !announced_at_home);
        let changes = object.block.read(|bytes| {
            if let Some(replica) = replica {
                for run in &touched {
                    let run = run.start * element..run.end * element;
                    replica.write(base + run.start, &bytes[run]);
                }
            }
            batch_of(bytes, element, &touched)
        });
        let Some(changes) = changes else {
            return;
        };
        let version = object.block.version;
        if announced_at_home {
            object.ledger.record(epoch).from[me.index()].correction = Some((version, changes.clone()));
        }
        let reason = super::Reason { object: Some(id), action: "correction", site: None };
        let message = Message::Correct { object: id, epoch, version, contains };
        let changes = bytes::Bytes::from(changes);
        for rank in others {
            self.mail.post_for(out, &reason, rank, &message, Payload::Bytes(changes.clone()));
        }
    }

    /// The whole of a ReadCache, once every block of it is here and final.
    pub(crate) fn poll_loaded(&mut self, id: ObjectId, epoch: Epoch) -> Option<Result<Loaded, Shortage>> {
        let (me, size) = (self.me, self.size);
        let object = self.objects.get_mut(&id)?;
        if object.ledger.settled < epoch || object.ledger.incomplete_blocks(epoch).next().is_some() {
            return None;
        }
        let element = object.block.element;
        let record = object.ledger.find(epoch)?;
        let pushed = object.pushed;
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
                    version: if me == rank && !arrival.at_home { pushed } else { arrival.version },
                    at_home: arrival.at_home,
                    correction,
                }
            })
            .collect();
        object.ledger.forget(epoch);
        let whole_is_home = arrived.iter().all(|block| {
            block.at_home && block.correction.as_ref().is_none_or(|correction| correction.changes.is_empty())
        });
        if let Some(home) = object.block.home().filter(|_| whole_is_home) {
            let (array, reading) = home.show(epoch);
            object.cache.give_up(epoch);
            return Some(Ok(Loaded { array, reading }));
        }
        let (fresh, bytes) = (object.fresh.clone(), object.dist.len() * element);
        let replica = object.cache.loading(epoch, size, bytes, || fresh());
        if let Some(home) = object.block.home() {
            for (rank, block) in arrived.iter().enumerate().filter(|(_, block)| block.at_home) {
                replica.write(block.range.start, &home.bytes()[block.range.clone()]);
                replica.have[rank] = block.version;
            }
            home.pass(epoch);
        }
        if let Some(shortage) = replica.short().cloned() {
            return Some(Err(shortage));
        }
        if !arrived[me.index()].at_home {
            replica.have[me.index()] = pushed;
        }
        Some(Ok(Loaded { array: object.cache.complete(epoch, &arrived), reading: None }))
    }
}

/// The whole of a vector, as a guard shows it.
pub(crate) struct Loaded {
    pub(crate) array: Arc<dyn Storage>,
    /// It is memory that all ranks share.
    pub(crate) reading: Option<Reading>,
}

impl Service {
    /// Takes some memory for the copy of the next ReadCache, while earlier scopes are over; false once all is taken.
    pub(crate) fn take_cache(&mut self, id: ObjectId, site: &Site, out: &mut Outbox) -> Result<bool, Error> {
        let size = self.size;
        let object = self.objects.get_mut(&id).expect("an object lives as long as its handle");
        if object.block.home().is_some() {
            // Most likely it needs none.
            return Ok(false);
        }
        let (epoch, bytes) = (object.ledger.epoch + 1, object.dist.len() * object.block.element);
        let fresh = object.fresh.clone();
        let replica = object.cache.loading(epoch, size, bytes, || fresh());
        match replica.take() {
            Ok(more) => Ok(more),
            Err(shortage) => Err(self.no_cache(id, shortage, site, out)),
        }
    }

    /// This rank has no memory for its copy: nobody can have one.
    pub(crate) fn no_cache(&mut self, id: ObjectId, shortage: Shortage, site: &Site, out: &mut Outbox) -> Error {
        let name = self.objects[&id].name.clone();
        let error = shortage.error(self.me, "a ReadCache", name, site);
        self.fail(Some(id), error.clone(), out);
        error
    }
}

pub(super) fn add_made(total: &mut [u64], made: &[(u32, u64)]) {
    for (owner, writes) in made {
        if let Some(total) = total.get_mut(*owner as usize) {
            *total += writes;
        }
    }
}
