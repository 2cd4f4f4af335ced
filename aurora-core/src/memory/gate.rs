//! The gate of one node: a registry of the ranks that read shared elements of a vector, so that no rank writes elements
//! that another rank shows.
//!
//! Each rank of the node has an *entry* in the registry of readers, which it alone writes. A rank that completes a
//! load first counts itself among the readers, if it shows the shared memory, and then writes the load to its entry.
//! An owner may write to its block once all ranks have completed the last load that the owner has announced, and none
//! reads any more: none can begin to read before the owner announces the next load. A rank that has announced a load
//! and not completed it may show final parts: no owner writes before it completes the load.
//!
//! A load may be of a range, and so may a write. Each entry has the bounds of all bytes that its rank shows. They
//! grow with each load, and begin anew once the rank shows nothing. A writer checks whether all ranks have completed
//! the last load *of its range*, and where they read now. A later load of another range may widen the bounds
//! meanwhile, never narrow them.
//!
//! A rank completes its loads one after the other, under the lock of its kernel. Its daemon may do so while the
//! calling thread ends the guard of an earlier load. Then the bounds in the entry may be wider than the bytes that the
//! rank still shows; they begin anew only after all of these bytes have been read.
//!
//! A read happens before its rank leaves (release). Leaving happens before the owner finds no reader (acquire), and
//! that before the owner's write. So the two never race; in `model` below, loom tries all interleavings.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that ranks share.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn add(&self, value: u64, order: Ordering);
    /// Sets `new` if the value is `current`. Returns the old value, as an error if it differs from `current`.
    fn exchange(&self, current: u64, new: u64) -> Result<u64, u64>;
    /// Stores; sequentially consistent with all `publish` and `observe`.
    fn publish(&self, value: u64);
    /// Loads, in the same total order.
    fn observe(&self) -> u64;
}

/// The methods that are the same for all kinds of atomics.
macro_rules! as_atomic {
    () => {
        #[inline]
        fn load(&self, order: Ordering) -> u64 {
            self.load(order)
        }

        #[inline]
        fn store(&self, value: u64, order: Ordering) {
            self.store(value, order);
        }

        #[inline]
        fn add(&self, value: u64, order: Ordering) {
            self.fetch_add(value, order);
        }

        #[inline]
        fn exchange(&self, current: u64, new: u64) -> Result<u64, u64> {
            self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire)
        }
    };
}

impl Word for AtomicU64 {
    as_atomic! {}

    #[inline]
    fn publish(&self, value: u64) {
        self.store(value, Ordering::SeqCst);
    }

    #[inline]
    fn observe(&self) -> u64 {
        self.load(Ordering::SeqCst)
    }
}

/// Loom implements sequential consistency only in fences.
#[cfg(test)]
impl Word for loom::sync::atomic::AtomicU64 {
    as_atomic! {}

    fn publish(&self, value: u64) {
        self.store(value, Ordering::Release);
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    fn observe(&self) -> u64 {
        loom::sync::atomic::fence(Ordering::SeqCst);
        self.load(Ordering::Acquire)
    }
}

/// The entry of one rank, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Entry<W> {
    loaded: W,
    /// The number of the rank's guards that show the shared memory.
    readers: W,
    /// The bounds of the bytes that these guards show.
    start: W,
    end: W,
}

impl<W: Word> Entry<W> {
    /// Completes `load`, with a guard that shows `reads`. Called by its own rank, one load after the other.
    pub(crate) fn enter(&self, load: u64, reads: Option<Range<usize>>) {
        if let Some(bytes) = reads {
            // The kernel may complete a load while the calling thread ends the guard of another. Its reads come
            // before these stores.
            let readers = self.readers.load(Ordering::Acquire);
            let (mut start, mut end) = (bytes.start as u64, bytes.end as u64);
            if readers > 0 {
                start = start.min(self.start.load(Ordering::Relaxed));
                end = end.max(self.end.load(Ordering::Relaxed));
            }
            // A writer that reads one of these knows that the earlier reads are over.
            self.start.store(start, Ordering::Release);
            self.end.store(end, Ordering::Release);
            self.readers.add(1, Ordering::Release);
        }
        self.loaded.store(load, Ordering::Release);
    }

    /// A guard is gone. Called only by its own rank.
    pub(crate) fn leave(&self) {
        self.readers.add(1u64.wrapping_neg(), Ordering::Release);
    }

    /// True if its rank has completed `load`, the last load of these bytes, and reads none of them. The order matters:
    /// a rank counts itself as a reader before it completes a load.
    pub(crate) fn is_clear(&self, load: u64, bytes: &Range<usize>) -> bool {
        self.loaded.load(Ordering::Acquire) >= load
            && (self.readers.load(Ordering::Acquire) == 0
                || self.end.load(Ordering::Acquire) <= bytes.start as u64
                || self.start.load(Ordering::Acquire) >= bytes.end as u64)
    }
}

#[cfg(test)]
mod model {
    use super::super::model::{Modelled, Plain, beside};
    use super::*;
    use loom::sync::Arc;

    struct Shared {
        entries: [Entry<Modelled>; 2],
        block: Plain,
        announced: Modelled,
    }

    impl Shared {
        fn new(announced: u64) -> Arc<Self> {
            let entries = [Entry::default_modelled(), Entry::default_modelled()];
            Arc::new(Shared { entries, block: Plain::new(1), announced: Modelled::new(announced) })
        }
    }

    /// An owner writes between two loads as soon as it may; a reader reads in both.
    fn owner_and_reader(is_clear: fn(&Entry<Modelled>, u64) -> bool, reads: [bool; 2]) {
        loom::model(move || {
            let shared = Shared::new(1);
            let reader = beside(&shared, move |shared| {
                for (load, shows) in [(1, reads[0]), (2, reads[1])] {
                    if shared.announced.load(Ordering::Acquire) < load {
                        return;
                    }
                    if shows {
                        shared.entries[1].enter(load, Some(0..8));
                    }
                    let value = shared.block.read();
                    assert!(load == 1 && value == 1 || load == 2 && value == 2, "load {load} shows {value}");
                    if shows { shared.entries[1].leave() } else { shared.entries[1].enter(load, None) }
                }
            });
            shared.entries[0].enter(1, None);
            if shared.entries.iter().all(|entry| is_clear(entry, 1)) {
                shared.block.write(2);
                shared.announced.store(2, Ordering::Release);
            }
            reader.join().unwrap();
        });
    }

    impl Entry<Modelled> {
        fn default_modelled() -> Self {
            let word = || Modelled::new(0);
            Entry { loaded: word(), readers: word(), start: word(), end: word() }
        }
    }

    #[test]
    fn nobody_writes_what_another_reads() {
        for reads in [[true, true], [true, false], [false, true], [false, false]] {
            owner_and_reader(|entry, load| entry.is_clear(load, &(0..8)), reads);
        }
    }

    /// The daemon completes a load while the calling thread ends the guard of another.
    #[test]
    fn two_threads_of_a_rank_count_its_guards() {
        loom::model(|| {
            let entry = Arc::new(Entry::default_modelled());
            entry.enter(1, Some(0..8));
            let daemon = beside(&entry, |entry| entry.enter(2, Some(0..8)));
            entry.leave();
            daemon.join().unwrap();
            assert!(!entry.is_clear(2, &(0..8)), "a guard shows it");
            entry.leave();
            assert!(entry.is_clear(2, &(0..8)));
        });
    }

    #[test]
    #[should_panic]
    fn a_gate_that_looks_at_readers_alone_is_found_out() {
        owner_and_reader(|entry, _| entry.readers.load(Ordering::Acquire) == 0, [true, true]);
    }

    #[test]
    #[should_panic]
    fn a_gate_that_looks_at_loads_alone_is_found_out() {
        owner_and_reader(|entry, load| entry.loaded.load(Ordering::Acquire) >= load, [true, true]);
    }

    /// An owner of bytes 8 to 16 writes there. Meanwhile another rank ends a load of both halves, in which it reads
    /// if `reads_first`, and completes a later load of the first half.
    fn writer_beside_a_reader(is_clear: fn(&Entry<Modelled>, u64) -> bool, reads_first: bool) {
        loom::model(move || {
            let shared = Shared::new(2);
            let reader = beside(&shared, move |shared| {
                shared.entries[1].enter(1, reads_first.then_some(0..16));
                if reads_first {
                    assert_eq!(shared.block.read(), 1);
                    shared.entries[1].leave();
                }
                // The rank shows none of the written bytes.
                shared.entries[1].enter(2, Some(0..8));
            });
            if is_clear(&shared.entries[1], 1) {
                shared.block.write(2);
            }
            reader.join().unwrap();
        });
    }

    #[test]
    fn who_reads_elsewhere_is_not_in_the_way() {
        for reads_first in [true, false] {
            writer_beside_a_reader(|entry, load| entry.is_clear(load, &(8..16)), reads_first);
        }
        let entry = Entry::<AtomicU64>::default();
        entry.enter(1, Some(0..8));
        assert!(entry.is_clear(1, &(8..16)) && !entry.is_clear(1, &(7..16)) && !entry.is_clear(2, &(8..16)));
        entry.enter(2, Some(20..30));
        // Between the two it shows nothing, but its bounds include that.
        assert!(!entry.is_clear(2, &(8..16)) && entry.is_clear(2, &(30..31)));
        entry.leave();
        entry.leave();
        assert!(entry.is_clear(2, &(0..30)));
    }

    /// An owner of bytes 8 to 16 writes there. Meanwhile a rank ends the guard of a load of both halves, and its
    /// daemon completes a load of the first half, which the rank shows if `shows`.
    fn writer_beside_a_daemon(enter: fn(&Entry<Modelled>, u64, Option<Range<usize>>), shows: bool) {
        loom::model(move || {
            let shared = Shared::new(2);
            shared.entries[1].enter(1, Some(0..16));
            let reader = beside(&shared, |shared| {
                assert_eq!(shared.block.read(), 1);
                shared.entries[1].leave();
            });
            let daemon = beside(&shared, move |shared| enter(&shared.entries[1], 2, shows.then_some(0..8)));
            if shared.entries[1].is_clear(1, &(8..16)) {
                shared.block.write(2);
            }
            reader.join().unwrap();
            daemon.join().unwrap();
            assert_eq!(shared.entries[1].is_clear(2, &(0..8)), !shows);
            if shows {
                shared.entries[1].leave();
            }
            assert!(shared.entries[1].is_clear(2, &(0..16)), "nobody shows anything");
        });
    }

    #[test]
    fn a_daemon_narrows_nothing_before_it_has_been_read() {
        for shows in [true, false] {
            writer_beside_a_daemon(Entry::enter, shows);
        }
    }

    /// Sets the bounds to these bytes alone, once it finds no readers.
    fn narrow(entry: &Entry<Modelled>, load: u64, reads: Option<Range<usize>>, found: bool) {
        let bytes = reads.expect("it shows some");
        if found {
            entry.start.store(bytes.start as u64, Ordering::Release);
            entry.end.store(bytes.end as u64, Ordering::Release);
        }
        entry.readers.add(1, Ordering::Release);
        entry.loaded.store(load, Ordering::Release);
    }

    #[test]
    #[should_panic]
    fn a_daemon_that_narrows_at_once_is_found_out() {
        writer_beside_a_daemon(|entry, load, reads| narrow(entry, load, reads, true), true);
    }

    #[test]
    #[should_panic]
    fn a_daemon_that_narrows_before_it_knows_what_was_read_is_found_out() {
        let unsure = |entry: &Entry<Modelled>, load: u64, reads: Option<Range<usize>>| {
            narrow(entry, load, reads, entry.readers.load(Ordering::Relaxed) == 0);
        };
        writer_beside_a_daemon(unsure, true);
    }

    #[test]
    #[should_panic]
    fn a_daemon_that_counts_in_two_steps_is_found_out() {
        let in_two_steps = |entry: &Entry<Modelled>, load: u64, _: Option<Range<usize>>| {
            entry.readers.store(entry.readers.load(Ordering::Acquire) + 1, Ordering::Release);
            entry.loaded.store(load, Ordering::Release);
        };
        writer_beside_a_daemon(in_two_steps, true);
    }

    #[test]
    #[should_panic]
    fn a_range_that_is_looked_at_before_the_load_is_found_out() {
        let range_first = |entry: &Entry<Modelled>, load| {
            let elsewhere = entry.end.load(Ordering::Acquire) <= 8;
            elsewhere && entry.loaded.load(Ordering::Acquire) >= load
        };
        writer_beside_a_reader(range_first, true);
    }
}
