//! The pieces of the steps of collective calls, kept until the receiver needs them. Pure.

use aurora_net::Rank;
use std::collections::BTreeMap;

/// A step of a collective call: the number of its barrier, and the step after it, from 0.
pub(crate) type StepId = (u64, u32);

#[derive(Default)]
pub(crate) struct Pieces {
    arrived: BTreeMap<StepId, BTreeMap<Rank, Vec<u8>>>,
    /// The step for which the calling thread waits, and the ranks whose piece is missing.
    wanted: Option<(StepId, Vec<Rank>)>,
}

impl Pieces {
    /// A piece has arrived; this rank is at barrier `seq`. False: no rank that follows the protocol has sent it.
    pub(crate) fn receive(&mut self, seq: u64, step: StepId, from: Rank, piece: Vec<u8>) -> bool {
        if step.0 < seq {
            // A piece of a call in which the ranks did not agree.
            return true;
        }
        if step.0 > seq + 1 {
            // No rank completes a barrier at which this rank has not arrived.
            return false;
        }
        if let Some((_, missing)) = self.wanted.as_mut().filter(|(wanted, _)| *wanted == step) {
            missing.retain(|rank| *rank != from);
        }
        self.arrived.entry(step).or_default().insert(from, piece).is_none()
    }

    /// This rank arrives at barrier `seq`: discards the pieces of earlier barriers.
    pub(crate) fn begin(&mut self, seq: u64) {
        self.wanted = None;
        self.arrived.retain(|step, _| step.0 >= seq);
    }

    /// The calling thread waits for pieces of these ranks.
    pub(crate) fn want(&mut self, step: StepId, mut from: Vec<Rank>) {
        let here = self.arrived.get(&step);
        from.retain(|rank| !here.is_some_and(|here| here.contains_key(rank)));
        self.wanted = Some((step, from));
    }

    /// All pieces for which the thread waits, once they are here.
    pub(crate) fn poll(&mut self) -> Option<BTreeMap<Rank, Vec<u8>>> {
        let (step, _) = self.wanted.take_if(|(_, missing)| missing.is_empty())?;
        Some(self.arrived.remove(&step).unwrap_or_default())
    }

    pub(crate) fn missing(&self) -> &[Rank] {
        self.wanted.as_ref().map_or(&[], |(_, missing)| missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_wait_for_their_step_and_a_step_for_its_pieces() {
        let (a, b) = (Rank::new(1), Rank::new(2));
        let mut pieces = Pieces::default();
        pieces.begin(1);
        assert!(pieces.receive(1, (1, 1), a, vec![11]) && pieces.receive(1, (1, 0), b, vec![20]));
        pieces.want((1, 0), vec![a, b]);
        assert!(pieces.poll().is_none() && pieces.missing() == [a]);
        assert!(pieces.receive(1, (2, 0), a, vec![12]), "one that is ahead of us");
        assert!(pieces.receive(1, (1, 0), a, vec![10]) && pieces.missing().is_empty());
        assert_eq!(pieces.poll(), Some([(a, vec![10]), (b, vec![20])].into()));
        pieces.want((1, 1), vec![a]);
        assert_eq!(pieces.poll(), Some([(a, vec![11])].into()));
        pieces.begin(2);
        pieces.want((2, 0), vec![a]);
        assert_eq!(pieces.poll(), Some([(a, vec![12])].into()));
        pieces.want((2, 1), Vec::new());
        assert_eq!(pieces.poll(), Some(BTreeMap::new()), "nobody has anything for us");
    }

    #[test]
    fn nothing_is_left_of_a_call_that_has_failed() {
        let (a, b) = (Rank::new(1), Rank::new(2));
        let mut pieces = Pieces::default();
        pieces.begin(1);
        pieces.want((1, 0), vec![a, b]);
        assert!(pieces.receive(1, (1, 0), a, vec![1]));
        pieces.begin(2);
        assert!(pieces.missing().is_empty() && pieces.poll().is_none());
        assert!(pieces.receive(2, (1, 0), b, vec![1]), "too late");
        assert!(pieces.arrived.is_empty());
    }

    #[test]
    fn what_no_rank_would_send_is_refused() {
        let a = Rank::new(1);
        let mut pieces = Pieces::default();
        assert!(!pieces.receive(3, (5, 0), a, vec![1]), "two barriers ahead");
        assert!(pieces.receive(3, (4, 0), a, vec![1]) && !pieces.receive(3, (4, 0), a, vec![1]), "twice");
    }
}
