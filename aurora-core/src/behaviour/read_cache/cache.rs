//! Copies of vectors and of parts of them: the last whole one loaded, those being loaded, and those still being sent
//! from.
//!
//! A load never lands in memory that a live guard shows: the last copy is loaded over only if nobody holds it and
//! nothing is sent from it; otherwise the load gets memory of its own. So at most two loads are under way, the second
//! for ranks that are one scope ahead. Of a load that is streamed a guard shows what is final, while the rest comes in.

use crate::ids::Epoch;
use crate::memory::{Array, Arriving, Meter, Part, Ranges, Shortage, Storage};
use crate::window::Window;
use aurora_net::Rank;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Loads under way at a time: nobody enters a third ReadCache before we have entered the second.
pub(crate) const LOADS: usize = 2;

/// So much memory is taken at a time, in bytes: a few milliseconds, in which nothing else is served.
pub(crate) const STEP: usize = 16 << 20;

/// One copy of the vector, or of a part of it.
pub(crate) struct Replica {
    serial: u64,
    /// What of the vector it is a copy of.
    window: Window,
    array: Arriving,
    /// What has come of the blocks that this load brings, in bytes of the copy.
    come: Ranges,
    /// The version of each rank's block in it; 0 is none.
    pub(crate) have: Vec<u64>,
    /// Transfers that read it.
    in_flight: usize,
    /// Of memory that is written for the first time.
    meter: Meter,
    /// There is not so much: it will never be whole.
    short: Option<Shortage>,
}

/// Memory for a replica, promised by the system.
pub(crate) type Fresh = Result<Arc<dyn Storage>, Shortage>;

impl Replica {
    fn new((serial, window): (u64, Window), ranks: usize, bytes: usize, fresh: Fresh) -> Self {
        let (array, short) = match fresh {
            Ok(array) => (array, None),
            Err(shortage) => (Arc::new(Array::<u8>::default()) as Arc<dyn Storage>, Some(shortage)),
        };
        Replica {
            serial,
            window,
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
    fn receive(&mut self, at: usize, bytes: &[u8]) {
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
    /// Byte offsets in what its rank has of the load's window, and what stands there now.
    pub(crate) changes: Vec<(usize, Vec<u8>)>,
}

/// How one rank's block has come, or what of it lies in the load's window.
pub(crate) struct BlockArrived {
    /// Its bytes within the copy.
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
    next_serial: u64,
    /// Of the whole. A copy of a part goes with its guard.
    latest: Option<Replica>,
    loading: BTreeMap<Epoch, Replica>,
    /// Other copies from which something is still sent.
    retired: Vec<Replica>,
}

impl Cache {
    /// The replica that is loaded for `epoch`; on first mention, for the whole, the last one, if it is free, or a new
    /// one. `None`: another rank has begun to load another part.
    pub(crate) fn loading(
        &mut self,
        (epoch, window): (Epoch, Window),
        ranks: usize,
        bytes: usize,
        fresh: impl FnOnce() -> Fresh,
    ) -> Option<&mut Replica> {
        if !self.loading.contains_key(&epoch) {
            let free = |r: &mut Replica| r.in_flight == 0 && r.array.free().is_some();
            let may_reuse = window.is_whole() && !self.is_loading_whole();
            let reused = if may_reuse { self.latest.take_if(free) } else { None };
            let mut replica = reused.unwrap_or_else(|| {
                self.next_serial += 1;
                Replica::new((self.next_serial, window), ranks, bytes, fresh())
            });
            replica.come.clear();
            self.loading.insert(epoch, replica);
        }
        self.find_loading((epoch, window))
    }

    fn is_loading_whole(&self) -> bool {
        self.loading.values().any(|replica| replica.window.is_whole())
    }

    /// Whether some load of the whole has been made in memory of our own: then each has to be begun in its turn, also
    /// one that will most likely need none, because the next may take over the last copy.
    pub(crate) fn is_used(&self) -> bool {
        self.latest.is_some() || self.is_loading_whole()
    }

    /// The load of `epoch` needed no memory of our own; if it was of the whole, the last copy is of no use either.
    pub(crate) fn give_up(&mut self, epoch: Epoch, window: Window) {
        let unused = self.loading.remove(&epoch);
        self.retire(unused);
        if window.is_whole() {
            self.release();
        }
    }

    /// Keeps a copy for as long as something is sent from it.
    fn retire(&mut self, copy: Option<Replica>) {
        self.retired.extend(copy.filter(|copy| copy.in_flight > 0));
    }

    /// Whether a load for `epoch` may be begun by what another rank sends. How many scopes lie between two loads says
    /// nothing: an owner that still waits for writes of a ReleaseC may be many behind one that pushes already.
    pub(crate) fn may_load(&self, epoch: Epoch) -> bool {
        self.loading.contains_key(&epoch) || self.loading.len() < LOADS
    }

    /// The replica being loaded for `epoch`, if it has been begun.
    pub(crate) fn find_loading(&mut self, (epoch, window): (Epoch, Window)) -> Option<&mut Replica> {
        self.loading.get_mut(&epoch).filter(|replica| replica.window == window)
    }

    /// Writes what the load of `epoch` brings.
    pub(crate) fn receive(&mut self, epoch: Epoch, at: usize, bytes: &[u8]) {
        if let Some(replica) = self.loading.get_mut(&epoch) {
            replica.receive(at, bytes);
        }
    }

    /// The copy that has a rank's block in this version: the one loaded for `epoch`, or for the whole the last.
    pub(crate) fn find_block(&self, (epoch, window): (Epoch, Window), owner: Rank, version: u64) -> Option<&[u8]> {
        let last = self.latest.as_ref().filter(|_| window.is_whole());
        let mut copies = self.loading.get(&epoch).into_iter().chain(last);
        copies.find(|copy| copy.have[owner.index()] == version).map(|copy| copy.array.bytes())
    }

    /// Whether there is one.
    pub(crate) fn has(&self, load: (Epoch, Window), owner: Rank, version: u64) -> bool {
        self.find_block(load, owner, version).is_some()
    }

    /// Takes a rank's block, the bytes `range`, over from the last copy to the one that is loaded for `epoch`, if it
    /// does not have it in this version. False: neither has.
    pub(crate) fn carry_over(&mut self, epoch: Epoch, owner: Rank, version: u64, range: Range<usize>) -> bool {
        let replica = self.loading.get_mut(&epoch).expect("a load that was begun");
        let have = &mut replica.have[owner.index()];
        if *have == version {
            return true;
        }
        let last = self.latest.as_ref().filter(|_| replica.window.is_whole());
        let Some(last) = last.filter(|last| last.have[owner.index()] == version) else {
            return false;
        };
        *have = version;
        replica.write(range.start, &last.array.bytes()[range]);
        true
    }

    /// Whether something is sent from one of them.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.replicas().any(|replica| replica.in_flight > 0)
    }

    /// A transfer begins to read some of the replica of `epoch`.
    pub(crate) fn begin_send(&mut self, epoch: Epoch) -> u64 {
        let replica = self.loading.get_mut(&epoch).expect("we send from the replica that is loaded");
        replica.in_flight += 1;
        replica.serial
    }

    /// A transfer has been acknowledged.
    pub(crate) fn end_send(&mut self, serial: u64) {
        let all = self.latest.iter_mut().chain(self.loading.values_mut()).chain(&mut self.retired);
        if let Some(replica) = all.into_iter().find(|r| r.serial == serial) {
            replica.in_flight -= 1;
        }
        self.retired.retain(|r| r.in_flight > 0);
    }

    /// Bytes of the replica that a transfer reads from.
    pub(crate) fn bytes(&self, serial: u64) -> Option<&[u8]> {
        self.replicas().find(|r| r.serial == serial).map(|r| r.array.bytes())
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
        let old = if replica.window.is_whole() { self.latest.replace(replica) } else { Some(replica) };
        self.retire(old);
        all
    }

    /// Gives back the memory of the last copy, once nothing is sent from it.
    pub(crate) fn release(&mut self) {
        let last = self.latest.take();
        self.retire(last);
    }

    fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.latest.iter().chain(self.loading.values()).chain(&self.retired)
    }
}
