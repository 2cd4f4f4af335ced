//! The edges of blocks that neighbours push to each other for a HaloCache; see the README of `halo/`.
//!
//! An *exchange* is the entry of a HaloCache or one of its refreshes. A rank waits for the ranks to which it sends,
//! so a neighbour that is ahead waits in its next exchange: an arriving edge belongs to the exchange under way or to
//! the next. The memory has a half for each of these two. The guard shows one half; the next exchange writes directly
//! into the other half; during an exchange the guard shows neither half.
//!
//! The first edge of a HaloCache may arrive before this rank enters the scope. The edge names the halo, so the memory
//! is taken then, as far as it is filled. A mailbox comes with a first edge, and is freed when both ranks have ended
//! the scope.

mod surroundings;

use self::surroundings::{ByMessage, Surroundings};
use crate::behaviour::halo::geometry::Halo;
use crate::behaviour::halo::message::HaloMessage;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::kernel::message::malformed;
use crate::memory::{Shortage, Storage, zeros};
use crate::object::{Cx, Place};
use crate::race::AccessKind;
use crate::scope::{Opening, Scopes, Served};
use crate::vector::loans::VectorLoan;
use crate::vector::machine::Vector;
use crate::vector::message::Message;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::{Buffer, LetterCount, Outbox, Rank, Received, SharedView};
use std::collections::BTreeMap;
use std::sync::Arc;

const A_HALO: &str = "a HaloCache";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) epoch: Epoch,
    /// 0 at the entry.
    pub(crate) number: u64,
}

/// The state of the HaloCaches of one object on this rank.
#[derive(Default)]
pub(crate) struct Edges {
    /// The HaloCaches that are open here or that a neighbour has entered earlier than this rank.
    halos: BTreeMap<Epoch, Surroundings>,
    /// The HaloCache whose exchange is under way, or was the last.
    current: Epoch,
    /// Memory of a HaloCache that has ended, for the next: touching fresh pages costs more than filling them.
    spare: Option<Surroundings>,
}

/// The halo of a complete exchange.
pub(crate) struct Shown {
    pub(crate) array: Arc<dyn Storage>,
    /// Elements before the block, and behind it.
    pub(crate) reach: (usize, usize),
    /// By neighbours that use mailboxes: letters that have arrived, one for each refresh.
    pub(crate) letters: Arc<[LetterCount]>,
}

impl Edges {
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Rank> + '_ {
        self.halos.get(&self.current).into_iter().flat_map(Surroundings::awaited)
    }

    /// The exchange under way, or the last one.
    pub(crate) fn exchange(&self) -> Exchange {
        let number = self.halos.get(&self.current).map_or(0, |halo| halo.number);
        Exchange { epoch: self.current, number }
    }

    pub(crate) fn release(&mut self) {
        self.spare = None;
    }
}

impl Vector {
    /// The memory of the HaloCache of `epoch`, made on first mention. A neighbour may have made it for another halo.
    fn surroundings(&mut self, epoch: Epoch, halo: Halo) -> &mut Surroundings {
        let (dist, me, element, fresh) = (&self.dist, self.scopes.ledger.me(), self.block.element, self.fresh.clone());
        let Edges { halos, spare, .. } = &mut self.halo;
        halos.entry(epoch).or_insert_with(|| {
            let spare = spare.take_if(|spare| spare.halo == halo).and_then(Surroundings::anew);
            spare.unwrap_or_else(|| Surroundings::new(dist, me, halo, element, &*fresh))
        })
    }

    /// True if an edge of `len` bytes is expected.
    fn admits(&mut self, from: Rank, exchange: Exchange, halo: Option<Halo>, len: usize) -> bool {
        let Exchange { epoch, number } = exchange;
        if epoch > self.scopes.ledger.epoch
            && number == 0
            && let Some(halo) = halo
        {
            self.surroundings(epoch, halo);
        }
        let element = self.block.element;
        self.halo.halos.get_mut(&epoch).is_some_and(|halo| halo.wants(from, number, len, element))
    }

    pub(crate) fn write_edge(&mut self, from: Rank, exchange: Exchange, offset: usize, bytes: &[u8]) {
        let element = self.block.element;
        let halo = self.halo.halos.get_mut(&exchange.epoch).filter(|halo| halo.is_due(exchange.number));
        if let Some(halo) = halo {
            halo.write(from, exchange.number, element, offset, bytes);
        }
    }
}

impl Vector {
    /// Takes the next step of memory for the HaloCache that is entered next, between scopes; false once all is taken.
    pub(crate) fn take_halo(&mut self, halo: Halo, site: &Site, cx: &mut Cx<'_>) -> Result<bool, Error> {
        let epoch = self.scopes.ledger.epoch + 1;
        let surroundings = self.surroundings(epoch, halo);
        if surroundings.halo != halo {
            // Entering will report the mismatch.
            return Ok(false);
        }
        let size = surroundings.size();
        cx.admit_copy(A_HALO, size, site)?;
        let surroundings = self.surroundings(epoch, halo);
        surroundings.take().map_err(|shortage| cx.no_memory(shortage, A_HALO, site))
    }

    /// Enters a HaloCache whose memory is taken.
    pub(crate) fn enter_halo(&mut self, opening: &Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        let epoch = self.enter(opening.clone(), cx)?;
        let Vector { scopes: Scopes { ledger, .. }, halo: edges, .. } = self;
        let record = ledger.record(epoch);
        record.mine_complete = true;
        for (rank, arrival) in record.from.iter_mut().enumerate() {
            // Other ranks send nothing.
            let plan = edges.halos.get(&epoch).map(|halo| &halo.plan);
            arrival.complete |= plan.is_none_or(|plan| plan.neighbour(Rank::new(rank)).is_none());
        }
        Ok(epoch)
    }

    /// Begins an exchange: sends every neighbour its edge, and copies elements of the own block into a periodic halo.
    pub(crate) fn push_edges(
        &mut self,
        Exchange { epoch, number }: Exchange,
        opening: Option<&Opening>,
        (reason, site): (&Reason, &Site),
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        cx.sound()?;
        let at = cx.core.modes.check.then(|| cx.core.order.now());
        if at.is_some() {
            // A race goes to all ranks: neighbours wait for these edges.
            let sent = self.halo.halos.get(&epoch).map_or(Vec::new(), |halo| halo.sends());
            self.note_own(AccessKind::Read, Window::WHOLE, site, sent, cx)?;
            cx.release();
        }
        let Vector { block, halo: edges, .. } = self;
        edges.current = epoch;
        let halo = edges.halos.get_mut(&epoch).expect("it was entered and has not ended");
        let element = block.element;
        let begun = block.read(|block| halo.begin((number, at.is_none()), block, element, cx.out));
        match begun.expect("a guard that exchanges edges does not hold the block") {
            Ok(edges) => {
                for ByMessage { to, edge, mailbox } in edges {
                    let entry = opening.cloned().map(|opening| (opening, halo.halo));
                    let message = Message::Halo(HaloMessage { epoch, number, entry, mailbox, at });
                    message.send(reason, to, edge.into(), cx);
                }
            }
            Err(shortage) => return Err(cx.no_memory(shortage, A_HALO, site)),
        }
        self.scopes.has_changed = true;
        Ok(())
    }

    /// The halo of the exchange under way, once all edges are here.
    pub(crate) fn poll_edges(&mut self, cx: &Cx<'_>) -> Option<Result<Shown, Error>> {
        if let Err(fault) = cx.sound() {
            return Some(Err(fault));
        }
        let Vector { scopes: Scopes { ledger, .. }, halo: edges, block, .. } = self;
        let halo = edges.halos.get_mut(&edges.current)?;
        let is_complete = halo.take_letters(block.element) && ledger.is_settled(edges.current);
        is_complete.then(|| Ok(halo.complete(block.element)))
    }

    /// Checking mode: orders this rank after its neighbours' accesses, before this exchange, to the elements that this
    /// rank shows or owns.
    pub(crate) fn edges_seen(&mut self, Exchange { epoch, number }: Exchange, cx: &Cx<'_>) {
        let (own, len) = (self.dist.range(cx.me()), self.dist.len());
        let Some(halo) = self.halo.halos.get_mut(&epoch) else {
            return;
        };
        let seen: Vec<_> = halo.moments.extract_if(.., |(of, ..)| *of <= number).collect();
        let edges = |rank| halo.fills(rank, &own, len);
        let seen: Vec<_> = seen.into_iter().map(|(_, rank, at)| (rank, at, edges(rank))).collect();
        for (rank, at, mut ranges) in seen {
            ranges.push(own.clone());
            self.was_shown(rank, at, ranges);
        }
    }

    /// Ends a HaloCache on this rank: edges that arrive for it later are discarded.
    pub(crate) fn end_halo(&mut self, epoch: Epoch) {
        if let Some(mut ended) = self.halo.halos.remove(&epoch) {
            ended.close();
            self.halo.spare = Some(ended);
        }
    }

    /// The place for the edge of another rank. An edge with a mailbox stays in its buffer.
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

    /// Takes the first edge of a neighbour that shares memory, and the mailbox behind it. False: malformed.
    fn edge_with_mailbox(&mut self, from: Rank, exchange: Exchange, halo: Option<Halo>, edge: SharedView) -> bool {
        let admitted = exchange.number == 0 && self.admits(from, exchange, halo, edge.len());
        if admitted {
            self.write_edge(from, exchange, 0, &edge);
        }
        let halo = self.halo.halos.get_mut(&exchange.epoch).filter(|_| admitted);
        halo.is_some_and(|halo| halo.keep_mailbox(from, edge))
    }

    pub(crate) fn edge_came(
        &mut self,
        from: Rank,
        HaloMessage { epoch, number, entry, at, .. }: HaloMessage,
        payload: Received,
        cx: &mut Cx<'_>,
    ) {
        if let Some((opening, _)) = &entry {
            self.scopes.opened(from, epoch, opening, cx);
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
        let Vector { halo: edges, scopes: Scopes { ledger, .. }, .. } = self;
        let Some(halo) = edges.halos.get_mut(&epoch) else {
            if epoch > ledger.epoch {
                cx.fail_job(malformed(from));
            }
            // Otherwise the scope has ended here.
            return;
        };
        if let (Some(shortage), Some((opening, _))) = (halo.short().cloned(), &entry) {
            return drop(cx.no_memory(shortage, A_HALO, &opening.site));
        }
        if !is_here {
            // A neighbour's edge, still arriving, made this for another halo: its opening will report the mismatch.
            if asked.is_none_or(|asked| asked == halo.halo) {
                cx.fail_job(malformed(from));
            }
            return;
        }
        halo.came(from, number);
        halo.moments.extend(at.map(|at| (number, from, at)));
        if number == 0 && !ledger.is_settled(epoch) {
            ledger.record(epoch).from[from.index()].complete = true;
        }
        self.scopes.has_changed = true;
    }
}

/// Memory for an edge. The receiver can read a short edge in place.
fn memory_for(len: usize, to: Rank, out: &Outbox) -> Result<Buffer, Shortage> {
    /// Shorter edges are allocated without asking whether there is memory.
    const SHORT: usize = 1 << 20;
    Ok(if len < SHORT { out.buffer(to, len) } else { Buffer::own(zeros(len)?) })
}
