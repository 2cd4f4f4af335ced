//! The gate of one node: who reads a shared vector at this moment, so that nobody writes to what another shows.
//!
//! Each rank of the node has a *seat* that it alone writes to. A rank that completes a load says so there, after it has counted
//! itself among the readers if it shows the shared memory itself. An owner may write to its block once everyone has
//! completed the last load that it has announced to all, and nobody reads any more: nobody can begin to read then before
//! the owner announces the next load. Who has announced a load and not completed it may show parts that are final already: nobody
//! writes before it has completed that.
//!
//! Reading happens before the reader leaves (release), leaving before the owner finds nobody (acquire), and that before its
//! write. So the two never race; `model` below has a checker try all interleavings.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that one rank writes and others read.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    /// Adds, wrapping around.
    fn add(&self, value: u64, order: Ordering);
    /// Writes before anything that this thread observes later: in one order with all that are published and observed.
    fn publish(&self, value: u64);
    /// Reads, in that order.
    fn observe(&self) -> u64;
}

impl Word for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }

    fn add(&self, value: u64, order: Ordering) {
        self.fetch_add(value, order);
    }

    #[inline]
    fn publish(&self, value: u64) {
        AtomicU64::store(self, value, Ordering::SeqCst);
    }

    #[inline]
    fn observe(&self) -> u64 {
        AtomicU64::load(self, Ordering::SeqCst)
    }
}

/// The checker takes sequential consistency from fences alone.
#[cfg(test)]
impl Word for loom::sync::atomic::AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        loom::sync::atomic::AtomicU64::load(self, order)
    }

    fn store(&self, value: u64, order: Ordering) {
        loom::sync::atomic::AtomicU64::store(self, value, order);
    }

    fn add(&self, value: u64, order: Ordering) {
        self.fetch_add(value, order);
    }

    fn publish(&self, value: u64) {
        loom::sync::atomic::AtomicU64::store(self, value, Ordering::Release);
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    fn observe(&self) -> u64 {
        loom::sync::atomic::fence(Ordering::SeqCst);
        loom::sync::atomic::AtomicU64::load(self, Ordering::Acquire)
    }
}

/// What one rank says of itself. On a cache line of its own.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Seat<W> {
    /// The last load that it has completed.
    loaded: W,
    /// How many guards of it show the shared memory.
    readers: W,
}

impl<W: Word> Seat<W> {
    /// Completes `load`, with a guard that shows the shared memory if `reads`. By its own rank alone, one load after the other.
    pub(crate) fn enter(&self, load: u64, reads: bool) {
        if reads {
            // A load may be completed by the daemon while the calling thread ends the guard of another.
            self.readers.add(1, Ordering::Relaxed);
        }
        self.loaded.store(load, Ordering::Release);
    }

    /// Such a guard is gone. By its own rank alone.
    pub(crate) fn leave(&self) {
        self.readers.add(1u64.wrapping_neg(), Ordering::Release);
    }

    /// Whether its rank has completed `load` and reads nothing. In this order: it counts itself before it completes.
    pub(crate) fn is_clear(&self, load: u64) -> bool {
        self.loaded.load(Ordering::Acquire) >= load && self.readers.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64 as Modelled;
    use loom::thread;

    struct Shared {
        seats: [Seat<Modelled>; 2],
        block: UnsafeCell<u64>,
        /// The loads that the owner has announced.
        announced: Modelled,
    }

    // By what the model is to show.
    #[allow(unsafe_code)]
    // SAFETY: the checker itself watches every access to the cell.
    unsafe impl Sync for Shared {}
    #[allow(unsafe_code)]
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    impl Shared {
        fn read(&self) -> u64 {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            self.block.with(|block| unsafe { *block })
        }

        fn write(&self, value: u64) {
            // SAFETY: as above.
            #[allow(unsafe_code)]
            self.block.with_mut(|block| unsafe { *block = value });
        }
    }

    /// An owner writes between two loads as soon as it may, a reader reads in both.
    fn owner_and_reader(is_clear: fn(&Seat<Modelled>, u64) -> bool, reads: [bool; 2]) {
        loom::model(move || {
            let shared = Arc::new(Shared {
                seats: [Seat::default_modelled(), Seat::default_modelled()],
                block: UnsafeCell::new(1),
                announced: Modelled::new(1),
            });
            let reader = {
                let shared = shared.clone();
                thread::spawn(move || {
                    for (load, shows) in [(1, reads[0]), (2, reads[1])] {
                        if shared.announced.load(Ordering::Acquire) < load {
                            return;
                        }
                        if shows {
                            shared.seats[1].enter(load, true);
                        }
                        let value = shared.read();
                        assert!(load == 1 && value == 1 || load == 2 && value == 2, "load {load} shows {value}");
                        if shows { shared.seats[1].leave() } else { shared.seats[1].enter(load, false) }
                    }
                })
            };
            shared.seats[0].enter(1, false);
            if shared.seats.iter().all(|seat| is_clear(seat, 1)) {
                shared.write(2);
                shared.announced.store(2, Ordering::Release);
            }
            reader.join().unwrap();
        });
    }

    impl Seat<Modelled> {
        fn default_modelled() -> Self {
            Seat { loaded: Modelled::new(0), readers: Modelled::new(0) }
        }
    }

    #[test]
    fn nobody_writes_what_another_reads() {
        for reads in [[true, true], [true, false], [false, true], [false, false]] {
            owner_and_reader(Seat::is_clear, reads);
        }
    }

    /// The daemon completes a load while the calling thread ends the guard of another.
    #[test]
    fn two_threads_of_a_rank_count_its_guards() {
        loom::model(|| {
            let seat = Arc::new(Seat::default_modelled());
            seat.enter(1, true);
            let daemon = {
                let seat = seat.clone();
                thread::spawn(move || seat.enter(2, true))
            };
            seat.leave();
            daemon.join().unwrap();
            assert!(!seat.is_clear(2), "a guard shows it");
            seat.leave();
            assert!(seat.is_clear(2));
        });
    }

    #[test]
    #[should_panic]
    fn a_gate_that_looks_at_readers_alone_is_found_out() {
        owner_and_reader(|seat, _| seat.readers.load(Ordering::Acquire) == 0, [true, true]);
    }

    #[test]
    #[should_panic]
    fn a_gate_that_looks_at_loads_alone_is_found_out() {
        owner_and_reader(|seat, load| seat.loaded.load(Ordering::Acquire) >= load, [true, true]);
    }
}
