//! The thread that has the carrier moves what is to be moved.

use super::carrier::{Carrier, Completion, Piece};
use super::{Message, Rendezvous};
use crate::{Handler, Outbox, Rank};

/// Pieces dealt with before others get a chance at the lock.
const BATCH: usize = 64;

impl Rendezvous {
    /// Gives the carrier what there is to do, and takes what it has done. True: something has moved.
    pub fn pump(&mut self, carrier: &mut dyn Carrier, handler: &mut impl Handler, out: &mut Outbox) -> bool {
        if !self.is_idle() && handler.has_failed() {
            self.fail();
            return true;
        }
        for done in 0..BATCH {
            self.expect(carrier);
            self.load(carrier, handler);
            match carrier.poll() {
                None => return done > 0,
                Some(Completion::Sent(piece)) => self.sent(piece),
                Some(Completion::Received(piece, sealed)) => {
                    self.take(piece, &sealed, handler, out);
                    carrier.recycle(sealed);
                }
            }
        }
        true
    }

    /// Begins receives. Each transfer that was accepted always has one: what its sender sends next is posted, whatever
    /// it is that others send, so that nobody's pieces wait for others'.
    fn expect(&mut self, carrier: &mut dyn Carrier) {
        let limits = self.limits;
        for ((from, id), incoming) in &mut self.incoming {
            while incoming.posted == 0 || (incoming.posted < limits.ahead && self.posted < limits.posted) {
                let Some((offset, room)) = incoming.expect(limits.piece) else {
                    break;
                };
                self.posted += 1;
                carrier.receive(Piece { peer: *from, id: *id, offset }, incoming.tag, room);
            }
        }
    }

    /// Begins sends: a piece of each transfer in turns, so that no receiver is asked for more than its part.
    fn load(&mut self, carrier: &mut dyn Carrier, handler: &mut impl Handler) {
        let limits = self.limits;
        // How many could not be given a turn, one after the other.
        let mut passed = 0;
        while self.in_flight < limits.in_flight
            && passed < self.turns.len()
            && let Some(id) = self.turns.pop_front()
        {
            let outgoing = self.outgoing.get_mut(&id).expect("it has turns for as long as it is here");
            let tag = outgoing.tag.expect("it has turns once it is accepted");
            if outgoing.in_flight < limits.ahead {
                let mut buffer = carrier.buffer(limits.piece + super::checksum::LEN);
                let offset = outgoing.load(id, limits.piece, handler, &mut buffer);
                carrier.send(Piece { peer: outgoing.to, id, offset }, tag, buffer);
                self.in_flight += 1;
                passed = 0;
            } else {
                passed += 1;
            }
            if outgoing.has_more() {
                self.turns.push_back(id);
            }
        }
    }

    fn sent(&mut self, piece: Piece) {
        // Otherwise its receiver has said already that it has all of it.
        if let Some(outgoing) = self.outgoing.get_mut(&piece.id) {
            outgoing.in_flight -= 1;
            self.in_flight -= 1;
        }
    }

    fn take(&mut self, piece: Piece, sealed: &[u8], handler: &mut impl Handler, out: &mut Outbox) {
        let Piece { peer, id, offset } = piece;
        let Some(incoming) = self.incoming.get_mut(&(peer, id)) else {
            return;
        };
        self.posted -= 1;
        match incoming.take((id, offset), self.limits.piece, sealed, handler) {
            Ok(false) => {}
            Ok(true) => self.arrived(peer, id, handler, out),
            Err(damaged) => {
                // Before its other pieces complete it: they may be here already.
                self.remove_incoming(peer, id);
                tracing::error!("{damaged} by MPI from {peer}, which is given up");
                self.effects.broken.push(peer);
            }
        }
    }

    /// All pieces of a transfer are here, so its tag is free for another.
    fn arrived(&mut self, from: Rank, id: u64, handler: &mut impl Handler, out: &mut Outbox) {
        let Some(mut incoming) = self.remove_incoming(from, id) else {
            return;
        };
        self.tags.insert(incoming.tag);
        self.message(from, &Message::Fin { id });
        let (header, len) = (std::mem::take(&mut incoming.header), incoming.len as u64);
        let Some(received) = incoming.received() else {
            return;
        };
        self.carried.transfers_in += 1;
        self.carried.bytes_in += header.len() as u64 + len;
        self.carried.carried_in += 1;
        self.carried.carried_bytes_in += len;
        handler.deliver(from, &header, received, out);
    }
}
