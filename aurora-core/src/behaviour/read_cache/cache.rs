//! Copies of a vector or of its parts: the last copy of the whole, copies being loaded, and copies being sent.
//!
//! A load never overwrites memory that a live guard shows: it takes over the last copy only if no guard holds it and
//! nothing is sent from it. At most two loads are under way, the second for ranks that are one scope ahead.

use crate::ids::Epoch;
use crate::memory::{Array, Arriving, Fresh, Meter, Part, Ranges, STEP, Shortage, Storage};
use crate::window::Window;
use aurora_net::Rank;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Loads under way at a time: no rank enters a third ReadCache before this rank has entered the second.
pub(crate) const LOADS: usize = 2;

pub(crate) struct Replica {
    serial: u64,
    window: Window,
    /// Final bytes are shown while other bytes are being written.
    pub(super) array: Arriving,
    /// Bytes of the copy that this load has received.
    pub(super) come: Ranges,
    /// The version of each rank's block in the copy; 0: no version.
    pub(crate) have: Vec<u64>,
    /// The number of transfers that read the copy.
    in_flight: usize,
    /// Charges memory when it is written for the first time.
    pub(super) meter: Meter,
    /// The shortage because of which the copy will never be complete.
    pub(super) short: Option<Shortage>,
}

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

    /// True if it is of this window, with this version of a rank's block.
    fn holds(&self, window: Window, owner: Rank, version: u64) -> bool {
        self.window == window && self.have[owner.index()] == version
    }

    /// Writes bytes from `at` on; does nothing once the replica is `short`.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        if self.short.is_none() {
            self.short = self.meter.touch(at..at + bytes.len()).err();
        }
        if self.short.is_none() {
            self.array.write(at, bytes);
        }
    }

    /// Takes the next step of its memory, before anything is written; false once all is taken.
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
}

/// A byte offset in the part of a block that lies in the load's window, and the new bytes there.
pub(crate) type Change = (usize, Vec<u8>);

/// The arrived part of one rank's block within the load's window.
pub(crate) struct BlockArrived {
    /// The place of the bytes within the copy.
    pub(crate) range: Range<usize>,
    /// The version of the block when it was announced.
    pub(crate) version: u64,
    /// True if the block lies in memory that this rank shares.
    pub(crate) at_home: bool,
    /// The version of the block with its correction, and the changes of the correction.
    pub(crate) correction: Option<(u64, Vec<Change>)>,
}

/// All copies of one vector on this rank.
#[derive(Default)]
pub(crate) struct Cache {
    next_serial: u64,
    /// The last copy of the whole.
    latest: Option<Replica>,
    loading: BTreeMap<Epoch, Replica>,
    retired: Vec<Replica>,
}

impl Cache {
    /// The replica that is loaded for `epoch`. On first mention it is the last copy, if that copy is of this window and
    /// free, else a new one. `None`: another rank has begun to load a different part.
    pub(crate) fn loading(
        &mut self,
        (epoch, window): (Epoch, Window),
        ranks: usize,
        bytes: usize,
        fresh: impl FnOnce() -> Fresh,
    ) -> Option<&mut Replica> {
        if !self.loading.contains_key(&epoch) {
            let is_needed = self.is_loading(window);
            let free = |last: &mut Replica| {
                last.window == window && !is_needed && last.in_flight == 0 && last.array.free().is_some()
            };
            let mut replica = self.latest.take_if(free).unwrap_or_else(|| {
                self.next_serial += 1;
                Replica::new((self.next_serial, window), ranks, bytes, fresh())
            });
            replica.come.clear();
            self.loading.insert(epoch, replica);
        }
        self.find_loading((epoch, window))
    }

    fn is_loading(&self, window: Window) -> bool {
        self.loading.values().any(|replica| replica.window == window)
    }

    /// True if a load of the whole has used memory of this rank's own. Then all loads of the whole must begin in their
    /// order, even a load that probably needs no memory, because the next load may take over the last copy.
    pub(crate) fn is_used(&self) -> bool {
        self.latest.is_some() || self.is_loading(Window::WHOLE)
    }

    /// The load of `epoch` used no memory of this rank's own. The last copy of its window is outdated.
    pub(crate) fn give_up(&mut self, epoch: Epoch, window: Window) {
        let unused = self.loading.remove(&epoch);
        self.retire(unused);
        let outdated = self.latest.take_if(|last| last.window == window);
        self.retire(outdated);
    }

    fn retire(&mut self, copy: Option<Replica>) {
        self.retired.extend(copy.filter(|copy| copy.in_flight > 0));
    }

    /// True if a message of another rank may begin a load for `epoch`. The distance between two epochs has no limit:
    /// an owner that still waits for the writes of a ReleaseC may be many scopes behind an owner that already pushes.
    pub(crate) fn may_load(&self, epoch: Epoch) -> bool {
        self.loading.contains_key(&epoch) || self.loading.len() < LOADS
    }

    pub(crate) fn find_loading(&mut self, (epoch, window): (Epoch, Window)) -> Option<&mut Replica> {
        self.loading.get_mut(&epoch).filter(|replica| replica.window == window)
    }

    /// Writes bytes that the load of `epoch` has received.
    pub(crate) fn receive(&mut self, epoch: Epoch, at: usize, bytes: &[u8]) {
        if let Some(replica) = self.loading.get_mut(&epoch) {
            replica.write(at, bytes);
            if replica.short.is_none() {
                replica.come.insert(at..at + bytes.len());
            }
        }
    }

    /// The copy that holds this version of a rank's block: the one loaded for `epoch`, or the last of its window.
    pub(crate) fn find_block(&self, (epoch, window): (Epoch, Window), owner: Rank, version: u64) -> Option<&[u8]> {
        let mut copies = self.loading.get(&epoch).into_iter().chain(&self.latest);
        copies.find(|copy| copy.holds(window, owner, version)).map(|copy| copy.array.bytes())
    }

    /// Makes the replica of `epoch` hold this version of a block, from the last copy if need be. False: none has it.
    pub(crate) fn ensure_block(&mut self, epoch: Epoch, owner: Rank, version: u64, range: Range<usize>) -> bool {
        let replica = self.loading.get_mut(&epoch).expect("a load that was begun");
        if replica.have[owner.index()] == version {
            return true;
        }
        let Some(last) = self.latest.as_ref().filter(|last| last.holds(replica.window, owner, version)) else {
            return false;
        };
        replica.have[owner.index()] = version;
        replica.write(range.start, &last.array.bytes()[range]);
        true
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.replicas().any(|replica| replica.in_flight > 0)
    }

    pub(crate) fn begin_send(&mut self, epoch: Epoch) -> u64 {
        let replica = self.loading.get_mut(&epoch).expect("we send from the replica that is loaded");
        replica.in_flight += 1;
        replica.serial
    }

    pub(crate) fn end_send(&mut self, serial: u64) {
        let all = self.latest.iter_mut().chain(self.loading.values_mut()).chain(&mut self.retired);
        if let Some(replica) = all.into_iter().find(|r| r.serial == serial) {
            replica.in_flight -= 1;
        }
        self.retired.retain(|r| r.in_flight > 0);
    }

    pub(crate) fn bytes(&self, serial: u64) -> Option<&[u8]> {
        self.replicas().find(|r| r.serial == serial).map(|r| r.array.bytes())
    }

    /// Completes the load of `epoch`: takes unchanged blocks over from the last copy, then applies corrections.
    pub(crate) fn complete(&mut self, epoch: Epoch, arrived: &[BlockArrived]) -> Part {
        for (rank, block) in arrived.iter().enumerate().filter(|(_, block)| !block.range.is_empty()) {
            let here = self.ensure_block(epoch, Rank::new(rank), block.version, block.range.clone());
            assert!(here, "an owner leaves out only a block that it has sent before");
        }
        let mut replica = self.loading.remove(&epoch).expect("a load that was begun");
        for (rank, block) in arrived.iter().enumerate() {
            replica.have[rank] = block.version;
            if let Some((version, changes)) = &block.correction {
                for (at, bytes) in changes {
                    replica.write(block.range.start + at, bytes);
                }
                replica.have[rank] = *version;
            }
        }
        let all = replica.array.show_all();
        // A copy of a part is freed with its guard.
        let old = if replica.window.is_whole() { self.latest.replace(replica) } else { Some(replica) };
        self.retire(old);
        all
    }

    /// Frees the last copy, once nothing is sent from it.
    pub(crate) fn release(&mut self) {
        let last = self.latest.take();
        self.retire(last);
    }

    fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.latest.iter().chain(self.loading.values()).chain(&self.retired)
    }
}
