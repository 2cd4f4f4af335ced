//! A vector as its rank's kernel knows it, without the protocols of its behaviours.

use super::apply::{Access, Apply, built_in_ops};
use super::block::Block;
use super::check::Checker;
use super::machine::Vector;
use super::writes::Writes;
use crate::distribution::Distribution;
use crate::ids::Epoch;
use crate::kernel::Core;
use crate::kernel::nodes::Nodes;
use crate::memory::node::home::Home;
use crate::memory::{Direct, Fresh, OWN, READ, Storage, WRITE, fresh};
use crate::object::{Cx, Loan, Loans, OpenGuard};
use crate::operation::Operations;
use crate::ops::{Op, OpId};
use crate::scope::{Ledger, Scopes};
use crate::window::{Window, common};
use crate::{Element, Result, Site};
use aurora_net::{Payload, Rank};
use std::ops::Range;
use std::sync::Arc;

/// The block of a rank, the scopes of the vector, and the accesses to the block.
pub(crate) struct VectorCore {
    pub(super) dist: Distribution,
    pub(super) block: Block,
    /// Memory of the block that the transport reads at this moment.
    loans: Loans<BlockLoan>,
    /// Checking mode: the accesses of all ranks to the block.
    pub(super) check: Option<Box<Checker>>,
    /// Makes memory for a copy with the given number of elements.
    fresh: fn(usize) -> Fresh,
    pub(super) ops: Operations<Apply>,
    pub(super) access: Access,
    pub(super) scopes: Scopes<Vector>,
    /// The one-sided writes.
    pub(super) writes: Writes,
    /// The ranks that share memory.
    nodes: Arc<Nodes>,
}

/// Memory from which the transport reads the block.
enum BlockLoan {
    /// The block itself, from byte `base` on.
    Block { base: usize },
    /// A copy of it, because the block has since been lent to this rank's program for writing.
    Detached { copy: Arc<dyn Storage>, base: usize },
}

impl VectorCore {
    pub(crate) fn new<T: Element>(core: &Core, dist: Distribution, block: Block, nodes: Arc<Nodes>) -> Self {
        VectorCore {
            dist,
            block,
            loans: Loans::default(),
            check: core.modes.check.then(Box::default),
            fresh: fresh::<T>,
            ops: built_in_ops::<T>(),
            access: Access::of::<T>(),
            scopes: Scopes::new(core.me, core.size, core.modes.check),
            writes: Writes::new(core.size),
            nodes,
        }
    }

    pub(crate) fn dist(&self) -> &Distribution {
        &self.dist
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    pub(crate) fn block_mut(&mut self) -> &mut Block {
        &mut self.block
    }

    pub(crate) fn scopes(&self) -> &Scopes<Vector> {
        &self.scopes
    }

    pub(crate) fn scopes_mut(&mut self) -> &mut Scopes<Vector> {
        &mut self.scopes
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.scopes.ledger
    }

    pub(crate) fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.scopes.ledger
    }

    /// Work may be due now: it is tried again before the call ends.
    pub(crate) fn retry(&mut self) {
        self.scopes.has_changed = true;
    }

    /// Orders the next accesses of this rank's program after the `settled` scopes of a part.
    pub(crate) fn acquire(&mut self, window: Window, cx: &mut Cx<'_>) {
        self.scopes.acquire(window, cx);
    }

    pub(crate) fn writes(&self) -> &Writes {
        &self.writes
    }

    pub(crate) fn writes_mut(&mut self) -> &mut Writes {
        &mut self.writes
    }

    pub(crate) fn nodes(&self) -> &Arc<Nodes> {
        &self.nodes
    }

    pub(crate) fn me(&self) -> Rank {
        self.scopes.ledger.me()
    }

    /// True if all ranks share memory.
    pub(crate) fn is_on_one_node(&self) -> bool {
        self.nodes.with(self.me()).len() == self.nodes.size()
    }

    /// Memory for a copy of `len` elements.
    pub(crate) fn fresh(&self, len: usize) -> Fresh {
        (self.fresh)(len)
    }

    /// Makes an operation known to this owner.
    pub(crate) fn know<T: Element, O: Op<T>>(&mut self, site: &Site, cx: &Cx<'_>) -> Result<OpId> {
        self.ops.add::<O>(Apply::of::<T, O>()).map_err(|same| cx.same_number::<O>(same, site))
    }

    pub(crate) fn knows<O: 'static>(&self) -> bool {
        self.ops.knows::<O>()
    }

    /// The bytes of this rank's block that lie in a window.
    pub(crate) fn own_part(&self, window: Window) -> Range<usize> {
        let own = self.dist.range(self.me());
        let shown = common(&own, &window.range(self.dist.len()));
        self.block.bytes_of(&(shown.start - own.start..shown.end - own.start))
    }

    /// The bytes of a window that `owner` owns.
    pub(crate) fn within(&self, owner: Rank, window: Window) -> Range<usize> {
        let window = window.range(self.dist.len());
        let shown = common(&window, &self.dist.range(owner));
        self.block.bytes_of(&(shown.start - window.start..shown.end - window.start))
    }

    /// The last scope that an access of this rank to a part comes after.
    pub(crate) fn comes_after(&self, window: Window) -> Epoch {
        // While a scope of a part is open, scopes of other parts may be open too.
        if window.is_whole() { self.scopes.ledger.epoch } else { self.scopes.ledger.predecessor() }
    }

    /// Sets anew the accesses to the block that the calling thread and other ranks may make without its kernel.
    pub(crate) fn refresh_permit(&mut self, cx: &Cx<'_>) {
        self.set_permit(cx.is_live(), cx.open_guards());
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
    pub(super) fn direct<T: Element>(&self, own: bool) -> Direct<T> {
        let me = self.me();
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

    /// Sends `len` bytes of the block from byte `base` on, without a copy. No rank writes to the block before they are
    /// acknowledged.
    pub(crate) fn lend_block(&mut self, base: usize, len: usize, cx: &Cx<'_>) -> Payload {
        self.block.lend_to_transfer();
        cx.lent(self.loans.add(BlockLoan::Block { base }), len)
    }

    /// Lets all transfers from the block continue from a copy.
    pub(super) fn detach_block(&mut self, copy: &Arc<dyn Storage>) {
        for loan in self.loans.values_mut() {
            if let BlockLoan::Block { base } = *loan {
                *loan = BlockLoan::Detached { copy: copy.clone(), base };
            }
        }
    }

    pub(super) fn read_loan(&self, loan: Loan, offset: usize, into: &mut [u8]) -> bool {
        match self.loans.get(loan) {
            Some(BlockLoan::Block { base }) => self.block.copy(base + offset, into),
            Some(BlockLoan::Detached { copy, base }) => {
                let from = copy.bytes().get(base + offset..).and_then(|bytes| bytes.get(..into.len()));
                from.map(|bytes| into.copy_from_slice(bytes)).is_some()
            }
            None => false,
        }
    }

    pub(super) fn end_loan(&mut self, loan: Loan, cx: &mut Cx<'_>) {
        if let Some(BlockLoan::Block { .. }) = self.loans.end(loan) {
            self.block.back_from_transfer();
            cx.progress();
            self.scopes.has_changed = true;
        }
    }

    pub(super) fn is_sent(&self) -> bool {
        self.loans.values().next().is_some()
    }
}
