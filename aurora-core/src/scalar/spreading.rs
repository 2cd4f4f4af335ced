//! The home's side of a ReadMostly: it numbers the values and sends each rank the newest. Pure.

use aurora_net::Rank;

/// The maximum number of values under way to a rank. Beyond it only the newest waits until one is seen.
pub(super) const UNSEEN: u64 = 8;
/// The number of received values after which a rank reports them.
pub(super) const SEEN: u64 = UNSEEN / 2;

/// A rank that receives the values, and the values that were sent to it.
#[derive(Clone, Debug, Default)]
struct Receiver {
    /// The number of the value last sent, and how many of the rank's offers it contains.
    state: Option<(u64, u64)>,
    /// The number of messages sent to the rank, and of those that it has seen.
    sent: u64,
    seen: u64,
}

/// The values of one ReadMostly, numbered.
#[derive(Debug)]
pub(super) struct Spreading {
    pub(super) number: u64,
    receivers: Vec<Receiver>,
}

impl Spreading {
    pub(super) fn new(size: usize) -> Self {
        Spreading { number: 0, receivers: vec![Receiver::default(); size] }
    }

    pub(super) fn changed(&mut self) {
        self.number += 1;
    }

    /// The answer to a rank's request carries the value, which contains `answered` of the rank's offers.
    pub(super) fn answers(&mut self, rank: Rank, answered: u64) {
        self.receivers[rank.index()].state = Some((self.number, answered));
    }

    /// True if the value must be sent now to a rank, of which `answered` offers are applied. Counts it as sent.
    pub(super) fn take_due(&mut self, rank: Rank, answered: u64) -> bool {
        let state = Some((self.number, answered));
        let receiver = &mut self.receivers[rank.index()];
        let due = receiver.state != state && receiver.sent - receiver.seen < UNSEEN;
        if due {
            receiver.state = state;
            receiver.sent += 1;
        }
        due
    }

    pub(super) fn seen(&mut self, rank: Rank, seen: u64) {
        let receiver = &mut self.receivers[rank.index()];
        receiver.seen = seen.clamp(receiver.seen, receiver.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r() -> Rank {
        Rank::new(1)
    }

    #[test]
    fn a_change_is_told_at_once_and_once() {
        let mut home = Spreading::new(3);
        assert!(home.take_due(r(), 0), "the first value");
        assert!(!home.take_due(r(), 0));
        home.changed();
        assert!(home.take_due(r(), 0) && !home.take_due(r(), 0));
        // An offer that changed nothing is answered all the same.
        assert!(home.take_due(r(), 1) && !home.take_due(r(), 1));
    }

    #[test]
    fn who_is_answered_is_not_told() {
        let mut home = Spreading::new(3);
        home.changed();
        home.answers(r(), 0);
        assert!(!home.take_due(r(), 0) && home.take_due(Rank::new(2), 0));
    }

    #[test]
    fn only_the_newest_waits_for_a_slow_rank() {
        let mut home = Spreading::new(2);
        let mut sent = 0;
        for _ in 0..1000 {
            home.changed();
            sent += u64::from(home.take_due(r(), 0));
        }
        assert_eq!(sent, UNSEEN);
        assert!(!home.take_due(r(), 0));
        home.seen(r(), SEEN);
        assert!(home.take_due(r(), 0), "the newest");
        assert!(!home.take_due(r(), 0), "and nothing else");
    }

    #[test]
    fn a_rank_that_says_what_it_has_seen_is_never_left_behind() {
        // Whatever the order of arrival, eight values under way cause two reports.
        let mut home = Spreading::new(2);
        for round in 0..100 {
            home.changed();
            while home.take_due(r(), 0) {
                home.changed();
            }
            let received = home.receivers[1].sent;
            home.seen(r(), received / SEEN * SEEN);
            assert!(home.take_due(r(), 0), "round {round}");
        }
    }
}
