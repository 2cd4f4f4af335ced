//! Loom model of a mailbox: the checker tries every interleaving.

use super::{Halves, Receiver, Sender};
use crate::shm::ring::model::{Sleeper, model};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;
use std::sync::atomic::Ordering;

/// A mailbox with letters of one byte, whose accesses the checker records.
struct Small {
    put: AtomicU64,
    taken: AtomicU64,
    halves: [UnsafeCell<u8>; 2],
}

impl Small {
    fn new() -> Arc<Self> {
        let halves = std::array::from_fn(|_| UnsafeCell::new(0));
        Arc::new(Small { put: AtomicU64::new(0), taken: AtomicU64::new(0), halves })
    }
}

impl Halves for Arc<Small> {
    type Count = AtomicU64;

    fn put(&self) -> &AtomicU64 {
        &self.put
    }

    fn taken(&self) -> &AtomicU64 {
        &self.taken
    }

    unsafe fn with<R>(&self, half: usize, show: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: the checker detects concurrent writes.
        show(&[self.halves[half].with(|byte| unsafe { *byte })])
    }

    unsafe fn with_mut(&self, half: usize, fill: impl FnOnce(&mut [u8])) {
        let mut letter = [0];
        fill(&mut letter);
        // SAFETY: the checker detects concurrent accesses.
        self.halves[half].with_mut(|byte| unsafe { *byte = letter[0] });
    }
}

fn ends(mailbox: &Arc<Small>) -> (Sender<Arc<Small>>, Receiver<Arc<Small>>) {
    #[allow(clippy::multiple_unsafe_ops_per_block)]
    // SAFETY: the only ends of a new mailbox.
    unsafe {
        (Sender::new(mailbox.clone()), Receiver::new(mailbox.clone()))
    }
}

/// Puts letters 1 to `count`, each as soon as there is room.
fn put_all(mut sender: Sender<Arc<Small>>, count: u8, mut ring: impl FnMut()) {
    for letter in 1..=count {
        while !sender.put(|bytes| bytes[0] = letter) {
            thread::yield_now();
        }
        ring();
    }
}

fn take_all(mut receiver: Receiver<Arc<Small>>, count: u8) {
    for letter in 1..=count {
        while !receiver.has_come() {
            thread::yield_now();
        }
        assert_eq!(receiver.take(|bytes| bytes[0]), Some(letter));
    }
    assert!(!receiver.has_come() && receiver.take(|_| ()).is_none());
}

#[test]
fn letters_arrive_in_order_and_no_half_has_two_users() {
    model(|| {
        let (sender, receiver) = ends(&Small::new());
        let other = thread::spawn(move || put_all(sender, 3, || {}));
        take_all(receiver, 3);
        other.join().unwrap();
    });
}

#[test]
fn a_rank_that_waits_for_a_letter_is_woken() {
    model(|| {
        let (sender, mut receiver) = ends(&Small::new());
        let rank = Sleeper::new();
        let other = thread::spawn({
            let rank = rank.clone();
            move || put_all(sender, 2, || rank.ring_lazily())
        });
        for letter in [1, 2] {
            rank.until(|| receiver.take(|bytes| assert_eq!(bytes[0], letter)).is_some());
        }
        other.join().unwrap();
    });
}

#[test]
fn two_letters_and_no_more() {
    loom::model(|| {
        let (mut sender, mut receiver) = ends(&Small::new());
        let mut put = |letter| sender.put(|bytes| bytes[0] = letter);
        assert!(put(1) && put(2) && !put(3));
        assert_eq!(receiver.take(|bytes| bytes[0]), Some(1));
        assert!(put(3) && !put(4));
        assert_eq!([(); 3].map(|()| receiver.take(|bytes| bytes[0])), [Some(2), Some(3), None]);
    });
}

/// The receiver counts a letter as taken before it reads it.
#[test]
#[should_panic]
fn a_receiver_that_counts_too_early_is_found_out() {
    model(|| {
        let mailbox = Small::new();
        let (sender, _) = ends(&mailbox);
        let other = thread::spawn(move || put_all(sender, 3, || {}));
        for taken in 1..=3 {
            while mailbox.put.load(Ordering::Acquire) < taken {
                thread::yield_now();
            }
            mailbox.taken.store(taken, Ordering::Release);
            // SAFETY: as above.
            unsafe { mailbox.with(((taken - 1) % 2) as usize, |bytes| assert_eq!(u64::from(bytes[0]), taken)) };
        }
        other.join().unwrap();
    });
}
