//! Whose turn it is to be sent to.

use crate::Rank;
use std::collections::BTreeSet;

/// The peers that may have something to be sent, in turns: beginning after ourselves, so that no receiver is everyone's
/// first, and going on where a full socket has interrupted it, so that no peer is always the last.
#[derive(Clone, Debug)]
pub(super) struct Rota {
    me: usize,
    size: usize,
    /// As steps from `me`.
    peers: BTreeSet<usize>,
    /// The next turn is this one's, or the next one's after it.
    next: usize,
}

impl Rota {
    pub(super) fn new(me: Rank, size: usize) -> Self {
        Rota { me: me.index(), size, peers: BTreeSet::new(), next: 0 }
    }

    /// This peer may have something.
    pub(super) fn add(&mut self, peer: Rank) {
        self.peers.insert((peer.index() + self.size - self.me) % self.size);
    }

    /// This peer has nothing more.
    pub(super) fn remove(&mut self, peer: Rank) {
        self.peers.remove(&((peer.index() + self.size - self.me) % self.size));
        if self.peers.is_empty() {
            self.next = 0;
        }
    }

    /// Whether nobody has anything.
    pub(super) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// Whose turn it is; `None`: nobody has anything.
    pub(super) fn turn(&mut self) -> Option<Rank> {
        let step = *self.peers.range(self.next..).next().or_else(|| self.peers.first())?;
        self.next = step + 1;
        Some(Rank::new((self.me + step) % self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_begin_after_ourselves_and_go_round() {
        let mut rota = Rota::new(Rank::new(2), 4);
        for peer in [0, 1, 3] {
            rota.add(Rank::new(peer));
        }
        let turns: Vec<_> = (0..4).filter_map(|_| rota.turn()).map(Rank::index).collect();
        assert_eq!(turns, [3, 0, 1, 3]);
        rota.remove(Rank::new(0));
        assert_eq!(rota.turn(), Some(Rank::new(1)));
        rota.remove(Rank::new(1));
        rota.remove(Rank::new(3));
        assert_eq!(rota.turn(), None);
        rota.add(Rank::new(0));
        rota.add(Rank::new(3));
        assert_eq!(rota.turn(), Some(Rank::new(3)), "anew after ourselves");
    }
}
