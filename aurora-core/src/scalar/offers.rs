//! A rank's side of a ReadMostly: the newest value known from the home, and this rank's offers since. Pure.

use super::replica::Replica;
use crate::ids::Epoch;
use crate::ops::OpId;
use crate::scalar::ScalarFn;
use std::collections::VecDeque;
use std::sync::Arc;

/// The operation of a ReadMostly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offered {
    pub(crate) op: OpId,
    pub(crate) apply: ScalarFn,
    pub(crate) combine: ScalarFn,
}

/// One rank in one ReadMostly. One offer is under way at a time; later ones are combined until it is answered. The
/// replica shows the home's value with all offers applied that this value does not contain yet.
#[derive(Debug)]
pub(super) struct Replicated {
    pub(super) epoch: Epoch,
    pub(super) replica: Arc<Replica>,
    known: Option<(u64, Vec<u8>)>,
    offered: Option<Offered>,
    /// Offers sent, and how many of them the home has applied.
    pub(super) sent: u64,
    answered: u64,
    /// The offers that are sent and not applied, and the offer to be sent next.
    under_way: VecDeque<Vec<u8>>,
    pending: Option<Vec<u8>>,
    received: u64,
}

/// An offer to be sent: its number and its operand.
pub(super) type Outgoing = (u64, Vec<u8>);

impl Replicated {
    pub(super) fn new(epoch: Epoch, replica: Arc<Replica>, offered: Option<Offered>) -> Self {
        Replicated {
            epoch,
            replica,
            known: None,
            offered,
            sent: 0,
            answered: 0,
            under_way: VecDeque::new(),
            pending: None,
            received: 0,
        }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.known.is_some()
    }

    /// Takes the home's value `number`, which contains `answered` of our offers. An older value is ignored.
    pub(super) fn learn(&mut self, number: u64, value: &[u8], answered: u64) {
        let newer = self.known.as_ref().is_none_or(|(known, _)| number > *known);
        if !newer && answered <= self.answered {
            return;
        }
        if newer {
            self.known = Some((number, value.to_vec()));
        }
        while self.answered < answered.min(self.sent) {
            self.answered += 1;
            self.under_way.pop_front();
        }
        self.show();
    }

    /// Counts a received value. `Some`: the count to send to the home.
    pub(super) fn receive(&mut self) -> Option<u64> {
        self.received += 1;
        self.received.is_multiple_of(super::spreading::SEEN).then_some(self.received)
    }

    /// Adds an offer, also if it would not change the value that is known here: the home may have another value, which
    /// a rank has set. `None` for an operand that does not fit.
    pub(super) fn offer(&mut self, operand: Vec<u8>) -> Option<()> {
        let combine = self.offered?.combine;
        self.pending = Some(match self.pending.take() {
            Some(pending) => combine(&pending, &operand)?,
            None => operand,
        });
        self.show();
        Some(())
    }

    /// The offer to send now, if any: once the last one is answered, or at once if it `must` go.
    pub(super) fn next(&mut self, must: bool) -> Option<Outgoing> {
        if !must && !self.under_way.is_empty() {
            return None;
        }
        let operand = self.pending.take()?;
        self.under_way.push_back(operand.clone());
        self.sent += 1;
        Some((self.sent - 1, operand))
    }

    pub(super) fn op(&self) -> Option<OpId> {
        self.offered.map(|offered| offered.op)
    }

    fn show(&mut self) {
        let Some((_, known)) = &self.known else {
            return;
        };
        let mut value = known.clone();
        for operand in self.under_way.iter().chain(&self.pending) {
            if let Some(new) = self.offered.and_then(|offered| (offered.apply)(&value, operand)) {
                value = new;
            }
        }
        self.replica.store(&value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Min, Sum};
    use proptest::prelude::*;

    fn min(a: &[u8], b: &[u8]) -> Option<Vec<u8>> {
        Some(a.min(b).to_vec())
    }

    fn number(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    fn add(a: &[u8], b: &[u8]) -> Option<Vec<u8>> {
        Some((number(a) + number(b)).to_le_bytes().to_vec())
    }

    fn minima(first: u8) -> (Replicated, Arc<Replica>) {
        let (replica, offered) = (Arc::default(), Offered { op: OpId::of::<Min>(), apply: min, combine: min });
        let mut mine = Replicated::new(1, Arc::clone(&replica), Some(offered));
        assert!(!mine.is_shown());
        mine.learn(0, &[first], 0);
        (mine, replica)
    }

    fn seen(replica: &Replica) -> u8 {
        replica.read(|value| value[0]).expect("open")
    }

    #[test]
    fn an_offer_shows_at_once_and_one_is_under_way() {
        let (mut mine, replica) = minima(90);
        mine.offer(vec![50]).unwrap();
        assert_eq!((seen(&replica), mine.next(false)), (50, Some((0, vec![50]))));
        // Meanwhile offers are combined.
        for better in [40, 30, 35, 20] {
            mine.offer(vec![better]).unwrap();
            assert_eq!(mine.next(false), None);
        }
        assert_eq!(seen(&replica), 20);
        mine.learn(1, &[50], 1);
        assert_eq!((seen(&replica), mine.next(false)), (20, Some((1, vec![20]))));
        mine.learn(2, &[10], 2);
        assert_eq!((seen(&replica), mine.next(true)), (10, None));
    }

    #[test]
    fn what_is_no_better_here_may_be_better_at_home() {
        let (mut mine, replica) = minima(9);
        mine.offer(vec![50]).unwrap();
        assert_eq!((seen(&replica), mine.next(false)), (9, Some((0, vec![50]))));
        // Before the offer arrives, another rank has set the value.
        mine.learn(2, &[50], 1);
        assert_eq!(seen(&replica), 50);
    }

    #[test]
    fn an_older_value_that_comes_late_is_not_shown() {
        let (mut mine, replica) = minima(90);
        mine.learn(5, &[40], 0);
        mine.learn(3, &[70], 0);
        assert_eq!(seen(&replica), 40);
        // A newer value counts even if it is worse: a rank has set it.
        mine.learn(6, &[80], 0);
        assert_eq!(seen(&replica), 80);
    }

    proptest! {
        /// A home and one rank, messages in any order: own offers count exactly once, and offers of others never
        /// vanish.
        #[test]
        fn every_offer_counts_once(steps in prop::collection::vec((0u8..4, 1u32..9, any::<usize>()), 0..80)) {
            let (replica, offered) = (Arc::default(), Offered { op: OpId::of::<Sum>(), apply: add, combine: add });
            let mut mine = Replicated::new(1, Arc::clone(&replica), Some(offered));
            mine.learn(0, &[0; 4], 0);
            let (mut home, mut numbered, mut applied) = (0u32, 0, 0);
            let (mut to_home, mut to_me) = (VecDeque::new(), Vec::new());
            let (mut offered, mut others, mut before) = (0, 0, 0);
            for (what, by, pick) in steps {
                match what {
                    0 => {
                        mine.offer(by.to_le_bytes().to_vec()).unwrap();
                        offered += by;
                        to_home.extend(mine.next(pick % 3 == 0));
                    }
                    1 => {
                        if let Some((seq, operand)) = to_home.pop_front() {
                            prop_assert_eq!(seq, applied);
                            home += number(&operand);
                            (numbered, applied) = (numbered + 1, applied + 1);
                            to_me.push((numbered, home, applied));
                        }
                    }
                    2 => {
                        (home, others) = (home + by, others + by);
                        numbered += 1;
                        to_me.push((numbered, home, applied));
                    }
                    _ if to_me.is_empty() => {}
                    _ => {
                        let (numbered, value, answered) = to_me.swap_remove(pick % to_me.len());
                        mine.learn(numbered, &value.to_le_bytes(), answered);
                        to_home.extend(mine.next(false));
                    }
                }
                let of_others = replica.read(number).expect("open") - offered;
                prop_assert!(before <= of_others && of_others <= others, "{before} {of_others} {others}");
                before = of_others;
            }
            to_home.extend(mine.next(true));
            for (_, operand) in to_home {
                home += number(&operand);
                applied += 1;
            }
            mine.learn(numbered + 1, &home.to_le_bytes(), applied);
            prop_assert_eq!(home, offered + others);
            prop_assert_eq!(replica.read(number), Some(home));
        }
    }
}
