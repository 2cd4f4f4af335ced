//! The peer's packets that have arrived, and the times to acknowledge them.

use super::Instant;
use super::range_set::RangeSet;
use super::rtt::MAX_ACK_DELAY;
use crate::wire::{self, PacketNumber};

/// The maximum number of ranges. Beyond it the lowest range is dropped. Unacknowledged packets below its end are sent
/// again.
const MAX_RANGES: usize = 64;
/// This many packets are acknowledged without delay.
const BATCH: u32 = 2;

/// The receiving half of the packet number space.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceivedPackets {
    ranges: RangeSet,
    /// The peer no longer needs acknowledgements below this number.
    floor: u64,
    largest: Option<u64>,
    largest_at: Instant,
    /// Packets that ask for an acknowledgement and have none yet.
    owed: u32,
    /// An acknowledgement is due at the next chance to send.
    due: bool,
    /// If not yet due, the acknowledgement becomes due at this time.
    deadline: Option<Instant>,
}

impl ReceivedPackets {
    /// True if packet `number` is new. Packets below the floor do not count as new.
    pub(super) fn is_new(&self, number: PacketNumber) -> bool {
        number.0 >= self.floor && !self.ranges.covers(&(number.0..number.0 + 1))
    }

    /// Records a new packet. `eliciting`: it asks for an acknowledgement; `urgent`: it asks for one without delay.
    pub(super) fn record(&mut self, now: Instant, packet: &wire::Packet<'_>, eliciting: bool, urgent: bool) {
        let number = packet.number.0;
        let in_order = self.largest.is_none_or(|largest| largest + 1 == number);
        if self.largest.is_none_or(|largest| largest < number) {
            self.largest = Some(number);
            self.largest_at = now;
        }
        self.ranges.insert(number..number + 1, |_| ());
        if packet.floor.0 > self.floor {
            self.floor = packet.floor.0;
            self.ranges.remove_below(self.floor);
        }
        while self.ranges.len() > MAX_RANGES {
            if let Some(lowest) = self.ranges.pop_lowest() {
                self.floor = lowest.end;
            }
        }
        if eliciting {
            self.owed += 1;
            // A gap is reported at once, so that the sender detects the loss.
            let at_once = urgent || !in_order || self.owed >= BATCH;
            if at_once {
                self.due = true;
                self.deadline = None;
            } else if !self.due {
                self.deadline = Some(now + MAX_ACK_DELAY);
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.due = true;
            self.deadline = None;
        }
    }

    /// True if an acknowledgement must leave now, alone if necessary.
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// True if an acknowledgement should be added to a packet that leaves anyway.
    pub(super) fn is_owed(&self) -> bool {
        self.owed > 0
    }

    pub(super) fn put(&mut self, now: Instant, window: u64, sources: u32, buf: &mut Vec<u8>) {
        let delay = now - self.largest_at;
        wire::put_ack(buf, delay, window, sources, self.ranges.descending());
        self.owed = 0;
        self.due = false;
        self.deadline = None;
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;
    use crate::wire::{Frame, Frames};
    use std::ops::Range;
    use std::time::Duration;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    fn packet(number: u64, floor: u64) -> wire::Packet<'static> {
        wire::Packet { number: PacketNumber(number), floor: PacketNumber(floor), frames: &[] }
    }

    fn acknowledged(received: &mut ReceivedPackets, now: Instant) -> Vec<Range<u64>> {
        let mut buf = Vec::new();
        received.put(now, 0, 0, &mut buf);
        match Frames::new(&buf).next() {
            Some(Ok(Frame::Ack(ack))) => ack.ranges().collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_packet_may_wait_a_second_may_not() {
        let mut received = ReceivedPackets::default();
        received.record(at(5), &packet(0, 0), true, false);
        assert!(!received.is_due());
        assert_eq!(received.poll_timeout(), Some(at(5) + MAX_ACK_DELAY));
        received.record(at(9), &packet(1, 0), true, false);
        assert!(received.is_due());
        assert_eq!(acknowledged(&mut received, at(9)), [0..2]);
        assert!(!received.is_due());
        assert_eq!(received.poll_timeout(), None);
    }

    #[test]
    fn a_time_that_has_come_is_not_asked_for_again() {
        let mut received = ReceivedPackets::default();
        received.record(at(5), &packet(0, 0), true, false);
        received.handle_timeout(at(5) + MAX_ACK_DELAY);
        assert_eq!((received.is_due(), received.poll_timeout()), (true, None));
    }

    #[test]
    fn a_gap_or_a_whole_transfer_is_said_at_once_a_mere_ack_never() {
        let mut received = ReceivedPackets::default();
        received.record(at(1), &packet(0, 0), false, false);
        assert_eq!(received.poll_timeout(), None);
        received.record(at(2), &packet(1, 0), true, true);
        assert!(received.is_due());
        acknowledged(&mut received, at(2));
        received.record(at(3), &packet(3, 0), true, false);
        assert!(received.is_due());
        assert_eq!(acknowledged(&mut received, at(3)), [3..4, 0..2]);
    }

    #[test]
    fn forgets_what_the_sender_no_longer_asks_about() {
        let mut received = ReceivedPackets::default();
        for number in [0, 2, 4, 6] {
            received.record(at(0), &packet(number, 0), true, false);
        }
        received.record(at(1), &packet(8, 5), true, false);
        assert_eq!(acknowledged(&mut received, at(1)), [8..9, 6..7]);
        assert!(!received.is_new(PacketNumber(3)), "too late to matter");
        assert!(received.is_new(PacketNumber(5)));
    }

    #[test]
    fn memory_stays_bounded_whatever_the_numbers() {
        let mut received = ReceivedPackets::default();
        for i in 0..10_000 {
            received.record(at(i), &packet(i * 977, 0), true, false);
            assert!(received.ranges.len() <= MAX_RANGES);
        }
        assert!(acknowledged(&mut received, at(0) + Duration::from_secs(1)).len() <= wire::MAX_ACK_RANGES);
        assert!(!received.is_new(PacketNumber(978)));
    }
}
