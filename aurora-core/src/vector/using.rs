//! Waiting until a vector may be used, and lending its block.

use crate::Error;
use crate::memory::Storage;
use crate::object::Cx;
use crate::vector::machine::Vector;
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;

impl Vector {
    /// As [`poll_usable`](crate::scope::Scopes::poll_usable), for a write: waits also until no transfer reads the
    /// block. Other ranks may still read its place: [`poll_exclusive`](Vector::poll_exclusive).
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

    /// As [`Vector::poll_writable`], for this rank's own part of the window, before it is lent for writing: waits also
    /// until no rank reads there, or the block has moved away.
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

    /// Frees the memory of copies, in a call that all ranks make.
    pub(crate) fn release_cache(&mut self) {
        self.load.release();
        self.halo.release();
        let epoch = self.scopes.ledger.epoch;
        if let Some(home) = self.block.home_mut() {
            home.cache.release(epoch);
        }
    }
}
