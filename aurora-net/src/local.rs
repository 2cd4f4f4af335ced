//! The local route: one queue per rank, for ranks that are threads of one process.

use crate::Rank;
use crate::poller::Waker;
use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A complete transfer between two threads.
#[derive(Debug)]
pub(crate) struct LocalTransfer {
    pub from: Rank,
    pub header: Bytes,
    /// A lent payload is copied when it is sent.
    pub payload: Bytes,
}

/// The sending end of a rank's queue.
#[derive(Clone, Debug)]
pub(crate) struct LocalAddress {
    queue: Sender<LocalTransfer>,
    doorbell: Arc<Doorbell>,
}

#[derive(Debug)]
pub(crate) struct Inbox {
    queue: Receiver<LocalTransfer>,
    doorbell: Arc<Doorbell>,
}

/// Wakes the receiver once for all transfers that are then in its queue.
#[derive(Debug)]
struct Doorbell {
    rung: AtomicBool,
    waker: Waker,
}

/// Creates a queue whose receiver sleeps on `waker`.
pub(crate) fn queue(waker: Waker) -> (LocalAddress, Inbox) {
    let (sender, receiver) = unbounded();
    let doorbell = Arc::new(Doorbell { rung: AtomicBool::new(false), waker });
    let address = LocalAddress { queue: sender, doorbell: doorbell.clone() };
    let inbox = Inbox { queue: receiver, doorbell };
    (address, inbox)
}

impl LocalAddress {
    /// Sends a transfer. Dropped if the receiver is gone.
    pub fn send(&self, transfer: LocalTransfer) {
        // The sender queues first and rings second; the receiver clears the doorbell first and looks second. So either
        // the receiver sees this transfer, or the doorbell rings again.
        if self.queue.send(transfer).is_ok() && !self.doorbell.rung.swap(true, Ordering::SeqCst) {
            self.doorbell.waker.kick();
        }
    }
}

impl Inbox {
    /// The receiver is about to empty the queue.
    pub fn silence(&self) {
        self.doorbell.rung.swap(false, Ordering::SeqCst);
    }

    pub fn try_next(&self) -> Option<LocalTransfer> {
        self.queue.try_recv().ok()
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
