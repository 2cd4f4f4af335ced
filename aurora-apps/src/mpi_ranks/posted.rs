//! Operations that outlive the function that has begun them: they own their memory. rsmpi's requests borrow memory from
//! a scope, and a search that polls for messages at its nodes has no such scope.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. `outgoing` and `incoming` come from `Box::into_raw`. Each is freed once, after the request is complete and gone.
//! 2. While there is a request, only MPI accesses this memory. Moving a [`Posted`] moves the pointers, not the memory.
//! 3. Neither is freed earlier: dropping waits.
#![allow(unsafe_code)]

use mpi::request::{Request, StaticScope};
use mpi::topology::{Process, SimpleCommunicator};
use mpi::traits::{CommunicatorCollectives, Destination};
use mpi::{Count, Tag};
use std::fmt;

/// An operation in progress.
pub struct Posted {
    request: Option<Request<'static, [u32], StaticScope>>,
    outgoing: *mut [u32],
    incoming: *mut [u32],
}

impl Posted {
    /// Sends `numbers` to `to` by Isend.
    pub fn send(to: &Process<'_>, tag: Tag, numbers: &[u32]) -> Self {
        let outgoing = Box::into_raw(Box::<[u32]>::from(numbers));
        let incoming = Box::into_raw(Box::<[u32]>::default());
        // SAFETY: invariants 1 and 2: the memory lives until the request is gone, and is only read.
        let request = to.immediate_send_with_tag(StaticScope, unsafe { &*outgoing }, tag);
        Posted { request: Some(request), outgoing, incoming }
    }

    /// Collective. Gathers the same number of elements from each rank by Iallgather.
    pub fn all_gather(comm: &SimpleCommunicator, ranks: usize, mine: &[u32]) -> Self {
        let outgoing = Box::into_raw(Box::<[u32]>::from(mine));
        let incoming = Box::into_raw(vec![0; ranks * mine.len()].into_boxed_slice());
        debug_assert!(Count::try_from(ranks * mine.len()).is_ok(), "a few numbers");
        // SAFETY: invariants 1 and 2: the memory lives until the request is gone, and is only read.
        let from = unsafe { &*outgoing };
        // SAFETY: invariants 1 and 2: it lives until the request is gone, and no other reference exists.
        let into = unsafe { &mut *incoming };
        let request = comm.immediate_all_gather_into(StaticScope, from, into);
        Posted { request: Some(request), outgoing, incoming }
    }

    /// Returns whether the operation is complete. The call lets MPI progress this operation and all others.
    pub fn test(&mut self) -> bool {
        if let Some(request) = self.request.take() {
            self.request = request.test().err();
        }
        self.request.is_none()
    }

    /// Waits until the operation is complete, and returns the received numbers.
    pub fn wait(&mut self) -> &[u32] {
        if let Some(request) = self.request.take() {
            request.wait_without_status();
        }
        // SAFETY: invariant 1; no request exists any more, so by invariant 2 MPI does not access the memory.
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
