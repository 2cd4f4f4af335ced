//! What a carrier does for an endpoint, and which thread has it.

use crate::Rank;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// Moves pieces of transfers between ranks whose threads both attend to it; MPI's nonblocking calls in practice.
///
/// No call blocks. Everything happens on the thread that the carrier belongs to, and goes on in [`Carrier::poll`]
/// alone. Of the pieces with one tag the first that is sent meets the receive that was begun first. The buffers are the
/// carrier's from the call that begins until the completion, so that it may be left alone at any time: whoever forgets
/// a piece loses nothing but it.
pub(crate) trait Carrier {
    /// An empty buffer with room for `capacity` bytes.
    fn buffer(&mut self, capacity: usize) -> Vec<u8>;

    /// Takes back one that a piece came in.
    fn recycle(&mut self, buffer: Vec<u8>);

    /// Begins to send a piece.
    fn send(&mut self, piece: Piece, tag: Tag, bytes: Vec<u8>);

    /// Begins to receive one of at most `room` bytes.
    fn receive(&mut self, piece: Piece, tag: Tag, room: usize);

    /// Goes on with what is under way, and gives one of the pieces that are complete.
    fn poll(&mut self) -> Option<Completion>;
}

/// Tells apart what comes from one rank at the same time. As MPI permits at least: up to 32767.
pub(crate) type Tag = u16;

/// A part of a transfer's payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Piece {
    /// To or from whom.
    pub peer: Rank,
    /// Which transfer, by its sender's number.
    pub id: u64,
    /// Where in the payload.
    pub offset: usize,
}

/// What has become of a piece.
#[derive(Debug)]
#[cfg_attr(not(any(feature = "mpi", test)), expect(dead_code, reason = "MPI's carrier alone makes them"))]
pub(crate) enum Completion {
    /// Its buffer is free again; it need not have arrived.
    Sent(Piece),
    /// It is here.
    Received(Piece, Vec<u8>),
}

/// A carrier as the thread that it belongs to holds it.
pub(crate) type Held = Rc<RefCell<dyn Carrier>>;

/// From how many bytes on a carrier moves a transfer, and the carrier.
pub(crate) struct Carriage {
    pub carrier: Held,
    pub from: usize,
}

/// The endpoint's address, and its carrier.
type Boarded = (usize, Weak<RefCell<dyn Carrier>>);

thread_local! {
    /// The carriers of this thread's endpoints. An endpoint is any thread's to use, a carrier is not: so it is found
    /// here, or not.
    static ABOARD: RefCell<Vec<Boarded>> = const { RefCell::new(Vec::new()) };
}

/// Lets the calling thread find the carrier of the endpoint at this address, as long as it is held elsewhere.
pub(in crate::endpoint) fn board(endpoint: usize, carrier: &Held) {
    ABOARD.with_borrow_mut(|aboard| {
        aboard.retain(|(at, carrier)| *at != endpoint && carrier.strong_count() > 0);
        aboard.push((endpoint, Rc::downgrade(carrier)));
    });
}

/// The carrier of the endpoint at this address, on the thread that it belongs to.
pub(in crate::endpoint) fn aboard(endpoint: usize) -> Option<Held> {
    ABOARD.with_borrow(|aboard| aboard.iter().find(|(at, _)| *at == endpoint)?.1.upgrade())
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
        board(16, &carriers[0]);
        board(32, &carriers[1]);
        assert!(Rc::ptr_eq(&aboard(16).unwrap(), &carriers[0]));
        assert!(Rc::ptr_eq(&aboard(32).unwrap(), &carriers[1]));
        assert!(std::thread::spawn(|| aboard(16).is_none()).join().unwrap());
        // Another endpoint at the address of one that is gone.
        board(16, &carriers[1]);
        assert!(Rc::ptr_eq(&aboard(16).unwrap(), &carriers[1]));
        drop(carriers);
        assert!(aboard(16).is_none() && aboard(32).is_none());
    }
}
