//! Operations that outlive the function that has begun them: they own their memory. rsmpi's requests borrow it from a
//! scope, which a search that looks for messages at its nodes does not have.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. `outgoing` and `incoming` come from `Box::into_raw` and are given back once, when the request is complete and
//!    gone.
//! 2. While there is a request nobody but MPI touches them; moving a [`Posted`] moves pointers, not what they point at.
//! 3. Neither is given back before: dropping waits.
#![allow(unsafe_code)]

use mpi::request::{Request, StaticScope};
use mpi::topology::{Process, SimpleCommunicator};
use mpi::traits::{CommunicatorCollectives, Destination};
use mpi::{Count, Tag};
use std::fmt;

/// An operation under way.
pub struct Posted {
    request: Option<Request<'static, [u32], StaticScope>>,
    outgoing: *mut [u32],
    incoming: *mut [u32],
}

impl Posted {
    /// Isend of these to `to`.
    pub fn send(to: &Process<'_>, tag: Tag, numbers: &[u32]) -> Self {
        let outgoing = Box::into_raw(Box::<[u32]>::from(numbers));
        let incoming = Box::into_raw(Box::<[u32]>::default());
        // SAFETY: invariants 1 and 2: it lives until the request is gone, and is only read.
        let request = to.immediate_send_with_tag(StaticScope, unsafe { &*outgoing }, tag);
        Posted { request: Some(request), outgoing, incoming }
    }

    /// Collective. Iallgather: as many numbers of each rank.
    pub fn all_gather(comm: &SimpleCommunicator, ranks: usize, mine: &[u32]) -> Self {
        let outgoing = Box::into_raw(Box::<[u32]>::from(mine));
        let incoming = Box::into_raw(vec![0; ranks * mine.len()].into_boxed_slice());
        debug_assert!(Count::try_from(ranks * mine.len()).is_ok(), "a few numbers");
        // SAFETY: invariants 1 and 2: it lives until the request is gone, and is only read.
        let from = unsafe { &*outgoing };
        // SAFETY: the same, and nobody else has it.
        let into = unsafe { &mut *incoming };
        let request = comm.immediate_all_gather_into(StaticScope, from, into);
        Posted { request: Some(request), outgoing, incoming }
    }

    /// Whether it is complete; it lets MPI go on with it and all others.
    pub fn test(&mut self) -> bool {
        if let Some(request) = self.request.take() {
            self.request = request.test().err();
        }
        self.request.is_none()
    }

    /// Waits until it is complete, and gives what has come.
    pub fn wait(&mut self) -> &[u32] {
        if let Some(request) = self.request.take() {
            request.wait_without_status();
        }
        // SAFETY: invariant 1; there is no request any more, so by invariant 2 it is ours.
        unsafe { &*self.incoming }
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        self.wait();
        for memory in [self.outgoing, self.incoming] {
            // SAFETY: invariants 1 and 3.
            drop(unsafe { Box::from_raw(memory) });
        }
    }
}

impl fmt::Debug for Posted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Posted({})", if self.request.is_some() { "under way" } else { "complete" })
    }
}
