//! Keeps a rank off the core of the rank that has woken it.
//!
//! Linux may wake a thread on the core of the thread that wakes it, and leave both there for milliseconds while another
//! core is idle. It does so in virtual machines whose host halts idle cores: to Linux a halted core does not look idle.
//! So a rank that wakes another one tells it its core, and the woken thread moves away if it finds itself there.

use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::sync::atomic::{AtomicU32, Ordering};

/// The core of the last rank that has woken this one, plus 1. 0: none has.
pub(super) struct WakersCore<'a>(pub &'a AtomicU32);

impl WakersCore<'_> {
    /// The calling thread is about to wake the rank of this word.
    pub fn note(&self) {
        self.0.store(own(), Ordering::Relaxed);
    }

    /// The calling thread has been woken: leaves the core if it is that of the waker. The cores on which the thread may
    /// run do not change. Without another core, or if the system refuses, it stays.
    pub fn leave(&self) {
        if self.0.swap(0, Ordering::Relaxed) != own() {
            return;
        }
        let Ok(all) = sched_getaffinity(None) else {
            return;
        };
        let mut others = all;
        others.unset(sched_getcpu());
        if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
            // It is the same set as before, so the system accepts it.
            let _ = sched_setaffinity(None, &all);
        }
    }
}

/// The core of the calling thread, plus 1.
fn own() -> u32 {
    u32::try_from(sched_getcpu()).map_or(0, |core| core + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::CpuSet;

    /// On a thread of its own, which runs on one core.
    fn on_one_core(test: impl FnOnce(usize) + Send + 'static) {
        let thread = std::thread::spawn(|| {
            let (core, mut one) = (sched_getcpu(), CpuSet::new());
            one.set(core);
            sched_setaffinity(None, &one).unwrap();
            test(core);
        });
        thread.join().unwrap();
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn a_thread_leaves_the_core_of_its_waker_alone() {
        let all = sched_getaffinity(None).unwrap();
        if all.count() < 2 {
            eprintln!("skipped: there is only one core");
            return;
        }
        on_one_core(move |core| {
            let one = sched_getaffinity(None).unwrap();
            // Linux may move the thread back at any time.
            let leaves = (0..100).any(|_| {
                let word = AtomicU32::new(core as u32 + 1);
                sched_setaffinity(None, &one).unwrap();
                sched_setaffinity(None, &all).unwrap();
                WakersCore(&word).leave();
                sched_getcpu() != core
            });
            assert!(leaves);
            assert_eq!(sched_getaffinity(None).unwrap(), all, "it may run everywhere again");
        });
    }

    #[test]
    fn a_thread_with_one_core_stays() {
        on_one_core(|core| {
            let word = AtomicU32::new(0);
            WakersCore(&word).note();
            assert_eq!(word.load(Ordering::Relaxed), core as u32 + 1);
            for value in [0, core as u32 + 1, core as u32 + 2] {
                word.store(value, Ordering::Relaxed);
                WakersCore(&word).leave();
                assert_eq!((sched_getcpu(), sched_getaffinity(None).unwrap().count()), (core, 1));
            }
        });
    }
}
