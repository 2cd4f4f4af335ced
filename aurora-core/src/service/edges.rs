//! The edges of blocks that neighbours push to each other for a HaloCache.
//!
//! An *exchange* is the entry of such a scope or one of its refreshes. In each a rank sends every neighbour its edge as it is then, and
//! waits for theirs of the same number; it asks for nothing. Who needs the edge of a rank sends it one, so a neighbour that
//! is ahead waits for us in its next exchange: no more than two of its edges are here at a time, whichever scopes of the object
//! they belong to, and each stays until it is shown. Who has no neighbours waits for nobody, and may be ahead as far as it
//! likes: it sends nothing. That it has entered the same as the others is found out at the next barrier.

use super::{Reason, Service};
use crate::Error;
use crate::halo::{Neighbour, Plan};
use crate::message::{Epoch, Message, ObjectId, Opening, malformed};
use aurora_net::{Outbox, Payload, Rank};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The entry of a HaloCache, or one of its refreshes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) epoch: Epoch,
    /// 0 at the entry.
    pub(crate) number: u64,
}

/// The edges that have come to one rank for one object.
#[derive(Default)]
pub(crate) struct Edges {
    /// Those that are not shown yet.
    came: BTreeMap<(Exchange, Rank), Vec<u8>>,
    /// The HaloCaches that this rank has entered and not ended.
    open: BTreeSet<Epoch>,
    /// The exchange under way, or the last one, and with whom.
    pub(crate) current: Exchange,
    neighbours: Vec<Rank>,
}

impl Edges {
    /// The neighbours whose edges are missing.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Rank> + '_ {
        self.neighbours.iter().copied().filter(|rank| !self.came.contains_key(&(self.current, *rank)))
    }
}

impl Service {
    /// Enters a HaloCache: its first exchange may begin.
    pub(crate) fn enter_halo(
        &mut self,
        id: ObjectId,
        opening: &Opening,
        plan: &Plan,
        out: &mut Outbox,
    ) -> Result<Epoch, Error> {
        let epoch = self.enter(id, opening.clone(), out)?;
        let object = self.objects.get_mut(&id).expect("just entered");
        object.edges.open.insert(epoch);
        let record = object.ledger.record(epoch);
        record.mine_complete = true;
        for (rank, arrival) in record.from.iter_mut().enumerate() {
            // From all others nothing is to come.
            arrival.complete |= !plan.neighbours.iter().any(|neighbour| neighbour.rank == rank);
        }
        Ok(epoch)
    }

    /// Sends every neighbour its edge for an exchange, at the entry together with the word what is entered, and puts into the
    /// halo what comes around the ends to ourselves.
    pub(crate) fn push_edges(
        &mut self,
        id: ObjectId,
        exchange: Exchange,
        (plan, halo): (&Plan, &mut [u8]),
        (opening, reason): (Option<&Opening>, &Reason),
        out: &mut Outbox,
    ) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        object.edges.current = exchange;
        object.edges.neighbours.clear();
        object.edges.neighbours.extend(plan.neighbours.iter().map(|neighbour| neighbour.rank));
        let element = object.block.element;
        let in_bytes = |range: &Range<usize>| range.start * element..range.end * element;
        let edges = object.block.read(|block| {
            for (from, at) in &plan.around {
                let to = at * element..(at + from.len()) * element;
                halo[to].copy_from_slice(&block[in_bytes(from)]);
            }
            let edge = |neighbour: &Neighbour| -> Vec<u8> {
                let parts: Vec<&[u8]> = neighbour.sends.iter().map(|range| &block[in_bytes(range)]).collect();
                parts.concat()
            };
            plan.neighbours.iter().map(edge).collect::<Vec<_>>()
        });
        let edges = edges.expect("its own guard has given it back");
        let Exchange { epoch, number } = exchange;
        let message = Message::Edge { object: id, epoch, number, opening: opening.cloned() };
        for (neighbour, edge) in plan.neighbours.iter().zip(edges) {
            self.mail.post_for(out, reason, neighbour.rank, &message, Payload::Bytes(edge.into()));
        }
        self.advance(id, out);
    }

    /// Puts the neighbours' edges into the halo, once all are here.
    pub(crate) fn poll_edges(
        &mut self,
        id: ObjectId,
        (plan, halo): (&Plan, &mut [u8]),
        out: &mut Outbox,
    ) -> Option<Result<(), Error>> {
        let object = self.objects.get_mut(&id)?;
        if let Some(fault) = &object.fault {
            return Some(Err(fault.clone()));
        }
        if object.edges.awaited().next().is_some() || object.ledger.settled < object.edges.current.epoch {
            return None;
        }
        let element = object.block.element;
        for Neighbour { rank, fills, .. } in &plan.neighbours {
            let edge = object.edges.came.remove(&(object.edges.current, *rank)).expect("none is awaited");
            if edge.len() != element * fills.iter().map(ExactSizeIterator::len).sum::<usize>() {
                let error = malformed(*rank);
                self.fail(None, error.clone(), out);
                return Some(Err(error));
            }
            let mut rest = &edge[..];
            for place in fills {
                let (part, after) = rest.split_at(place.len() * element);
                halo[place.start * element..place.end * element].copy_from_slice(part);
                rest = after;
            }
            out.recycle(edge);
        }
        Some(Ok(()))
    }

    /// A HaloCache has ended on this rank: what comes for it now, nobody will see.
    pub(crate) fn end_halo(&mut self, id: ObjectId, epoch: Epoch) {
        if let Some(object) = self.objects.get_mut(&id) {
            object.edges.open.remove(&epoch);
            object.edges.came.retain(|(exchange, _), _| exchange.epoch != epoch);
        }
    }

    /// The edge of another rank.
    pub(super) fn edge_came(&mut self, id: ObjectId, from: Rank, exchange: Exchange, edge: Vec<u8>, out: &mut Outbox) {
        let Some(object) = self.objects.get_mut(&id) else {
            return;
        };
        // Of a scope that has ended here it is of no use.
        if exchange.epoch > object.ledger.epoch || object.edges.open.contains(&exchange.epoch) {
            object.edges.came.insert((exchange, from), edge);
            if exchange.number == 0 && exchange.epoch > object.ledger.settled {
                object.ledger.record(exchange.epoch).from[from.index()].complete = true;
            }
        }
        self.advance(id, out);
    }
}
