//! A vector as its rank's kernel knows it: its block, its scopes, and its protocols.

use super::apply::{Access, Apply};
use super::block::Block;
use super::check::{Checker, Stamp};
use super::incast::IncastGuard;
use super::loans::VectorLoan;
use super::message::{Asked, Request};
use super::writes::Writes;
use crate::behaviour::halo::edges::Edges;
use crate::behaviour::paged::protocol::Paging;
use crate::behaviour::read_cache::load::Load;
use crate::distribution::Distribution;
use crate::element::Element;
use crate::ids::CallId;
use crate::kernel::Reason;
use crate::kernel::asking::{Asking, When};
use crate::kernel::nodes::Nodes;
use crate::memory::node::home::Home;
use crate::memory::{Direct, Fresh, OWN, READ, WRITE};
use crate::object::{Cx, How, Loans, OpenGuard};
use crate::operation::Operations;
use crate::ops::OpId;
use crate::scope::{Ledger, Scopes, Work};
use aurora_net::{Payload, Rank, Received, Token};
use std::sync::Arc;

/// A piece of work for a rank's block.
#[derive(Debug)]
pub(crate) enum VectorWork {
    Call(Asked),
    /// A batch of writes, or of updates by an operation.
    Batch(Option<OpId>),
    /// A partial copy in the node's shared memory, of which the first `folded` elements of this block are done.
    Partial {
        op: OpId,
        folded: usize,
    },
    /// Changes of pages of this block, before sync number `sync` of the scope.
    Flush {
        sync: u64,
    },
}

pub(crate) struct Vector {
    pub(crate) dist: Distribution,
    pub(crate) block: Block,
    /// Memory that the transport reads or writes at this moment.
    pub(crate) loans: Loans<VectorLoan>,
    /// Checking mode: the accesses of all ranks to the block.
    pub(crate) check: Option<Box<Checker>>,
    /// Makes memory for a copy with the given number of elements.
    pub(crate) fresh: Arc<dyn Fn(usize) -> Fresh + Send + Sync>,
    pub(crate) ops: Operations<Apply>,
    pub(crate) access: Access,
    pub(crate) scopes: Scopes<Self>,
    /// The one-sided writes.
    pub(crate) writes: Writes,
    /// The protocol of loads: ReadCaches.
    pub(crate) load: Load,
    /// The protocol of edges: HaloCaches.
    pub(crate) halo: Edges,
    /// The protocol of pages, while a scope of pages is not completed.
    pub(crate) pages: Option<Box<Paging>>,
    /// The ranks that share memory.
    pub(crate) nodes: Arc<Nodes>,
    /// Holds back bulk reads that come at once; only between nodes, because only a switch overflows.
    pub(crate) incast: Option<IncastGuard<(Work<VectorWork>, Received)>>,
}

impl Vector {
    /// Sets anew the accesses to the block that the calling thread and other ranks may make without its kernel.
    pub(crate) fn refresh_permit(&mut self, cx: &Cx<'_>) {
        self.set_permit(cx.core.is_usable() && cx.is_sound(), &cx.frame.open);
    }

    /// As [`refresh_permit`](Self::refresh_permit), with these guards open on this rank. If the object is not `usable`,
    /// nothing is permitted.
    pub(super) fn set_permit(&mut self, usable: bool, open: &[OpenGuard]) {
        let Ledger { epoch, settled, .. } = self.scopes.ledger;
        if !usable {
            self.block.close();
        }
        if self.block.permit.take_written() {
            self.block.version += 1;
        }
        self.block.mend();
        self.block.reopen(settled);
        // Checking mode: every access goes through the kernel.
        let direct = usable && self.check.is_none();
        let readable = direct && settled >= epoch && !open.iter().any(|guard| guard.mutable);
        let may = [
            (READ, readable),
            (OWN, readable && (self.block.home().is_none() || self.block.is_at_home())),
            (WRITE, readable && open.is_empty()),
        ];
        let may = may.into_iter().filter(|(_, may)| *may).map(|(flag, _)| flag).sum();
        let load = self.block.home().map_or(0, Home::load);
        self.block.permit.set(epoch, load, may);
    }

    /// Direct access to single elements: only this rank's if `own`, else also elements of ranks that share memory.
    pub(crate) fn direct<T: Element>(&self, own: bool) -> Direct<T> {
        let me = self.scopes.ledger.me();
        let (permit, range) = (self.block.permit.clone(), self.dist.range(me));
        match self.block.home() {
            Some(home) => {
                let position = |rank| match self.nodes.same_node(rank, me) && (rank == me || !own) {
                    true => self.nodes.position(rank) as u32,
                    false => u32::MAX,
                };
                let positions = (0..self.nodes.size()).map(|rank| position(Rank::new(rank))).collect();
                home.sharing().direct(permit, range, self.dist.len(), positions)
            }
            None => {
                let block = self.block.storage().expect("nobody has borrowed it yet");
                Direct::to(permit, block, range, self.nodes.size() == 1)
            }
        }
    }

    /// Sends a request, which the owner serves after the scopes that this rank has entered before.
    pub(crate) fn ask(
        &self,
        (to, reason, when): (Rank, &Reason, When),
        request: Request,
        payload: impl Into<Payload>,
        cx: &mut Cx<'_>,
    ) -> CallId {
        self.ask_into((to, reason, when), request, payload, None, cx)
    }

    /// As [`ask`](Self::ask). The answer goes to the memory of `landing`.
    pub(crate) fn ask_into(
        &self,
        (to, reason, when): (Rank, &Reason, When),
        request: Request,
        payload: impl Into<Payload>,
        landing: Option<Token>,
        cx: &mut Cx<'_>,
    ) -> CallId {
        let epoch = self.comes_after(request.window());
        let site = reason.site.as_ref().unwrap_or(&cx.frame.name.made_at);
        let stamp = self.check.as_ref().map(|check| Box::new(Stamp::here(check, to, site, cx)));
        self.ask_stamped((to, reason, when), Asked { epoch, request, stamp }, payload, landing, cx)
    }

    /// As [`ask`](Self::ask), with a stamp of the caller.
    pub(crate) fn ask_stamped(
        &self,
        (to, reason, when): (Rank, &Reason, When),
        asked: Asked,
        payload: impl Into<Payload>,
        landing: Option<Token>,
        cx: &mut Cx<'_>,
    ) -> CallId {
        let how = How::default().on(reason);
        let shown = asked.request.writes();
        let asking = Asking { to, how, landing, when, shown, forgotten: false };
        cx.ask_as(asking, &asked, payload).expect("headers of vectors are short")
    }
}
