//! Loom models of the ring, the doorbell and the ownership word; and tests of the ring with impossible positions.

use super::{Cells, Corrupt, Reader, Writer};
use crate::shm::buffer_pool::Ownership;
use crate::shm::doorbell::{Doorbell, Look};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread;
use std::sync::atomic::Ordering;

/// A small ring whose bytes the checker watches.
struct Small {
    head: AtomicU64,
    tail: AtomicU64,
    wanting: AtomicU32,
    bytes: [UnsafeCell<u8>; CAPACITY],
}

const CAPACITY: usize = 4;

impl Small {
    fn new() -> Arc<Self> {
        Arc::new(Small {
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            wanting: AtomicU32::new(0),
            bytes: std::array::from_fn(|_| UnsafeCell::new(0)),
        })
    }
}

impl Cells for Arc<Small> {
    type Position = AtomicU64;
    type Flag = AtomicU32;

    fn head(&self) -> &AtomicU64 {
        &self.head
    }

    fn tail(&self) -> &AtomicU64 {
        &self.tail
    }

    fn wanting(&self) -> &AtomicU32 {
        &self.wanting
    }

    fn capacity(&self) -> usize {
        CAPACITY
    }

    unsafe fn with<R>(&self, at: usize, len: usize, show: impl FnOnce(&[u8]) -> R) -> R {
        let cells = self.bytes[at..at + len].iter();
        // SAFETY: the checker detects concurrent writes.
        let bytes: Vec<u8> = cells.map(|cell| cell.with(|byte| unsafe { *byte })).collect();
        show(&bytes)
    }

    unsafe fn with_mut<R>(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut bytes = vec![0; len];
        let outcome = fill(&mut bytes);
        for (cell, byte) in self.bytes[at..at + len].iter().zip(bytes) {
            // SAFETY: the checker detects concurrent accesses.
            cell.with_mut(|place| unsafe { *place = byte });
        }
        outcome
    }
}

fn ends(ring: &Arc<Small>) -> (Writer<Arc<Small>>, Reader<Arc<Small>>) {
    #[allow(clippy::multiple_unsafe_ops_per_block)]
    // SAFETY: the only ends of a new ring.
    unsafe {
        (Writer::new(ring.clone()), Reader::new(ring.clone()))
    }
}

/// A rank that can sleep: its doorbell, its wake-up, and whether a thread waits.
pub(in crate::shm) struct Sleeper {
    doorbell: AtomicU32,
    kick: Notify,
    waiter: Mutex<bool>,
}

impl Sleeper {
    pub fn new() -> Arc<Self> {
        Arc::new(Sleeper { doorbell: AtomicU32::new(0), kick: Notify::new(), waiter: Mutex::new(false) })
    }

    fn ring(&self) {
        if Doorbell(&self.doorbell).ring() {
            self.kick.notify();
        }
    }

    pub fn ring_lazily(&self) {
        if Doorbell(&self.doorbell).ring_lazily() {
            self.kick.notify();
        }
    }

    /// Waits as an endpoint does: looks, and sleeps only if the doorbell has not rung since it began to look.
    pub fn until(&self, mut look: impl FnMut() -> bool) {
        *self.waiter.lock().unwrap() = true;
        loop {
            Doorbell(&self.doorbell).acknowledge();
            if look() {
                return;
            }
            let missed = Doorbell(&self.doorbell).start_polling() || Doorbell(&self.doorbell).has_rung();
            if !missed && Doorbell(&self.doorbell).prepare_sleep() == Look::Sleep {
                self.kick.wait();
            }
        }
    }
}

/// Every byte arrives in order through a ring smaller than the data, and sleepers are woken.
fn transfer(lens: &'static [usize]) {
    let total: usize = lens.iter().sum();
    let ring = Small::new();
    let (mut writer, mut reader) = ends(&ring);
    let (writing, reading) = (Sleeper::new(), Sleeper::new());
    let thread = thread::spawn({
        let (writing, reading) = (writing.clone(), reading.clone());
        move || {
            let mut next = 0_u8;
            for len in lens {
                writing.until(|| {
                    writer.room(*len).unwrap() >= *len
                        || (writer.want_room().unwrap() && writer.room(*len).unwrap() >= *len)
                });
                let bytes: Vec<u8> = (next..next + *len as u8).collect();
                next += *len as u8;
                writer.write(&bytes);
                writer.show();
                reading.ring();
            }
        }
    });
    let mut found = Vec::new();
    reading.until(|| {
        while reader.available().unwrap() > 0 {
            let mut byte = [0];
            reader.read(&mut byte).unwrap();
            found.push(byte[0]);
            if reader.release() {
                writing.ring();
            }
        }
        found.len() == total
    });
    thread.join().unwrap();
    assert_eq!(found, Vec::from_iter(0..total as u8));
}

pub(in crate::shm) fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

#[test]
fn nothing_is_lost_or_read_too_early_and_no_rank_sleeps_on() {
    model(|| transfer(&[3, 3]));
}

#[test]
fn a_full_ring_goes_on_when_there_is_room() {
    model(|| transfer(&[4, 2]));
}

#[test]
fn positions_that_cannot_be_are_an_error() {
    loom::model(|| {
        for wrong in [1, CAPACITY as u64 + 1, u64::MAX, 1 << 63] {
            let ring = Small::new();
            let (mut writer, _) = ends(&ring);
            ring.tail.store(wrong, Ordering::Relaxed);
            assert_eq!(writer.room(CAPACITY + 1), Err(Corrupt));
            assert_eq!(writer.want_room(), Err(Corrupt));
        }
        for wrong in [CAPACITY as u64 + 1, u64::MAX, 1 << 63] {
            let ring = Small::new();
            let (_, mut reader) = ends(&ring);
            ring.head.store(wrong, Ordering::Relaxed);
            assert_eq!(reader.available(), Err(Corrupt));
        }
        // Backwards, after a read.
        let ring = Small::new();
        let (mut writer, mut reader) = ends(&ring);
        writer.write(&[1, 2, 3]);
        writer.show();
        assert_eq!(reader.available(), Ok(3));
        assert_eq!(reader.read(&mut [0; 4]), Err(Corrupt));
        reader.read(&mut [0; 3]).unwrap();
        assert_eq!(reader.skip_padding(CAPACITY), Err(Corrupt));
        reader.release();
        ring.head.store(2, Ordering::Relaxed);
        assert_eq!(reader.available(), Err(Corrupt));
    });
}

#[test]
fn what_is_taken_back_was_never_there() {
    loom::model(|| {
        let ring = Small::new();
        let (mut writer, mut reader) = ends(&ring);
        writer.write(&[1]);
        writer.show();
        assert!(!writer.write_with(3, |_, _| false));
        writer.write(&[2]);
        writer.take_back();
        assert_eq!((writer.room(0), reader.available(), writer.unread()), (Ok(3), Ok(1), Some(0)));
        reader.read(&mut [0]).unwrap();
        assert!(!reader.release());
        assert_eq!((reader.available(), writer.unread()), (Ok(0), None));
    });
}

/// A waiting thread is woken by a lazy ring, even if another thread of its rank has looked and goes to sleep.
#[test]
fn a_waiting_thread_is_woken_by_lazy_rings() {
    model(|| {
        let (ring, rank) = (Small::new(), Sleeper::new());
        let (mut writer, mut reader) = ends(&ring);
        let peer = thread::spawn({
            let rank = rank.clone();
            move || {
                assert_eq!(writer.room(1), Ok(CAPACITY));
                writer.write(&[1]);
                writer.show();
                rank.ring_lazily();
            }
        });
        let daemon = thread::spawn({
            let rank = rank.clone();
            move || {
                let waiter = rank.waiter.lock().unwrap();
                Doorbell(&rank.doorbell).acknowledge();
                // This thread finds nothing, or leaves the lazy data to the waiting thread.
                match *waiter {
                    true => rank.kick.notify(),
                    false => drop(Doorbell(&rank.doorbell).stop_polling()),
                }
            }
        });
        rank.until(|| reader.available().unwrap() > 0);
        peer.join().unwrap();
        daemon.join().unwrap();
    });
}

/// A lazy ring does not wake a rank without a waiting thread; the rank sees the data after a normal ring.
#[test]
fn lazy_rings_do_not_wake_a_computing_rank() {
    loom::model(|| {
        let doorbell = AtomicU32::new(0);
        let doorbell = Doorbell(&doorbell);
        assert!(!doorbell.ring_lazily() && !doorbell.has_rung());
        doorbell.acknowledge();
        assert!(!doorbell.ring_lazily() && doorbell.has_rung());
        assert_eq!((doorbell.stop_polling(), doorbell.ring_lazily(), doorbell.ring()), (Look::Sleep, false, true));
        assert_eq!(doorbell.stop_polling(), Look::Again);
        doorbell.acknowledge();
        assert_eq!((doorbell.prepare_sleep(), doorbell.ring_lazily(), doorbell.has_rung()), (Look::Sleep, true, true));
    });
}

/// A buffer that is handed back and forth is never read and written at the same time.
#[test]
fn a_buffer_is_used_by_one_side_at_a_time() {
    model(|| {
        let buffer = Arc::new((AtomicU32::new(0), UnsafeCell::new(0_u8)));
        let reader = thread::spawn({
            let buffer = buffer.clone();
            move || {
                let ownership = Ownership(&buffer.0);
                let mut read = Vec::new();
                while read.len() < 2 {
                    if ownership.acquire(1) {
                        assert!(!ownership.acquire(1), "once");
                        // SAFETY: the checker detects concurrent writes.
                        read.push(buffer.1.with(|byte| unsafe { *byte }));
                        ownership.release();
                    } else {
                        thread::yield_now();
                    }
                }
                read
            }
        });
        for byte in [1, 2] {
            let ownership = Ownership(&buffer.0);
            while !ownership.is_free() {
                thread::yield_now();
            }
            // SAFETY: the checker detects concurrent accesses.
            buffer.1.with_mut(|place| unsafe { *place = byte });
            ownership.hand_to(1);
        }
        assert_eq!(reader.join().unwrap(), [1, 2]);
    });
}

#[test]
fn a_buffer_comes_back_from_the_dead_alone() {
    loom::model(|| {
        let ownership = AtomicU32::new(0);
        let ownership = Ownership(&ownership);
        for taken in [false, true] {
            ownership.hand_to(3);
            assert!(!taken || ownership.acquire(3));
            ownership.reclaim(2);
            assert!(!ownership.is_free() && !ownership.acquire(2));
            ownership.reclaim(3);
            assert!(ownership.is_free() && !ownership.acquire(3));
        }
    });
}
