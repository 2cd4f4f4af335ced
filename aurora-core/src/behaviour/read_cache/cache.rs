//! Copies of whole vectors: the last one loaded, those being loaded, and those still being sent from.
//!
//! A load never lands in memory that a live guard shows: the last copy is loaded over only if nobody holds it and
//! nothing is sent from it; otherwise the load gets memory of its own. So at most two loads are under way, the second
//! for ranks that are one scope ahead. Of a load that is streamed a guard shows what is final, while the rest comes in.

use super::part::Parts;
use crate::ids::Epoch;
use crate::memory::{Array, Arriving, Meter, Part, Ranges, Shortage, Storage};
use aurora_net::Rank;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Loads under way at a time: nobody enters a third ReadCache before we have entered the second.
pub(crate) const LOADS: usize = 2;

/// So much memory is taken at a time, in bytes: a few milliseconds, in which nothing else is served.
pub(crate) const STEP: usize = 16 << 20;

/// One copy of the whole vector.
pub(crate) struct Replica {
    pub(crate) serial: u64,
    pub(crate) array: Arriving,
    /// What has come of the blocks that this load brings, in bytes of the whole.
    come: Ranges,
    /// The version of each rank's block in it; 0 is none.
    pub(crate) have: Vec<u64>,
    /// Transfers that read our own part of it.
    pub(crate) in_flight: usize,
    /// Of memory that is written for the first time.
    meter: Meter,
    /// There is not so much: it will never be whole.
    short: Option<Shortage>,
}

/// Memory for a replica, promised by the system.
pub(crate) type Fresh = Result<Arc<dyn Storage>, Shortage>;

impl Replica {
    pub(crate) fn new(serial: u64, ranks: usize, bytes: usize, fresh: Fresh) -> Self {
        let (array, short) = match fresh {
            Ok(array) => (array, None),
            Err(shortage) => (Arc::new(Array::<u8>::default()) as Arc<dyn Storage>, Some(shortage)),
        };
        Replica {
            serial,
            array: Arriving::new(array),
            come: Ranges::default(),
            have: vec![0; ranks],
            in_flight: 0,
            meter: Meter::new(bytes),
            short,
        }
    }

    /// Writes bytes from `at` on; nothing once it is [`short`](Replica::short).
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        if self.short.is_none() {
            self.short = self.meter.touch(at..at + bytes.len()).err();
        }
        if self.short.is_none() {
            self.array.write(at, bytes);
        }
    }

    /// The same, for what a load brings.
    pub(crate) fn receive(&mut self, at: usize, bytes: &[u8]) {
        self.write(at, bytes);
        if self.short.is_none() {
            self.come.insert(at..at + bytes.len());
        }
    }

    /// How far a block that this load brings has come, from here on.
    pub(crate) fn come(&self, from: usize) -> usize {
        self.come.reach(from)
    }

    /// Shows a part that is final, while others are being written.
    pub(crate) fn show(&mut self, bytes: Range<usize>) -> Part {
        self.array.show(bytes)
    }

    /// Bytes of it that the system has not given yet.
    pub(crate) fn untaken(&self) -> usize {
        self.meter.untouched()
    }

    /// Takes some of its memory, before it is written; false once all is taken.
    pub(crate) fn take(&mut self) -> Result<bool, Shortage> {
        if let Some(shortage) = &self.short {
            return Err(shortage.clone());
        }
        let Some(bytes) = self.meter.next(STEP)? else {
            return Ok(false);
        };
        let array = self.array.free().expect("memory is taken before anything of it is shown");
        array.take(bytes)?;
        Ok(true)
    }

    /// Why it cannot be loaded.
    pub(crate) fn short(&self) -> Option<&Shortage> {
        self.short.as_ref()
    }
}

/// What late writes changed in a block that had been pushed.
pub(crate) struct Correction {
    /// The version that this makes.
    pub(crate) version: u64,
    /// Byte offsets in the block, and what stands there now.
    pub(crate) changes: Vec<(usize, Vec<u8>)>,
}

/// How one rank's block has come.
pub(crate) struct BlockArrived {
    /// Its bytes within the whole.
    pub(crate) range: Range<usize>,
    /// Its version when it was announced.
    pub(crate) version: u64,
    /// It lies in memory that we share with it.
    pub(crate) at_home: bool,
    pub(crate) correction: Option<Correction>,
}

/// All copies of one vector on this rank.
#[derive(Default)]
pub(crate) struct Cache {
    pub(crate) next_serial: u64,
    latest: Option<Replica>,
    loading: BTreeMap<Epoch, Replica>,
    /// Replaced copies from which something is still sent.
    pub(crate) retired: Vec<Replica>,
    /// Of parts, being loaded.
    pub(crate) parts: Parts,
}

impl Cache {
    /// The replica that is loaded for `epoch`; on first mention the last one, if it is free, or a new one.
    pub(crate) fn loading(
        &mut self,
        epoch: Epoch,
        ranks: usize,
        bytes: usize,
        fresh: impl FnOnce() -> Fresh,
    ) -> &mut Replica {
        if !self.loading.contains_key(&epoch) {
            let free = |r: &mut Replica| r.in_flight == 0 && r.array.free().is_some();
            let reused = if self.loading.is_empty() { self.latest.take_if(free) } else { None };
            let mut replica = reused.unwrap_or_else(|| {
                self.next_serial += 1;
                Replica::new(self.next_serial, ranks, bytes, fresh())
            });
            replica.come.clear();
            self.loading.insert(epoch, replica);
        }
        self.loading.get_mut(&epoch).expect("just inserted")
    }

    /// Whether some load has been made in memory of our own: then each has to be begun in its turn, also one that will
    /// most likely need none, because the next may take over the last copy.
    pub(crate) fn is_used(&self) -> bool {
        self.latest.is_some() || !self.loading.is_empty()
    }

    /// The load of `epoch` needed no memory of our own.
    pub(crate) fn give_up(&mut self, epoch: Epoch) {
        if let Some(replica) = self.loading.remove(&epoch) {
            self.latest.get_or_insert(replica);
        }
    }

    /// Whether a load for `epoch` may be begun by what another rank sends. How many scopes lie between two loads says
    /// nothing: an owner that still waits for writes of a ReleaseC may be many behind one that pushes already.
    pub(crate) fn may_load(&self, epoch: Epoch) -> bool {
        self.loading.contains_key(&epoch) || self.loading.len() < LOADS
    }

    /// The replica being loaded for `epoch`, if it has been begun.
    pub(crate) fn find_loading(&mut self, epoch: Epoch) -> Option<&mut Replica> {
        self.loading.get_mut(&epoch)
    }

    /// The copy that has a rank's block in this version: the one loaded for `epoch`, or the last.
    pub(crate) fn find_block(&self, epoch: Epoch, owner: Rank, version: u64) -> Option<&[u8]> {
        let mut copies = self.loading.get(&epoch).into_iter().chain(&self.latest);
        copies.find(|copy| copy.have[owner.index()] == version).map(|copy| copy.array.bytes())
    }

    /// Whether there is one.
    pub(crate) fn has(&self, epoch: Epoch, owner: Rank, version: u64) -> bool {
        self.find_block(epoch, owner, version).is_some()
    }

    /// Takes a rank's block, the bytes `range`, over from the last copy to the one that is loaded for `epoch`, if it
    /// does not have it in this version. False: neither has.
    pub(crate) fn carry_over(&mut self, epoch: Epoch, owner: Rank, version: u64, range: Range<usize>) -> bool {
        let replica = self.loading.get_mut(&epoch).expect("a load that was begun");
        let have = &mut replica.have[owner.index()];
        if *have == version {
            return true;
        }
        let Some(last) = self.latest.as_ref().filter(|last| last.have[owner.index()] == version) else {
            return false;
        };
        *have = version;
        replica.write(range.start, &last.array.bytes()[range]);
        true
    }

    /// Whether something is sent from one of them.
    pub(crate) fn is_in_flight(&self) -> bool {
        let all = self.latest.iter().chain(self.loading.values()).chain(&self.retired).chain(self.parts.replicas());
        all.into_iter().any(|replica| replica.in_flight > 0)
    }

    /// A transfer begins to read a part of the replica of `epoch`.
    pub(crate) fn begin_send(&mut self, epoch: Epoch) -> u64 {
        let replica = self.loading.get_mut(&epoch).expect("we send from the replica that is loaded");
        replica.in_flight += 1;
        replica.serial
    }

    /// A transfer has been acknowledged.
    pub(crate) fn end_send(&mut self, serial: u64) {
        if let Some(replica) = self.all().find(|r| r.serial == serial) {
            replica.in_flight -= 1;
        }
        self.retired.retain(|r| r.in_flight > 0);
    }

    /// Bytes of the replica that a transfer reads from.
    pub(crate) fn bytes(&self, serial: u64) -> Option<&[u8]> {
        let all = self.latest.iter().chain(self.loading.values()).chain(&self.retired).chain(self.parts.replicas());
        all.into_iter().find(|r| r.serial == serial).map(|r| r.array.bytes())
    }

    /// Completes the load of `epoch`. Blocks of other ranks that have not changed since the last load are taken over
    /// from it; then what late writes changed is written over what was pushed.
    pub(crate) fn complete(&mut self, epoch: Epoch, arrived: &[BlockArrived]) -> Part {
        for (rank, block) in arrived.iter().enumerate().filter(|(_, block)| !block.range.is_empty()) {
            let here = self.carry_over(epoch, Rank::new(rank), block.version, block.range.clone());
            assert!(here, "an owner leaves out only a block that it has sent before");
        }
        let mut replica = self.loading.remove(&epoch).expect("a load that was begun");
        for (rank, block) in arrived.iter().enumerate() {
            replica.have[rank] = block.version;
            if let Some(Correction { version, changes }) = &block.correction {
                for (at, bytes) in changes {
                    replica.write(block.range.start + at, bytes);
                }
                replica.have[rank] = *version;
            }
        }
        let all = replica.array.show_all();
        if let Some(old) = self.latest.replace(replica)
            && old.in_flight > 0
        {
            self.retired.push(old);
        }
        all
    }

    /// Gives back the memory of the last copy, once nothing is sent from it.
    pub(crate) fn release(&mut self) {
        self.retired.extend(self.latest.take().filter(|last| last.in_flight > 0));
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Replica> {
        let parts = self.parts.replicas_mut();
        self.latest.iter_mut().chain(self.loading.values_mut()).chain(&mut self.retired).chain(parts)
    }
}
