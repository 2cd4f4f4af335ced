//! The state of a scope of pages on one rank, as the home of its own block and as a holder of other homes' pages.

use super::changed::Changed;
use super::map::PageGrid;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::Malformed;
use crate::race::Opened;
use aurora_net::{Rank, Received};
use std::time::Instant;

pub(super) struct PageScope {
    pub(super) epoch: Epoch,
    pub(super) reason: Reason,
    /// The scope as this rank has opened it, for races.
    pub(super) opened: Opened,
    /// The pages of the block.
    pub(super) pages: PageGrid,
    /// By homes: batches sent since the last sync.
    pub(super) sent: Vec<u32>,
    /// Number of syncs at which this rank has arrived, from which it has departed, with which its block is done.
    pub(super) begun: u64,
    pub(super) departed: u64,
    pub(super) done: u64,
    /// Batches of the next sync that are applied, and batches that ranks have announced for it.
    pub(super) applied: u64,
    pub(super) announced: u64,
    /// Elements of the block that were changed since the last sync.
    pub(super) changed: Changed,
    /// By ranks: the pages of this block that the rank holds; empty if it holds none.
    pub(super) holders: Vec<Vec<bool>>,
    /// The push to be sent next.
    pub(super) pushing: Pushing,
    /// The time at which to send the next push.
    pub(super) next_step: Option<Instant>,
    /// By ranks: the rank has been asked for pages of its block.
    pub(super) held: Vec<bool>,
    /// By ranks: the push of the rank for the sync under way.
    pub(super) pushes: Vec<Pushed>,
}

/// The progress of a home in pushing its changes.
#[derive(Default)]
pub(super) struct Pushing {
    /// The rank that gets the next part.
    pub(super) holder: usize,
    /// The place in the list up to which the holder has got changes, and the number of parts that were sent to it.
    pub(super) upto: usize,
    pub(super) parts: u32,
}

/// The push of one rank for a sync, as far as it has arrived.
#[derive(Default)]
pub(super) struct Pushed {
    /// The rank's block has changed, and this rank holds some of it.
    pub(super) is_awaited: bool,
    /// The number of all parts, once the last one is here.
    parts: u32,
    pub(super) here: Vec<Received>,
}

impl Pushed {
    fn is_whole(&self) -> bool {
        self.parts > 0 && self.here.len() == self.parts as usize
    }
}

impl PageScope {
    pub(super) fn new(epoch: Epoch, (reason, opened): (Reason, Opened), pages: PageGrid, ranks: usize) -> Self {
        PageScope {
            epoch,
            reason,
            opened,
            pages,
            sent: vec![0; ranks],
            begun: 0,
            departed: 0,
            done: 0,
            applied: 0,
            announced: 0,
            changed: Changed::Runs(Vec::new()),
            holders: vec![Vec::new(); ranks],
            pushing: Pushing::default(),
            next_step: None,
            held: vec![false; ranks],
            pushes: (0..ranks).map(|_| Pushed::default()).collect(),
        }
    }

    /// True if a batch for this sync may arrive now: a rank may be one sync ahead of this home, not more.
    pub(super) fn awaits_flush(&self, sync: u64) -> bool {
        (self.done + 1..=self.done + 2).contains(&sync)
    }

    /// Keeps a part of a push that has arrived until this rank takes it. This rank may not have departed yet.
    pub(super) fn pushed(&mut self, from: Rank, sync: u64, parts: u32, mut payload: Received) -> Result<(), Malformed> {
        let pushed = &mut self.pushes[from.index()];
        let is_expected = !pushed.is_whole() && (pushed.parts == 0 || parts == 0);
        if sync != self.begun || sync == 0 || !is_expected {
            return Err(Malformed);
        }
        payload.detach();
        pushed.parts = pushed.parts.max(parts);
        pushed.here.push(payload);
        Ok(())
    }

    /// The homes whose pushes are missing.
    pub(super) fn awaited(&self) -> impl Iterator<Item = Rank> + '_ {
        let missing = self.pushes.iter().enumerate().filter(|(_, pushed)| pushed.is_awaited && !pushed.is_whole());
        missing.map(|(rank, _)| Rank::new(rank))
    }

    /// True if this rank's block is done with its last sync, and all awaited pushes are here.
    pub(super) fn is_synced(&self) -> bool {
        self.done == self.begun && self.awaited().next().is_none()
    }

    pub(super) fn hold(&mut self, holder: Rank, pages: impl Iterator<Item = usize>, block: usize) {
        let held = &mut self.holders[holder.index()];
        held.resize(self.pages.count(block), false);
        pages.for_each(|page| held[page] = true);
    }
}
