//! Whose turn it is to send.

use std::collections::VecDeque;

/// Peers that may have something to send, in two lanes: bulk data takes turns, train by train, in the order in which peers
/// came; who has none (acknowledgements, small transfers) goes before all of it, since little is enough to make others wait.
///
/// All ranks send to others starting with the rank after them, so that in an exchange of all with all no receiver is
/// everyone's first, and each is asked for no more than its port can carry.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    small: VecDeque<u32>,
    bulk: VecDeque<u32>,
    lane: Vec<Lane>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Lane {
    #[default]
    Nowhere,
    Small,
    Bulk,
}

impl Rounds {
    pub(super) fn new(size: usize) -> Self {
        Rounds { lane: vec![Lane::default(); size], ..Rounds::default() }
    }

    /// `peer` may have something to send, `bulk` data among it or not.
    pub(super) fn add(&mut self, peer: usize, bulk: bool) {
        match (self.lane[peer], bulk) {
            (Lane::Nowhere, false) => {
                self.lane[peer] = Lane::Small;
                self.small.push_back(peer as u32);
            }
            // Who stands in the first lane with bulk data moves on to the second when it is found there.
            (Lane::Nowhere, true) => {
                self.lane[peer] = Lane::Bulk;
                self.bulk.push_back(peer as u32);
            }
            _ => {}
        }
    }

    /// Whose turn it is.
    pub(super) fn next(&self) -> Option<usize> {
        self.small.front().or(self.bulk.front()).map(|peer| *peer as usize)
    }

    /// The one whose turn it is has had it, and may have more of `bulk` or other data.
    pub(super) fn rotate(&mut self, bulk: bool) {
        if let Some(peer) = self.retire() {
            self.add(peer, bulk);
        }
    }

    /// The one whose turn it is has nothing to send.
    pub(super) fn retire(&mut self) -> Option<usize> {
        let peer = self.small.pop_front().or_else(|| self.bulk.pop_front())? as usize;
        self.lane[peer] = Lane::Nowhere;
        Some(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_takes_turns_and_small_goes_first() {
        let mut rounds = Rounds::new(9);
        for (peer, bulk) in [(3, true), (4, true), (3, true), (5, false), (4, false)] {
            rounds.add(peer, bulk);
        }
        let mut order = Vec::new();
        for _ in 0..5 {
            let next = rounds.next().unwrap();
            order.push(next);
            match next {
                5 => drop(rounds.retire()),
                _ => rounds.rotate(true),
            }
        }
        assert_eq!(order, [5, 3, 4, 3, 4]);
        rounds.retire();
        rounds.rotate(false);
        assert_eq!((rounds.retire(), rounds.retire()), (Some(4), None));
    }
}
