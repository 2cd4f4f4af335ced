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
use crate::object::{Cx, How, Loan, Loans, Malformed, Place};
use crate::race::AccessKind;
use crate::scope::Opening;
use crate::vector::core::VectorCore;
use crate::vector::protocol::{Delivered, Numbered, Protocol};
use crate::window::Window;
use crate::{Error, Kind, ObjectName, Site};
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
pub(crate) struct Edges {
    /// The HaloCaches that are open here or that a neighbour has entered earlier than this rank.
    halos: BTreeMap<Epoch, Surroundings>,
    /// The HaloCache whose exchange is under way, or was the last.
    current: Epoch,
    /// Memory of a HaloCache that has ended, for the next: touching fresh pages costs more than filling them.
    spare: Option<Surroundings>,
    /// Edges on their way into the halo of an exchange, and the neighbours that send them.
    loans: Loans<(Exchange, Rank)>,
}

/// The halo of a complete exchange.
pub(crate) struct Shown {
    pub(crate) array: Arc<dyn Storage>,
    /// Elements before the block, and behind it.
    pub(crate) reach: (usize, usize),
    /// By neighbours that use mailboxes: letters that have arrived, one for each refresh.
    pub(crate) letters: Arc<[LetterCount]>,
}

impl Default for Edges {
    fn default() -> Self {
        Edges { halos: BTreeMap::new(), current: 0, spare: None, loans: Loans::tagged(Self::NUMBER) }
    }
}

impl Numbered for Edges {
    const NUMBER: u8 = 2;
}

impl Protocol for Edges {
    fn kind(&self) -> Kind {
        Kind::Halo
    }

    /// The place for the edge of another rank. An edge with a mailbox stays in its buffer.
    fn place(&mut self, core: &mut VectorCore, from: Rank, header: &[u8], len: usize, cx: &Cx<'_>) -> Place {
        let Some(message) = HaloMessage::decode(header, core).filter(|message| !message.mailbox) else {
            return Place::Buffer;
        };
        let exchange = Exchange { epoch: message.epoch, number: message.number };
        let halo = message.entry.as_ref().map(|(_, halo)| *halo);
        match cx.is_sound() && self.admits_edge(core, from, (exchange, halo), len) {
            true => Place::At(self.loans.add((exchange, from))),
            false => Place::Discard,
        }
    }

    fn write(&mut self, core: &mut VectorCore, loan: Loan, offset: usize, bytes: &[u8]) {
        if let Some(&(exchange, from)) = self.loans.get(loan) {
            self.write_edge(core, from, exchange, (offset, bytes));
        }
    }

    fn deliver(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        header: &[u8],
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> Delivered {
        let message = HaloMessage::decode(header, core).ok_or(Malformed)?;
        self.edge_came(core, from, message, payload, cx);
        Ok(None)
    }

    /// The memory of the HaloCache is taken.
    fn entered(&mut self, core: &mut VectorCore, epoch: Epoch, _: &Opening, _: &mut Cx<'_>) {
        let record = core.ledger_mut().record(epoch);
        record.mine_complete = true;
        for (rank, arrival) in record.from.iter_mut().enumerate() {
            // Other ranks send nothing.
            let plan = self.halos.get(&epoch).map(|halo| &halo.plan);
            arrival.complete |= plan.is_none_or(|plan| plan.neighbour(Rank::new(rank)).is_none());
        }
    }

    fn awaits(&self, _: &VectorCore, _: u64) -> Vec<Rank> {
        self.halos.get(&self.current).into_iter().flat_map(Surroundings::awaited).collect()
    }

    fn doing(&self, _: &VectorCore, _: u64, name: &ObjectName) -> String {
        let number = self.halos.get(&self.current).map_or(0, |halo| halo.number);
        let action = if number == 0 { "opens" } else { "refreshes" };
        // Several HaloCaches may be open: the number tells them apart.
        format!("{action} a HaloCache of {name}, scope {} of it", self.current)
    }

    fn release_memory(&mut self, _: &mut VectorCore) {
        self.spare = None;
    }
}

impl Edges {
    /// The memory of the HaloCache of `epoch`, made on first mention. A neighbour may have made it for another halo.
    fn surroundings(&mut self, core: &VectorCore, epoch: Epoch, halo: Halo) -> &mut Surroundings {
        let Edges { halos, spare, .. } = self;
        halos.entry(epoch).or_insert_with(|| {
            let spare = spare.take_if(|spare| spare.halo == halo).and_then(Surroundings::anew);
            spare.unwrap_or_else(|| Surroundings::new(core, halo))
        })
    }

    /// True if an edge of `len` bytes is expected.
    fn admits_edge(
        &mut self,
        core: &VectorCore,
        from: Rank,
        (Exchange { epoch, number }, halo): (Exchange, Option<Halo>),
        len: usize,
    ) -> bool {
        if epoch > core.ledger().epoch
            && number == 0
            && let Some(halo) = halo
        {
            self.surroundings(core, epoch, halo);
        }
        self.halos.get_mut(&epoch).is_some_and(|halo| halo.wants(from, number, len, core.block().element))
    }

    fn write_edge(&mut self, core: &VectorCore, from: Rank, exchange: Exchange, (offset, bytes): (usize, &[u8])) {
        let halo = self.halos.get_mut(&exchange.epoch).filter(|halo| halo.is_due(exchange.number));
        if let Some(halo) = halo {
            halo.write(from, exchange.number, core.block().element, offset, bytes);
        }
    }

    /// Takes the next step of memory for the HaloCache that is entered next, between scopes; false once all is taken.
    pub(crate) fn take(&mut self, core: &VectorCore, halo: Halo, site: &Site, cx: &mut Cx<'_>) -> Result<bool, Error> {
        let surroundings = self.surroundings(core, core.ledger().epoch + 1, halo);
        if surroundings.halo != halo {
            // Entering will report the mismatch.
            return Ok(false);
        }
        cx.admit_copy(A_HALO, surroundings.size(), site)?;
        surroundings.take().map_err(|shortage| cx.no_memory(shortage, A_HALO, site))
    }

    /// Begins an exchange: sends every neighbour its edge, and copies elements of the own block into a periodic halo.
    pub(crate) fn push(
        &mut self,
        core: &mut VectorCore,
        Exchange { epoch, number }: Exchange,
        opening: Option<&Opening>,
        (reason, site): (&Reason, &Site),
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        cx.sound()?;
        let at = cx.checks().then(|| cx.order().now());
        if at.is_some() {
            // A race goes to all ranks: neighbours wait for these edges.
            let sent = self.halos.get(&epoch).map_or(Vec::new(), |halo| halo.sends());
            core.note_own(AccessKind::Read, Window::WHOLE, site, sent, cx)?;
            cx.release();
        }
        self.current = epoch;
        let halo = self.halos.get_mut(&epoch).expect("it was entered and has not ended");
        let element = core.block().element;
        let begun = core.block_mut().read(|block| halo.begin((number, at.is_none()), block, element, cx.outbox()));
        match begun.expect("a guard that exchanges edges does not hold the block") {
            Ok(edges) => {
                for ByMessage { to, edge, mailbox } in edges {
                    let entry = opening.cloned().map(|opening| (opening, halo.halo));
                    let message = HaloMessage { epoch, number, entry, mailbox, at };
                    // A rank needs an edge only once it is in the same exchange.
                    Self::send(to, message, edge.into(), How::default().on(reason).lazy(), cx);
                }
            }
            Err(shortage) => return Err(cx.no_memory(shortage, A_HALO, site)),
        }
        core.retry();
        Ok(())
    }

    /// The halo of the exchange under way, once all edges are here.
    pub(crate) fn poll(&mut self, core: &VectorCore, cx: &Cx<'_>) -> Option<Result<Shown, Error>> {
        if let Err(fault) = cx.sound() {
            return Some(Err(fault));
        }
        let (halo, element) = (self.halos.get_mut(&self.current)?, core.block().element);
        let is_complete = halo.take_letters(element) && core.ledger().is_settled(self.current);
        is_complete.then(|| Ok(halo.complete(element)))
    }

    /// Checking mode: orders this rank after its neighbours' accesses, before this exchange, to the elements that this
    /// rank shows or owns.
    pub(crate) fn seen(&mut self, core: &mut VectorCore, Exchange { epoch, number }: Exchange, cx: &Cx<'_>) {
        let (own, len) = (core.dist().range(cx.me()), core.dist().len());
        let Some(halo) = self.halos.get_mut(&epoch) else {
            return;
        };
        let seen: Vec<_> = halo.moments.extract_if(.., |(of, ..)| *of <= number).collect();
        let edges = |rank| halo.fills(rank, &own, len);
        let seen: Vec<_> = seen.into_iter().map(|(_, rank, at)| (rank, at, edges(rank))).collect();
        for (rank, at, mut ranges) in seen {
            ranges.push(own.clone());
            core.was_shown(rank, at, ranges);
        }
    }

    /// Ends a HaloCache on this rank: edges that arrive for it later are discarded.
    pub(crate) fn end(&mut self, epoch: Epoch) {
        if let Some(mut ended) = self.halos.remove(&epoch) {
            ended.close();
            self.spare = Some(ended);
        }
    }

    /// Takes the first edge of a neighbour that shares memory, and the mailbox behind it. False: malformed.
    fn edge_with_mailbox(
        &mut self,
        core: &VectorCore,
        from: Rank,
        (exchange, halo): (Exchange, Option<Halo>),
        edge: SharedView,
    ) -> bool {
        let admitted = exchange.number == 0 && self.admits_edge(core, from, (exchange, halo), edge.len());
        if admitted {
            self.write_edge(core, from, exchange, (0, &edge));
        }
        let halo = self.halos.get_mut(&exchange.epoch).filter(|_| admitted);
        halo.is_some_and(|halo| halo.keep_mailbox(from, edge))
    }

    fn edge_came(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        HaloMessage { epoch, number, entry, at, .. }: HaloMessage,
        payload: Received,
        cx: &mut Cx<'_>,
    ) {
        if let Some((opening, _)) = &entry {
            core.scopes_mut().opened(from, epoch, opening, cx);
        }
        let asked = entry.as_ref().map(|(_, halo)| *halo);
        let is_here = match payload {
            Received::Placed(token) => self.loans.end(Loan::of(token)).is_some(),
            Received::Shared(view) => {
                cx.is_sound() && self.edge_with_mailbox(core, from, (Exchange { epoch, number }, asked), view)
            }
            Received::Bytes(_) => false,
        };
        if !cx.is_sound() {
            return;
        }
        let Some(halo) = self.halos.get_mut(&epoch) else {
            if epoch > core.ledger().epoch {
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
        halo.note_arrival(from, number);
        halo.moments.extend(at.map(|at| (number, from, at)));
        if number == 0 && !core.ledger().is_settled(epoch) {
            core.ledger_mut().record(epoch).from[from.index()].complete = true;
        }
        core.retry();
    }
}

/// Memory for an edge. The receiver can read a short edge in place.
fn memory_for(len: usize, to: Rank, out: &Outbox) -> Result<Buffer, Shortage> {
    /// Shorter edges are allocated without asking whether there is memory.
    const SHORT: usize = 1 << 20;
    Ok(if len < SHORT { out.buffer(to, len) } else { Buffer::own(zeros(len)?) })
}
