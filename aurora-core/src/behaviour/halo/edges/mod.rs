//! The edges of blocks that neighbours push to each other for a HaloCache.
//!
//! An *exchange* is the entry of such a scope or one of its refreshes. In each a rank sends every neighbour its edge as
//! it is then, and waits for theirs of the same number; it asks for nothing. Who needs the edge of a rank sends it one,
//! so a neighbour that is ahead waits for us in its next exchange. An edge that comes is hence of the exchange under
//! way, or of the next:
//!
//! * Each HaloCache that is open has memory for two exchanges, taken before this rank says that it enters. The guard
//!   shows one half, the next exchange goes straight into the other; and while one is under way, the guard shows
//!   neither.
//! * The first edge of a HaloCache may come before this rank enters it. It says which halo is meant, so that its memory
//!   is taken then, as far as it is filled.
//!
//! To a neighbour that shares our memory the first edge comes in a buffer with a *mailbox* behind it, where the edge is
//! not too long, and the edges of all refreshes go through that as letters: no message, and nothing for its kernel to
//! do before its program comes to the same exchange. A mailbox has room for as many letters as a neighbour can be
//! ahead. It goes when both have ended the scope.
//!
//! Several HaloCaches of one object may be open; what comes tells by its epoch which is meant. Who has no neighbours
//! waits for nobody, and may be ahead as far as it likes: it sends nothing that others would have to keep. That it has
//! entered the same as they is found out at the next barrier, or at what it says next (`epoch/`).

mod surroundings;

use self::surroundings::{ByMessage, Surroundings};
use crate::behaviour::halo::geometry::Halo;
use crate::behaviour::halo::message::HaloMessage;
use crate::epoch::Opening;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::kernel::message::malformed;
use crate::memory::{Shortage, Storage, zeros};
use crate::object::{Cx, Place};
use crate::vector::loans::VectorLoan;
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use crate::{Error, Site};
use aurora_net::{Buffer, LetterCount, Outbox, Rank, Received, SharedView};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What its memory is for.
const A_HALO: &str = "a HaloCache";

/// The entry of a HaloCache, or one of its refreshes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) epoch: Epoch,
    /// 0 at the entry.
    pub(crate) number: u64,
}

/// What one rank knows of the HaloCaches of one object.
#[derive(Default)]
pub(crate) struct Edges {
    /// Those that are open here, and those that a neighbour has entered before us.
    halos: BTreeMap<Epoch, Surroundings>,
    /// The one whose exchange is under way, or was the last.
    current: Epoch,
    /// Memory of one that has ended, for the next: the first touch of fresh pages costs more than what they are filled
    /// with.
    spare: Option<Surroundings>,
}

/// The halo of an exchange that is complete.
pub(crate) struct Shown {
    pub(crate) array: Arc<dyn Storage>,
    /// Elements before the block, and behind it.
    pub(crate) reach: (usize, usize),
    /// How many letters have come from each neighbour that puts some: one for each refresh.
    pub(crate) letters: Arc<[LetterCount]>,
}

impl Edges {
    /// The neighbours whose edges are missing in the exchange under way.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Rank> + '_ {
        self.halos.get(&self.current).into_iter().flat_map(Surroundings::awaited)
    }

    /// The exchange under way, or the last one.
    pub(crate) fn exchange(&self) -> Exchange {
        let number = self.halos.get(&self.current).map_or(0, |halo| halo.number);
        Exchange { epoch: self.current, number }
    }

    /// Gives back the memory of scopes that have ended.
    pub(crate) fn release(&mut self) {
        self.spare = None;
    }
}

impl Vector {
    /// The memory of the HaloCache of `epoch`, made if it is not there; of another halo, if a neighbour has entered
    /// that.
    fn surroundings(&mut self, epoch: Epoch, halo: Halo) -> &mut Surroundings {
        let (dist, me, element, fresh) = (&self.dist, self.ledger.me(), self.block.element, self.fresh.clone());
        let Edges { halos, spare, .. } = &mut self.halo;
        halos.entry(epoch).or_insert_with(|| {
            let spare = spare.take_if(|spare| spare.halo == halo).and_then(Surroundings::anew);
            spare.unwrap_or_else(|| Surroundings::new(dist, me, halo, element, &*fresh))
        })
    }

    /// Whether an edge of so many bytes can be put where it belongs.
    fn admits(&mut self, from: Rank, exchange: Exchange, halo: Option<Halo>, len: usize) -> bool {
        let Exchange { epoch, number } = exchange;
        if epoch > self.ledger.epoch
            && number == 0
            && let Some(halo) = halo
        {
            self.surroundings(epoch, halo);
        }
        let element = self.block.element;
        self.halo.halos.get_mut(&epoch).is_some_and(|halo| halo.wants(from, number, len, element))
    }

    /// Some of an edge has arrived.
    pub(crate) fn write_edge(&mut self, from: Rank, exchange: Exchange, offset: usize, bytes: &[u8]) {
        let element = self.block.element;
        let halo = self.halo.halos.get_mut(&exchange.epoch).filter(|halo| halo.is_due(exchange.number));
        if let Some(halo) = halo {
            halo.write(from, exchange.number, element, offset, bytes);
        }
    }
}

impl Vector {
    /// Takes some memory for the HaloCache that is entered next, while earlier scopes are over; false once all is
    /// taken.
    pub(crate) fn take_halo(&mut self, halo: Halo, site: &Site, cx: &mut Cx<'_>) -> Result<bool, Error> {
        let epoch = self.ledger.epoch + 1;
        let surroundings = self.surroundings(epoch, halo);
        if surroundings.halo != halo {
            // Which is an error as soon as we say what we enter.
            return Ok(false);
        }
        let size = surroundings.size();
        cx.admit_copy(A_HALO, size, site)?;
        let surroundings = self.surroundings(epoch, halo);
        surroundings.take().map_err(|shortage| cx.no_memory(shortage, A_HALO, site))
    }

    /// Enters a HaloCache, for which memory was taken: its first exchange may begin.
    pub(crate) fn enter_halo(&mut self, opening: &Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        let epoch = self.enter(opening.clone(), cx)?;
        let Vector { ledger, halo: edges, .. } = self;
        let record = ledger.record(epoch);
        record.mine_complete = true;
        for (rank, arrival) in record.from.iter_mut().enumerate() {
            // From all others nothing is to come.
            let plan = edges.halos.get(&epoch).map(|halo| &halo.plan);
            arrival.complete |= plan.is_none_or(|plan| plan.neighbour(Rank::new(rank)).is_none());
        }
        Ok(epoch)
    }

    /// Sends every neighbour its edge for an exchange, at the entry together with the word what is entered, and puts
    /// into the halo what comes around the ends to ourselves.
    pub(crate) fn push_edges(
        &mut self,
        Exchange { epoch, number }: Exchange,
        opening: Option<&Opening>,
        (reason, site): (&Reason, &Site),
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        cx.sound()?;
        // Who waits for our edges must hear of it.
        if let Some(error) = self.unflushed(&cx.frame.name, cx.me(), 0..self.block.len()) {
            let error = error.read_by(cx.me(), reason.action, site);
            cx.fail(error.clone());
            return Err(error);
        }
        let Vector { block, halo: edges, .. } = self;
        edges.current = epoch;
        let halo = edges.halos.get_mut(&epoch).expect("it was entered and has not ended");
        let element = block.element;
        let begun = block.read(|block| halo.begin(number, block, element, cx.out));
        match begun.expect("its own guard has given it back") {
            Ok(edges) => {
                for ByMessage { to, edge, mailbox } in edges {
                    let entry = opening.cloned().map(|opening| (opening, halo.halo));
                    let message = Message::Halo(HaloMessage { epoch, number, entry, mailbox });
                    message.send(reason, to, edge.into(), cx);
                }
            }
            Err(shortage) => return Err(cx.no_memory(shortage, A_HALO, site)),
        }
        self.has_changed = true;
        Ok(())
    }

    /// The halo of the exchange under way, once all edges are here.
    pub(crate) fn poll_edges(&mut self, cx: &Cx<'_>) -> Option<Result<Shown, Error>> {
        if let Err(fault) = cx.sound() {
            return Some(Err(fault));
        }
        let Vector { ledger, halo: edges, block, .. } = self;
        let halo = edges.halos.get_mut(&edges.current)?;
        let is_complete = halo.take_letters(block.element) && ledger.is_settled(edges.current);
        is_complete.then(|| Ok(halo.complete(block.element)))
    }

    /// A HaloCache has ended on this rank: what comes for it now, nobody will see.
    pub(crate) fn end_halo(&mut self, epoch: Epoch) {
        if let Some(mut ended) = self.halo.halos.remove(&epoch) {
            ended.close();
            self.halo.spare = Some(ended);
        }
    }

    /// Where the edge of another rank goes. One with a mailbox stays where it is.
    pub(crate) fn place_edge(&mut self, from: Rank, message: &HaloMessage, len: usize, cx: &Cx<'_>) -> Place {
        if message.mailbox {
            return Place::Buffer;
        }
        let exchange = Exchange { epoch: message.epoch, number: message.number };
        let halo = message.entry.as_ref().map(|(_, halo)| *halo);
        match cx.is_sound() && self.admits(from, exchange, halo, len) {
            true => Place::At(self.loans.add(VectorLoan::EdgeIn { exchange, from })),
            false => Place::Discard,
        }
    }

    /// The first edge of a neighbour that shares our memory, and the mailbox behind it. False: it is not wanted.
    fn edge_with_mailbox(&mut self, from: Rank, exchange: Exchange, halo: Option<Halo>, edge: SharedView) -> bool {
        let admitted = exchange.number == 0 && self.admits(from, exchange, halo, edge.len());
        if admitted {
            self.write_edge(from, exchange, 0, &edge);
        }
        let halo = self.halo.halos.get_mut(&exchange.epoch).filter(|_| admitted);
        halo.is_some_and(|halo| halo.keep_mailbox(from, edge))
    }

    /// It is here.
    pub(crate) fn edge_came(
        &mut self,
        from: Rank,
        HaloMessage { epoch, number, entry, .. }: HaloMessage,
        payload: Received,
        cx: &mut Cx<'_>,
    ) {
        if let Some((opening, _)) = &entry {
            self.opened(from, epoch, opening, cx);
        }
        let asked = entry.as_ref().map(|(_, halo)| *halo);
        let is_here = match payload {
            Received::Placed(token) => matches!(self.end_loan(token), Some(VectorLoan::EdgeIn { .. })),
            Received::Shared(view) => {
                cx.is_sound() && self.edge_with_mailbox(from, Exchange { epoch, number }, asked, view)
            }
            Received::Bytes(_) => false,
        };
        if !cx.is_sound() {
            return;
        }
        let Vector { halo: edges, ledger, .. } = self;
        let Some(halo) = edges.halos.get_mut(&epoch) else {
            if epoch > ledger.epoch {
                cx.fail_job(malformed(from));
            }
            // Else it has ended here.
            return;
        };
        if let (Some(shortage), Some((opening, _))) = (halo.short().cloned(), &entry) {
            return drop(cx.no_memory(shortage, A_HALO, &opening.site));
        }
        if !is_here {
            // Made for another neighbour, the rest of whose edge is still to come, and with it that they disagree.
            if asked.is_none_or(|asked| asked == halo.halo) {
                cx.fail_job(malformed(from));
            }
            return;
        }
        halo.came(from, number);
        if number == 0 && !ledger.is_settled(epoch) {
            ledger.record(epoch).from[from.index()].complete = true;
        }
        self.has_changed = true;
    }
}

/// Memory for an edge of so many bytes, which its receiver can read where it is short enough.
fn memory_for(len: usize, to: Rank, out: &Outbox) -> Result<Buffer, Shortage> {
    /// Below this memory is not looked at.
    const SHORT: usize = 1 << 20;
    Ok(if len < SHORT { out.buffer(to, len) } else { Buffer::own(zeros(len)?) })
}
