//! Round-robin order of bulk transfers.

use std::collections::VecDeque;

/// The maximum number of transfers that share the path. It limits the transfers that the receiver must hold open.
pub(super) const MAX_ACTIVE: usize = 64;

/// Slots of the transfers with unsent data: some in round-robin order, the others waiting.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    active: VecDeque<u32>,
    waiting: VecDeque<u32>,
}

impl RoundRobin {
    pub(super) fn push(&mut self, slot: u32) {
        if self.active.len() < MAX_ACTIVE {
            self.active.push_back(slot);
        } else {
            self.waiting.push_back(slot);
        }
    }

    pub(super) fn front(&self) -> Option<u32> {
        self.active.front().copied()
    }

    pub(super) fn rotate(&mut self) {
        if self.active.len() > 1 {
            self.active.rotate_left(1);
        }
    }

    /// Removes a slot, if it is active, and lets a waiting one start.
    pub(super) fn retire(&mut self, slot: u32) {
        let before = self.active.len();
        if self.front() == Some(slot) {
            self.active.pop_front();
        } else {
            self.active.retain(|&active| active != slot);
        }
        if self.active.len() < before {
            self.active.extend(self.waiting.pop_front());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_transfer_starts_when_another_retires() {
        let mut round_robin = RoundRobin::default();
        let last = MAX_ACTIVE as u32;
        (0..=last).for_each(|slot| round_robin.push(slot));
        for slot in 0..last {
            assert_eq!(round_robin.front(), Some(slot));
            round_robin.rotate();
        }
        assert_eq!(round_robin.front(), Some(0), "the last one waits");
        round_robin.retire(5);
        round_robin.retire(5);
        (0..last - 1).for_each(|_| round_robin.rotate());
        assert_eq!(round_robin.front(), Some(last));
    }
}
