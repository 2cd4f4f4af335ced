//! A block in its place in the node's shared memory, and its [`LatchMode`], which admits accesses of other ranks.

use super::Block;
use crate::Element;
use crate::ids::Epoch;
use crate::memory::node::home::{Home, Place};
use crate::memory::{LatchMode, Parts, Storage};
use crate::window::Window;
use std::ops::Range;
use std::sync::Arc;

impl Block {
    /// Moves the block to its place in shared memory.
    pub(crate) fn settle_down<T: Element>(&mut self, mut place: Place<T>) {
        let block = self.storage().expect("nobody has seen it yet");
        place.own.bytes_mut().copy_from_slice(block.bytes());
        let (own, home) = place.occupied();
        self.parts = Parts::new(Arc::new(own));
        self.home = Some(home);
    }

    pub(crate) fn home_mut(&mut self) -> Option<&mut Home> {
        self.home.as_mut()
    }

    pub(crate) fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    /// The shared memory with the slots that a load uses. Slots hold whole blocks: a load of a part uses none.
    pub(crate) fn slots(&self, window: Window) -> Option<&Home> {
        self.home.as_ref().filter(|_| window.is_whole())
    }

    /// As [`slots`](Block::slots).
    pub(crate) fn slots_mut(&mut self, window: Window) -> Option<&mut Home> {
        self.home.as_mut().filter(|_| window.is_whole())
    }

    /// True if the whole block lies in its place in shared memory.
    pub(crate) fn is_at_home(&self) -> bool {
        self.is_all_here() && self.home.as_ref().is_some_and(|home| home.holds(&self.parts))
    }

    /// True if this range of the block lies in its place in shared memory.
    pub(crate) fn has_at_home(&self, range: &Range<usize>) -> bool {
        self.home.as_ref().is_some_and(|home| home.holds_range(&self.parts, range))
    }

    /// Moves the block to its place, if possible. Returns true if it is there now.
    pub(crate) fn go_home(&mut self) -> bool {
        self.bring_home(&(0..self.bytes))
    }

    /// Moves the block to its place, if possible. Returns true if this range is there now.
    pub(crate) fn bring_home(&mut self, range: &Range<usize>) -> bool {
        // Parts that are lent or being sent stay in their memory.
        let in_flight = self.in_flight > 0;
        let Some(home) = &mut self.home else {
            return false;
        };
        if home.sharing().take_written() {
            self.version += 1;
        }
        if !in_flight && !home.holds(&self.parts) {
            home.await_holders(&mut self.parts);
            home.take_in(&mut self.parts);
        }
        home.holds_range(&self.parts, range)
    }

    /// Until a load is completed no other rank may change the block, because it is sent to other nodes.
    pub(crate) fn freeze(&mut self) {
        self.frozen = true;
        self.set_latch(LatchMode::ReadOnly);
    }

    /// Ends [`freeze`](Self::freeze): the load is completed.
    pub(crate) fn thaw(&mut self) {
        self.frozen = false;
    }

    /// From now on no other rank may touch the block. Holders of its latch are awaited only if it is used once more.
    pub(crate) fn close(&mut self) {
        (self.closed, self.leaving) = (true, None);
        self.reopen(self.home.as_ref().map_or(0, |home| home.latch().1));
    }

    /// Waits for ranks that hold the latch now: a rank that does not release it is detected before anything is lent.
    pub(crate) fn await_latch_holders(&mut self) {
        if self.home.as_ref().is_some_and(|home| home.sharing().has_holders()) {
            drop(Held::new(self, LatchMode::Busy));
        }
    }

    /// Opens the block to other ranks as far as they may touch it, and publishes the `settled` epoch.
    pub(crate) fn reopen(&mut self, settled: Epoch) {
        let mode = self.resting_mode();
        if let Some(home) = &mut self.home {
            home.set_latch(mode, settled);
        }
    }

    pub(super) fn resting_mode(&self) -> LatchMode {
        if self.closed || !self.is_at_home() {
            LatchMode::Shut
        } else if self.frozen || self.in_flight > 0 || self.is_lent() || self.is_moving() {
            LatchMode::ReadOnly
        } else {
            LatchMode::Open
        }
    }

    /// Lets other ranks do no more than `mode` admits. Returns when no rank does more, now or at any later time.
    pub(super) fn set_latch(&mut self, mode: LatchMode) {
        if let Some(home) = &mut self.home {
            let (before, settled) = home.latch();
            home.set_latch(mode.max(before), settled);
            home.await_holders(&mut self.parts);
            if !home.holds(&self.parts) {
                // The block must not be read in its old place.
                self.permit.close();
            }
        }
    }
}

/// A block in use by one of its methods. Dropping it sets the latch back, also after a panic.
pub(super) struct Held<'b> {
    pub(super) block: &'b mut Block,
    before: Option<(LatchMode, Epoch)>,
}

impl<'b> Held<'b> {
    pub(super) fn new(block: &'b mut Block, mode: LatchMode) -> Self {
        let before = block.home.as_ref().map(Home::latch);
        block.set_latch(mode);
        Held { block, before }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some((before, settled)) = self.before {
            let mode = before.max(self.block.resting_mode());
            if let Some(home) = &mut self.block.home {
                home.set_latch(mode, settled);
            }
        }
    }
}
