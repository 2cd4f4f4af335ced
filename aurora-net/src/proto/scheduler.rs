//! The order in which peers are served.

use crate::Rank;
use std::collections::{BTreeSet, VecDeque};

/// Peers that may have data to send, in two lanes. Peers without bulk data (only acknowledgements and small transfers)
/// go first, since little data is enough to keep others waiting. Bulk data is sent round-robin, one train at a time.
/// The order begins with the rank after this one, so that in an exchange of all with all the receivers differ and none
/// gets more than its port carries. After a full socket it continues where it stopped, so that no peer is always last.
#[derive(Debug)]
pub(super) struct Scheduler {
    me: usize,
    lane: Vec<Lane>,
    small: VecDeque<u32>,
    /// Peers with bulk data, as distances from `me`.
    bulk: BTreeSet<usize>,
    /// The next turn belongs to this distance, or to the next one after it.
    next: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Lane {
    #[default]
    Nowhere,
    Small,
    Bulk,
}

impl Scheduler {
    pub(super) fn new(me: Rank, size: usize) -> Self {
        Scheduler {
            me: me.index(),
            lane: vec![Lane::default(); size],
            small: VecDeque::new(),
            bulk: BTreeSet::new(),
            next: 0,
        }
    }

    /// Adds `peer`, which may have data to send. `bulk`: it may have bulk data.
    pub(super) fn add(&mut self, peer: usize, bulk: bool) {
        match (self.lane[peer], bulk) {
            (Lane::Nowhere, false) => {
                self.lane[peer] = Lane::Small;
                self.small.push_back(peer as u32);
            }
            // A peer with new bulk data leaves the first lane after its turn there.
            (Lane::Nowhere, true) => {
                self.lane[peer] = Lane::Bulk;
                self.bulk.insert(self.step(peer));
            }
            _ => {}
        }
    }

    pub(super) fn turn(&self) -> Option<usize> {
        let bulk = || self.bulk.range(self.next..).next().or_else(|| self.bulk.first());
        self.small.front().map(|peer| *peer as usize).or_else(|| Some((self.me + bulk()?) % self.lane.len()))
    }

    /// `peer` has used its turn and may have more data.
    pub(super) fn give(&mut self, peer: usize, bulk: bool) {
        let step = self.step(peer);
        if self.lane[peer] == Lane::Bulk {
            self.next = step + 1;
        }
        self.retire(peer);
        self.add(peer, bulk);
    }

    /// `peer` had the turn and nothing to send.
    pub(super) fn retire(&mut self, peer: usize) {
        match std::mem::take(&mut self.lane[peer]) {
            Lane::Nowhere => {}
            Lane::Small => drop(self.small.pop_front()),
            Lane::Bulk => {
                self.bulk.remove(&self.step(peer));
                if self.bulk.is_empty() {
                    self.next = 0;
                }
            }
        }
    }

    fn step(&self, peer: usize) -> usize {
        let size = self.lane.len();
        (peer + size - self.me) % size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler() -> Scheduler {
        Scheduler::new(Rank::new(2), 6)
    }

    #[test]
    fn bulk_goes_round_robin_from_the_next_rank() {
        let mut scheduler = scheduler();
        [0, 1, 3, 3].iter().for_each(|&peer| scheduler.add(peer, true));
        let mut order = Vec::new();
        for _ in 0..5 {
            let peer = scheduler.turn().unwrap();
            order.push(peer);
            scheduler.give(peer, true);
        }
        assert_eq!(order, [3, 0, 1, 3, 0]);
        scheduler.retire(1);
        assert_eq!(scheduler.turn(), Some(3));
        scheduler.retire(3);
        scheduler.retire(0);
        assert_eq!(scheduler.turn(), None);
        scheduler.add(0, true);
        scheduler.add(4, true);
        assert_eq!(scheduler.turn(), Some(4), "anew after ourselves");
    }

    #[test]
    fn what_is_small_goes_before_all_bulk_data() {
        let mut scheduler = scheduler();
        scheduler.add(3, true);
        scheduler.add(5, false);
        scheduler.add(3, false);
        assert_eq!(scheduler.turn(), Some(5));
        scheduler.give(5, true);
        assert_eq!(scheduler.turn(), Some(3));
        scheduler.give(3, false);
        assert_eq!(scheduler.turn(), Some(3), "now it has small transfers only");
        scheduler.retire(3);
        assert_eq!(scheduler.turn(), Some(5));
    }
}
