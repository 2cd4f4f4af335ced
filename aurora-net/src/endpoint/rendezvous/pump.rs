//! Gives the carrier its work and handles its completions, on the thread that the carrier belongs to.

use super::carrier::{Carrier, Completion, Piece};
use super::{Message, Rendezvous};
use crate::{Handler, Outbox, Rank};

/// The maximum number of completions handled before the lock is released.
const BATCH: usize = 64;

impl Rendezvous {
    /// Posts sends and receives, and handles completions. True: there was progress.
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

    /// Posts receives. Each accepted transfer always has one, so no rank's pieces wait for those of others.
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

    /// Starts sends, round-robin over the transfers, so that no receiver gets more than its share.
    fn load(&mut self, carrier: &mut dyn Carrier, handler: &mut impl Handler) {
        let limits = self.limits;
        // Transfers skipped in a row.
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
        // If it is not there, its receiver has already sent FIN.
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
                // Removed before its other pieces, which may have arrived already, complete the transfer.
                self.remove_incoming(peer, id);
                tracing::error!("{damaged} by MPI from {peer}, which is given up");
                self.effects.broken.push(peer);
            }
        }
    }

    /// All pieces of a transfer have arrived, so its tag is free.
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
