//! MPI's nonblocking point-to-point calls as a carrier of bulk data.
//!
//! rsmpi ties a request to a borrow of its buffer. Here requests own their buffers and complete in any order, so the
//! four MPI functions are called directly.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. While a request is active its slot owns the buffer. The bytes do not move with the slot, and nothing accesses or
//!    frees them. Only [`MpiCarrier::poll`] takes a slot apart, once MPI has reported its request complete. Dropping
//!    the carrier leaks the buffers of active requests.
//! 2. MPI is initialised and not finalised, and this thread may call it: a carrier is not `Send`, is created by an
//!    [`MpiControl`](super::MpiControl) on that thread, and is dropped there before MPI is finalised. It has its own
//!    communicator, so its tags match nothing else.
//! 3. A failing MPI call ends the process, by the communicator's error handler. A call that returns has written its
//!    results.
#![allow(unsafe_code)]

use crate::endpoint::carrier::{Carrier, Completion, Piece, Tag};
use mpi::ffi;
use mpi::point_to_point::Status;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator, Equivalence};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// The maximum number of buffers kept for later pieces.
const SPARE: usize = 32;

pub(super) struct MpiCarrier {
    world: SimpleCommunicator,
    /// Active requests; `slots` has the same indices.
    requests: Vec<ffi::MPI_Request>,
    slots: Vec<Slot>,
    done: VecDeque<Completion>,
    spare: Vec<Vec<u8>>,
    indices: Vec<c_int>,
    statuses: Vec<MaybeUninit<ffi::MPI_Status>>,
}

struct Slot {
    piece: Piece,
    buffer: Vec<u8>,
    receives: bool,
}

impl MpiCarrier {
    /// Collective.
    pub fn new(world: &SimpleCommunicator) -> Self {
        let world = world.duplicate();
        // A program that has initialised MPI itself may have set MPI to return errors, which a duplicate inherits.
        // SAFETY: invariant 2, and the communicator belongs to this carrier alone.
        unsafe { ffi::MPI_Comm_set_errhandler(world.as_raw(), ffi::RSMPI_ERRORS_ARE_FATAL) };
        MpiCarrier {
            world,
            requests: Vec::new(),
            slots: Vec::new(),
            done: VecDeque::new(),
            spare: Vec::new(),
            indices: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// True if a send is still active. A receive that is still active belongs to a transfer that was given up.
    pub fn is_busy(&mut self) -> bool {
        self.test();
        self.slots.iter().any(|slot| !slot.receives)
    }

    fn begin(&mut self, request: ffi::MPI_Request, slot: Slot) {
        self.requests.push(request);
        self.slots.push(slot);
    }

    /// Moves completed requests to `done`.
    fn test(&mut self) {
        let active = self.requests.len();
        if active == 0 {
            return;
        }
        self.indices.resize(active, 0);
        self.statuses.resize(active, MaybeUninit::uninit());
        let mut count = 0;
        // SAFETY: invariant 2; each array has as many elements as there are requests.
        unsafe {
            ffi::MPI_Testsome(
                active as c_int,
                self.requests.as_mut_ptr(),
                &mut count,
                self.indices.as_mut_ptr(),
                self.statuses.as_mut_ptr().cast(),
            );
        }
        // In descending order, so that `swap_remove` does not move a slot that is still to be removed.
        let mut complete: Vec<(usize, usize)> =
            (0..count.max(0) as usize).map(|at| (self.indices[at] as usize, at)).collect();
        complete.sort_unstable();
        for (index, at) in complete.into_iter().rev() {
            self.requests.swap_remove(index);
            let Slot { piece, mut buffer, receives } = self.slots.swap_remove(index);
            if receives {
                // SAFETY: invariant 3: MPI has written `count` statuses.
                let status = Status::from_raw(unsafe { self.statuses[at].assume_init() });
                buffer.truncate(status.count(u8::equivalent_datatype()) as usize);
                self.done.push_back(Completion::Received(piece, buffer));
            } else {
                self.done.push_back(Completion::Sent(piece));
                self.recycle(buffer);
            }
        }
    }
}

impl Carrier for MpiCarrier {
    fn buffer(&mut self, capacity: usize) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.reserve_exact(capacity);
        buffer
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < SPARE {
            self.spare.push(buffer);
        }
    }

    fn send(&mut self, piece: Piece, tag: Tag, buffer: Vec<u8>) {
        let mut request = MaybeUninit::uninit();
        // SAFETY: invariants 1 and 2.
        unsafe {
            ffi::MPI_Isend(
                buffer.as_ptr().cast(),
                buffer.len() as c_int,
                u8::equivalent_datatype().as_raw(),
                piece.peer.index() as c_int,
                c_int::from(tag),
                self.world.as_raw(),
                request.as_mut_ptr(),
            );
        }
        // SAFETY: invariant 3.
        let request = unsafe { request.assume_init() };
        self.begin(request, Slot { piece, buffer, receives: false });
    }

    fn receive(&mut self, piece: Piece, tag: Tag, room: usize) {
        // Content left by an earlier piece does no harm.
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(room, 0);
        let mut request = MaybeUninit::uninit();
        // SAFETY: invariants 1 and 2.
        unsafe {
            ffi::MPI_Irecv(
                buffer.as_mut_ptr().cast(),
                room as c_int,
                u8::equivalent_datatype().as_raw(),
                piece.peer.index() as c_int,
                c_int::from(tag),
                self.world.as_raw(),
                request.as_mut_ptr(),
            );
        }
        // SAFETY: invariant 3.
        let request = unsafe { request.assume_init() };
        self.begin(request, Slot { piece, buffer, receives: true });
    }

    fn poll(&mut self) -> Option<Completion> {
        if self.done.is_empty() {
            self.test();
        }
        self.done.pop_front()
    }
}

impl Drop for MpiCarrier {
    fn drop(&mut self) {
        // Invariant 1: MPI may still write there.
        self.slots.drain(..).for_each(|slot| std::mem::forget(slot.buffer));
    }
}
