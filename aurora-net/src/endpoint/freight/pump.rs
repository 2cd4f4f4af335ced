//! The thread that has the carrier moves what is to be moved.

use super::carrier::{Carrier, Completion, Piece};
use super::{Freight, Note};
use crate::{Handler, Outbox, Rank};

/// Pieces dealt with before others get a chance at the lock.
const BATCH: usize = 64;

impl Freight {
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

    /// Begins receives. Each transfer that was accepted always has one: what its sender sends next is awaited, whatever it is that
    /// others send, so that nobody's pieces wait for others'.
    fn expect(&mut self, carrier: &mut dyn Carrier) {
        let limits = self.limits;
        for ((from, id), coming) in &mut self.coming {
            while coming.awaited == 0 || (coming.awaited < limits.ahead && self.awaited < limits.awaited) {
                let Some((offset, room)) = coming.expect(limits.piece) else {
                    break;
                };
                self.awaited += 1;
                carrier.receive(Piece { peer: *from, id: *id, offset }, coming.tag, room);
            }
        }
    }

    /// Begins sends: a piece of each transfer in turns, so that no receiver is asked for more than its part.
    fn load(&mut self, carrier: &mut dyn Carrier, handler: &mut impl Handler) {
        let limits = self.limits;
        // How many could not be given a turn, one after the other.
        let mut passed = 0;
        while self.flying < limits.flying
            && passed < self.turns.len()
            && let Some(id) = self.turns.pop_front()
        {
            let leaving = self.leaving.get_mut(&id).expect("it has turns for as long as it is here");
            let tag = leaving.tag.expect("it has turns once it is accepted");
            if leaving.flying < limits.ahead {
                let mut buffer = carrier.buffer(limits.piece + super::seal::SEAL);
                let offset = leaving.load(id, limits.piece, handler, &mut buffer);
                carrier.send(Piece { peer: leaving.to, id, offset }, tag, buffer);
                self.flying += 1;
                passed = 0;
            } else {
                passed += 1;
            }
            if leaving.has_more() {
                self.turns.push_back(id);
            }
        }
    }

    fn sent(&mut self, piece: Piece) {
        // Otherwise its receiver has said already that it has all of it.
        if let Some(leaving) = self.leaving.get_mut(&piece.id) {
            leaving.flying -= 1;
            self.flying -= 1;
        }
    }

    fn take(&mut self, piece: Piece, sealed: &[u8], handler: &mut impl Handler, out: &mut Outbox) {
        let Piece { peer, id, offset } = piece;
        let Some(coming) = self.coming.get_mut(&(peer, id)) else {
            return;
        };
        self.awaited -= 1;
        match coming.take((id, offset), self.limits.piece, sealed, handler) {
            Ok(false) => {}
            Ok(true) => self.arrived(peer, id, handler, out),
            Err(damaged) => {
                // Before its other pieces complete it: they may be here already.
                self.forget(peer, id);
                tracing::error!("{damaged} by MPI from {peer}, which is given up");
                self.orders.broken.push(peer);
            }
        }
    }

    /// All pieces of a transfer are here, so its tag is free for another.
    fn arrived(&mut self, from: Rank, id: u64, handler: &mut impl Handler, out: &mut Outbox) {
        let Some(mut coming) = self.forget(from, id) else {
            return;
        };
        self.tags.insert(coming.tag);
        self.note(from, &Note::Taken { id });
        let (header, len) = (std::mem::take(&mut coming.header), coming.len as u64);
        let Some(received) = coming.received() else {
            return;
        };
        self.carried.transfers_in += 1;
        self.carried.bytes_in += header.len() as u64 + len;
        self.carried.carried_in += 1;
        self.carried.carried_bytes_in += len;
        handler.deliver(from, &header, received, out);
    }
}
