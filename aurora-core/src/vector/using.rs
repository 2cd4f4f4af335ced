//! Waiting until a vector may be used, and lending its block.

use super::core::VectorCore;
use crate::memory::Storage;
use crate::object::{Cx, GuardId};
use crate::window::Window;
use crate::{Error, Site};
use std::ops::Range;
use std::sync::Arc;

impl VectorCore {
    /// As [`poll_usable`](crate::scope::Scopes::poll_usable), for a write: waits also until no transfer reads the
    /// block. Other ranks may still read its place: [`poll_exclusive`](Self::poll_exclusive).
    pub(crate) fn poll_writable(&mut self, window: Window, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        if let Err(error) = self.scopes.poll_usable(true, window, cx)? {
            return Some(Err(error));
        }
        if self.block.is_in_flight() {
            return None;
        }
        // A block that has moved away is better written in its place, if no guard shows the place any more.
        if !self.block.is_at_home() {
            self.block.go_home();
        }
        Some(Ok(()))
    }

    /// As [`poll_writable`](Self::poll_writable), for this rank's own part of the window, before it is lent for
    /// writing: waits also until no rank reads there, or the block has moved away.
    pub(crate) fn poll_exclusive(&mut self, window: Window, cx: &mut Cx<'_>) -> Option<Result<(), Error>> {
        if let Err(error) = self.poll_writable(window, cx)? {
            return Some(Err(error));
        }
        let part = self.own_part(window);
        self.block.is_writable(&part).then_some(Ok(()))
    }

    /// Lends elements of our block to this rank's program for writing. Transfers that read it continue from a copy.
    pub(crate) fn take_part(&mut self, elements: &Range<usize>) -> Option<Arc<dyn Storage>> {
        if self.block.is_in_flight() {
            let copy = self.block.take_from_transfers()?;
            self.detach_block(&copy);
        }
        let bytes = self.block.bytes_of(elements);
        self.block.take_part(&bytes)
    }

    /// Takes elements back that were lent for writing.
    pub(crate) fn take_back(&mut self, Taken { at, part }: Taken) {
        self.block.give_back_part(at, part);
    }

    /// Registers a guard.
    pub(crate) fn open_guard(
        &mut self,
        (behaviour, site): (&'static str, &Site),
        how: (bool, bool),
        window: Window,
        cx: &mut Cx<'_>,
    ) -> GuardId {
        let guard = cx.open_guard((behaviour, site), how, window);
        self.refresh_permit(cx);
        guard
    }

    /// Does a step of the block's move away from its readers, if it moves.
    #[inline]
    pub(super) fn leave(&mut self, cx: &mut Cx<'_>) {
        if self.block.is_leaving() {
            self.leave_some(cx);
        }
    }

    fn leave_some(&mut self, cx: &mut Cx<'_>) {
        match self.block.leave(|| cx.now()) {
            Ok(false) => {}
            Ok(true) => {
                self.scopes.has_changed = true;
                cx.progress();
            }
            Err(shortage) => {
                let made_at = cx.made_at().clone();
                cx.no_memory(shortage, "a copy of its block, which other ranks still read,", &made_at);
            }
        }
    }
}

/// Elements of this rank's block that a guard has taken for writing.
#[allow(unnameable_types, missing_debug_implementations, reason = "behaviours are those of this crate")]
pub struct Taken {
    /// The first byte's place in the block.
    pub(crate) at: usize,
    pub(crate) part: Arc<dyn Storage>,
}
