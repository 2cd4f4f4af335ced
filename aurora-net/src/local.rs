//! The local route: a queue per rank, for ranks that are threads of one process.

use crate::Rank;
use crate::endpoint::Waker;
use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A transfer on its way from one thread to another, complete.
#[derive(Debug)]
pub(crate) struct LocalTransfer {
    pub from: Rank,
    pub header: Bytes,
    pub payload: LocalPayload,
}

/// Its payload: a lent one has been copied when it was sent.
#[derive(Debug)]
pub(crate) enum LocalPayload {
    Owned(Vec<u8>),
    Shared(Bytes),
}

impl LocalPayload {
    pub fn as_slice(&self) -> &[u8] {
        match self {
            LocalPayload::Owned(bytes) => bytes,
            LocalPayload::Shared(bytes) => bytes,
        }
    }

    pub fn into_vec(self) -> Vec<u8> {
        match self {
            LocalPayload::Owned(bytes) => bytes,
            LocalPayload::Shared(bytes) => Vec::from(bytes),
        }
    }
}

/// The sending side of a rank's queue.
#[derive(Clone, Debug)]
pub(crate) struct LocalAddress {
    queue: Sender<LocalTransfer>,
    doorbell: Arc<Doorbell>,
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct Inbox {
    queue: Receiver<LocalTransfer>,
    doorbell: Arc<Doorbell>,
}

/// Wakes the receiver, but only once for everything that it finds at its next look.
#[derive(Debug)]
struct Doorbell {
    rung: AtomicBool,
    waker: Arc<Waker>,
}

/// A new queue whose receiver sleeps on `waker`.
pub(crate) fn queue(waker: Arc<Waker>) -> (LocalAddress, Inbox) {
    let (sender, receiver) = unbounded();
    let doorbell = Arc::new(Doorbell { rung: AtomicBool::new(false), waker });
    let address = LocalAddress { queue: sender, doorbell: doorbell.clone() };
    let inbox = Inbox { queue: receiver, doorbell };
    (address, inbox)
}

impl LocalAddress {
    /// Hands a transfer over; a receiver that is gone drops it.
    pub fn send(&self, transfer: LocalTransfer) {
        // Put first, ring second; the receiver silences the doorbell first and looks second. So either it sees this
        // transfer or the doorbell rings once more.
        if self.queue.send(transfer).is_ok() && !self.doorbell.rung.swap(true, Ordering::SeqCst) {
            self.doorbell.waker.kick();
        }
    }
}

impl Inbox {
    /// Says that the receiver is about to empty the queue.
    pub fn silence(&self) {
        self.doorbell.rung.swap(false, Ordering::SeqCst);
    }

    /// The oldest transfer.
    pub fn try_next(&self) -> Option<LocalTransfer> {
        self.queue.try_recv().ok()
    }

    /// Whether there is another.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
