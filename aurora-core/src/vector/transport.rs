//! What comes for an object, and memory of its that the transport reads from or writes into.

use crate::behaviour::halo::edges::Exchange;
use crate::behaviour::read_cache::load::Announced;
use crate::kernel::Loan;
use crate::kernel::message::{Message, malformed};
use crate::object::Cx;
use crate::vector::object::{Object, Parked, Work};
use aurora_net::{Placement, Rank, Received};

impl Object {
    /// A header is here, and so many bytes follow: where they go.
    pub(crate) fn place(&mut self, from: Rank, message: Message, len: usize, cx: &mut Cx<'_>) -> Placement {
        match message {
            Message::Enter { epoch, opening, version, at_home, contains, made, list_follows, .. } => {
                let placement = match opening.window {
                    window if window.is_whole() => self.place_block(from, epoch, len, cx),
                    window => self.place_part(from, (epoch, window), len, cx),
                };
                let coming = matches!(placement, Placement::At(_));
                let said = Announced { version, at_home, contains, made, list_follows, coming };
                self.overhear(from, (epoch, opening), said);
                placement
            }
            Message::Forward { epoch, owner, .. } => self.place_forward(from, (epoch, owner), len, cx),
            Message::Edge { epoch, number, opening, mailbox, .. } => {
                self.place_edge(from, Exchange { epoch, number }, opening.as_ref(), (len, mailbox), cx)
            }
            _ => Placement::Buffer,
        }
    }

    /// Some of what it has placed has come.
    pub(crate) fn write_loan(&mut self, loan: &Loan, offset: usize, bytes: &[u8]) {
        let within = |base: usize, len: usize| {
            let end = offset.checked_add(bytes.len()).filter(|end| *end <= len)?;
            Some(base + offset..base + end)
        };
        match *loan {
            Loan::CacheIn { epoch, base, len, .. } => {
                if let Some((place, replica)) = within(base, len).zip(self.cache.find_loading(epoch)) {
                    replica.receive(place.start, bytes);
                }
            }
            Loan::EdgeIn { exchange, from, .. } => self.write_edge(from, exchange, offset, bytes),
            Loan::PartIn { epoch, base, len, .. } => {
                if let Some((place, part)) = within(base, len).zip(self.cache.parts.find(epoch)) {
                    part.replica.write(place.start, bytes);
                }
            }
            Loan::RoomIn { owner, epoch, len, .. } => {
                let room = self.block.home().and_then(|home| home.guests.room(owner));
                if let Some((place, room)) = within(0, len).zip(room.filter(|room| room.has_let_in(epoch))) {
                    room.write(place.start, bytes);
                }
            }
            _ => {}
        }
    }

    /// Bytes of what it has lent to be sent. False: it is no longer there.
    pub(crate) fn read_loan(&self, loan: &Loan, offset: usize, into: &mut [u8]) -> bool {
        match *loan {
            Loan::Block { base, .. } => self.block.copy(base + offset, into),
            Loan::CacheOut { serial, base, .. } => {
                let from = self.cache.bytes(serial).and_then(|bytes| bytes.get(base + offset..)?.get(..into.len()));
                from.map(|bytes| into.copy_from_slice(bytes)).is_some()
            }
            _ => false,
        }
    }

    /// What it has lent to be sent is needed no more.
    pub(crate) fn released(&mut self, loan: &Loan, cx: &mut Cx<'_>) {
        match *loan {
            Loan::Block { .. } => {
                self.block.back_from_transfer();
                cx.progress();
                self.advance(cx);
            }
            Loan::CacheOut { serial, .. } => self.cache.end_send(serial),
            _ => {}
        }
    }

    /// A transfer is whole.
    pub(crate) fn deliver(&mut self, from: Rank, message: Message, payload: Received, cx: &mut Cx<'_>) {
        match message {
            Message::Batch { epoch, seq, opening, op, .. } => {
                self.opened(from, epoch, &opening, cx);
                let work = Work::Batch { epoch, seq, op, acknowledge: true };
                self.work(Parked { from, work, payload }, cx);
                self.advance(cx);
            }
            Message::Enter { epoch, opening, version, at_home, contains, made, list_follows, .. } => {
                let said = Announced { version, at_home, contains, made, list_follows, coming: false };
                self.note_announcement(from, (epoch, &opening), said, cx);
                self.arrived(from, (epoch, &opening), payload, cx);
            }
            Message::Made { epoch, .. } => {
                let made = postcard::from_bytes::<Vec<(u32, u64)>>(payload.bytes());
                let fits = made.is_ok_and(|made| !cx.is_sound() || self.list_came(from, epoch, &made));
                if !fits {
                    return cx.fail_job(malformed(from));
                }
                self.advance(cx);
            }
            Message::Correct { epoch, version, contains, .. } => {
                let correction = (version, payload.into_vec());
                if cx.is_sound() && !self.corrected(from, epoch, correction, contains) {
                    return cx.fail_job(malformed(from));
                }
                self.carry_on(cx);
            }
            Message::Stand { epoch, .. } => {
                self.stand(from, epoch, payload.bytes(), cx);
                self.carry_on(cx);
            }
            Message::Forward { epoch, owner, version, .. } => {
                self.forwarded(from, (epoch, owner), version, payload, cx);
                self.carry_on(cx);
            }
            Message::BatchDone { .. } => {
                let outstanding = &mut self.outstanding[from.index()];
                *outstanding = outstanding.saturating_sub(1);
            }
            Message::End { epoch, opening, batches, op, .. } => {
                self.opened(from, epoch, &opening, cx);
                if cx.is_sound() {
                    let arrival = &mut self.ledger.record(epoch).from[from.index()];
                    arrival.complete = true;
                    arrival.batches = batches;
                }
                if !payload.bytes().is_empty() {
                    let Some(seq) = batches.checked_sub(1) else {
                        return cx.fail_job(malformed(from));
                    };
                    let work = Work::Batch { epoch, seq, op, acknowledge: false };
                    self.work(Parked { from, work, payload }, cx);
                }
                self.advance(cx);
            }
            Message::Edge { epoch, number, opening, .. } => {
                if let Some(opening) = &opening {
                    self.opened(from, epoch, opening, cx);
                }
                self.edge_came(from, Exchange { epoch, number }, opening, payload, cx);
            }
            // Of a vector. What it has sent later may have been here before, and that scope may be over.
            Message::Come { epoch, .. } if self.home().is_none() => self.ledger.has_entered(from, epoch),
            Message::Come { epoch, opening, .. } => {
                self.opened(from, epoch, &opening, cx);
                self.has_come(from, epoch, &opening);
                self.advance(cx);
            }
            Message::Part { epoch, opening, offers, contributes, .. } => {
                self.opened(from, epoch, &opening, cx);
                self.has_ended(from, epoch, offers, contributes.then(|| payload.into_vec()));
                self.advance(cx);
            }
            Message::Over { epoch, .. } => self.is_over(epoch, cx),
            Message::Spread { epoch, number, answered, .. } => {
                self.told(epoch, (number, answered), payload.bytes(), cx);
            }
            Message::Seen { epoch, seen, .. } => {
                self.has_seen(from, epoch, seen);
                self.advance(cx);
            }
            Message::Offer { epoch, seq, op, .. } => {
                let work = Work::Batch { epoch, seq, op: Some(op), acknowledge: false };
                self.work(Parked { from, work, payload }, cx);
                self.advance(cx);
            }
            _ => unreachable!("the kernel's own"),
        }
    }
}
