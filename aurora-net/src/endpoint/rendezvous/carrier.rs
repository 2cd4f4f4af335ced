//! The interface of a carrier to an endpoint, and the registry by which a thread finds its carrier.

use crate::Rank;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// Moves pieces of transfers between ranks whose threads both attend to it: in practice MPI's nonblocking calls.
///
/// No call blocks. All calls are made on the thread that the carrier belongs to, and only [`Carrier::poll`] makes
/// progress. Of the pieces with one tag, the first one sent matches the first receive. A buffer belongs to the carrier
/// from the call until the completion, so a caller may forget a piece at any time.
pub(crate) trait Carrier {
    fn buffer(&mut self, capacity: usize) -> Vec<u8>;

    /// Takes back the buffer of a received piece.
    fn recycle(&mut self, buffer: Vec<u8>);

    fn send(&mut self, piece: Piece, tag: Tag, bytes: Vec<u8>);

    /// Starts to receive a piece of at most `room` bytes.
    fn receive(&mut self, piece: Piece, tag: Tag, room: usize);

    /// Makes progress and returns a completed piece, if there is one.
    fn poll(&mut self) -> Option<Completion>;
}

/// Distinguishes concurrent transfers from one rank. MPI guarantees tags up to 32767.
pub(crate) type Tag = u16;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Piece {
    pub peer: Rank,
    /// The transfer, by its sender's number.
    pub id: u64,
    pub offset: usize,
}

#[derive(Debug)]
#[cfg_attr(not(any(feature = "mpi", test)), expect(dead_code, reason = "MPI's carrier alone makes them"))]
pub(crate) enum Completion {
    /// The buffer of this piece is free. The piece may not have arrived yet.
    Sent(Piece),
    Received(Piece, Vec<u8>),
}

pub(crate) type Held = Rc<RefCell<dyn Carrier>>;

/// A carrier, and the shortest transfer that it moves, in bytes.
pub(crate) struct Carriage {
    pub carrier: Held,
    pub from: usize,
}

type Registered = (usize, Weak<RefCell<dyn Carrier>>);

thread_local! {
    /// The carriers of this thread's endpoints. Any thread may use an endpoint, but only one thread its carrier.
    static CARRIERS: RefCell<Vec<Registered>> = const { RefCell::new(Vec::new()) };
}

/// Registers the carrier of the endpoint at this address for the calling thread, as long as it is held elsewhere.
pub(in crate::endpoint) fn register(endpoint: usize, carrier: &Held) {
    CARRIERS.with_borrow_mut(|carriers| {
        carriers.retain(|(at, carrier)| *at != endpoint && carrier.strong_count() > 0);
        carriers.push((endpoint, Rc::downgrade(carrier)));
    });
}

/// The carrier of the endpoint at this address, if it belongs to the calling thread.
pub(in crate::endpoint) fn carrier_of(endpoint: usize) -> Option<Held> {
    CARRIERS.with_borrow(|carriers| carriers.iter().find(|(at, _)| *at == endpoint)?.1.upgrade())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Idle;

    impl Carrier for Idle {
        fn buffer(&mut self, _: usize) -> Vec<u8> {
            Vec::new()
        }
        fn recycle(&mut self, _: Vec<u8>) {}
        fn send(&mut self, _: Piece, _: Tag, _: Vec<u8>) {}
        fn receive(&mut self, _: Piece, _: Tag, _: usize) {}
        fn poll(&mut self) -> Option<Completion> {
            None
        }
    }

    #[test]
    fn a_carrier_is_found_on_its_thread_for_as_long_as_it_is_held() {
        let carriers: [Held; 2] = [Rc::new(RefCell::new(Idle)), Rc::new(RefCell::new(Idle))];
        register(16, &carriers[0]);
        register(32, &carriers[1]);
        assert!(Rc::ptr_eq(&carrier_of(16).unwrap(), &carriers[0]));
        assert!(Rc::ptr_eq(&carrier_of(32).unwrap(), &carriers[1]));
        assert!(std::thread::spawn(|| carrier_of(16).is_none()).join().unwrap());
        // A new endpoint at the address of an earlier one.
        register(16, &carriers[1]);
        assert!(Rc::ptr_eq(&carrier_of(16).unwrap(), &carriers[1]));
        drop(carriers);
        assert!(carrier_of(16).is_none() && carrier_of(32).is_none());
    }
}
