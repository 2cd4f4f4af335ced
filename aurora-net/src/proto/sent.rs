//! Sent packets: the content of each packet, and the acknowledged and lost packets.

use super::Instant;
use super::space::SentFrame;
use crate::wire::PacketNumber;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// A packet counts as lost once a packet with a number higher by this has arrived.
const REORDERING: u64 = 3;

/// The frames of a packet that must arrive. Bulk packets carry one frame, which needs no allocation.
#[derive(Clone, Debug, Default)]
pub(super) enum Content {
    /// No frames: an acknowledgement or a ping.
    #[default]
    None,
    /// No frames: an MTU probe.
    Probe,
    One(SentFrame),
    Many(Vec<SentFrame>),
}

impl Content {
    pub(super) fn push(&mut self, frame: SentFrame) {
        *self = match std::mem::take(self) {
            Content::None | Content::Probe => Content::One(frame),
            Content::One(first) => Content::Many(vec![first, frame]),
            Content::Many(mut frames) => {
                frames.push(frame);
                Content::Many(frames)
            }
        };
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Content::None)
    }

    pub(super) fn frames(&self) -> &[SentFrame] {
        match self {
            Content::None | Content::Probe => &[],
            Content::One(frame) => std::slice::from_ref(frame),
            Content::Many(frames) => frames,
        }
    }
}

#[derive(Clone, Debug)]
struct Sent {
    at: Instant,
    charge: u32,
    /// True: longer than the base length.
    long: bool,
    in_flight: bool,
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Acked {
    /// The charge of the newly acknowledged packets.
    pub(super) charge: u64,
    /// The newest of them and when it was sent.
    pub(super) newest: Option<(u64, Instant)>,
    /// True if one of them was an MTU probe.
    pub(super) probe: bool,
    /// True if another one was long.
    pub(super) long: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Lost {
    pub(super) packets: u64,
    pub(super) charge: u64,
    /// The charge of a lost MTU probe, which is not included in the others.
    pub(super) probe: Option<u64>,
    /// The newest other long packet.
    pub(super) long: Option<u64>,
}

impl Lost {
    fn add(&mut self, number: u64, sent: &Sent) {
        let charge = u64::from(sent.charge);
        if matches!(sent.content, Content::Probe) {
            self.probe = Some(charge);
            return;
        }
        self.packets += 1;
        self.charge += charge;
        if sent.long {
            self.long = Some(number);
        }
    }
}

/// The sending half of the packet number space: a ring of packets from the oldest one in flight on.
#[derive(Clone, Debug, Default)]
pub(super) struct SentPackets {
    ring: VecDeque<Sent>,
    base: u64,
    largest_acked: Option<u64>,
    in_flight: usize,
    last_eliciting: Instant,
    /// The time at which the oldest packet in flight will count as lost by its age.
    loss_at: Option<Instant>,
}

impl SentPackets {
    pub(super) fn next(&self) -> PacketNumber {
        PacketNumber(self.base + self.ring.len() as u64)
    }

    /// The oldest packet whose acknowledgement still matters.
    pub(super) fn floor(&self) -> PacketNumber {
        PacketNumber(self.base)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn last_eliciting(&self) -> Instant {
        self.last_eliciting
    }

    pub(super) fn loss_at(&self) -> Option<Instant> {
        self.loss_at
    }

    /// Records the next packet. `long`: longer than the base; `eliciting`: it asks for an acknowledgement.
    pub(super) fn push(&mut self, now: Instant, charge: u32, long: bool, eliciting: bool, content: Content) {
        debug_assert!(eliciting || content.is_empty());
        self.ring.push_back(Sent { at: now, charge, long, in_flight: eliciting, content });
        if eliciting {
            self.in_flight += 1;
            self.last_eliciting = now;
        }
        self.drop_settled();
    }

    /// Handles acknowledged ranges. Calls `arrived` for each frame newly acknowledged.
    pub(super) fn on_ack(
        &mut self,
        ranges: impl Iterator<Item = Range<u64>>,
        mut arrived: impl FnMut(&SentFrame),
    ) -> Acked {
        let mut acked = Acked::default();
        let next = self.next().0;
        for range in ranges {
            debug_assert!(range.end <= next);
            self.largest_acked = self.largest_acked.max(Some(range.end - 1));
            for number in range.start.max(self.base)..range.end {
                let Some(sent) = self.ring.get_mut((number - self.base) as usize) else {
                    break;
                };
                if !std::mem::take(&mut sent.in_flight) {
                    continue;
                }
                self.in_flight -= 1;
                acked.charge += u64::from(sent.charge);
                acked.newest = acked.newest.max(Some((number, sent.at)));
                match sent.content {
                    Content::Probe => acked.probe = true,
                    _ => acked.long |= sent.long,
                }
                std::mem::take(&mut sent.content).frames().iter().for_each(&mut arrived);
            }
        }
        self.drop_settled();
        acked
    }

    /// Detects packets overtaken by number or by time. Calls `missing` for each of their frames.
    pub(super) fn detect_losses(&mut self, now: Instant, delay: Duration, mut missing: impl FnMut(&SentFrame)) -> Lost {
        let mut lost = Lost::default();
        self.loss_at = None;
        let Some(largest) = self.largest_acked else {
            return lost;
        };
        let below = largest.saturating_sub(self.base) as usize;
        for (index, sent) in self.ring.iter_mut().take(below).enumerate() {
            if !sent.in_flight {
                continue;
            }
            let number = self.base + index as u64;
            let overtaken = number + REORDERING <= largest;
            if !overtaken && now < sent.at + delay {
                // All later ones are newer.
                self.loss_at = Some(sent.at + delay);
                break;
            }
            sent.in_flight = false;
            self.in_flight -= 1;
            lost.add(number, sent);
            std::mem::take(&mut sent.content).frames().iter().for_each(&mut missing);
        }
        self.drop_settled();
        lost
    }

    fn drop_settled(&mut self) {
        while self.ring.front().is_some_and(|sent| !sent.in_flight) {
            self.ring.pop_front();
            self.base += 1;
        }
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_micros(100);

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    /// Packet `n` carries the RESET of transfer `n` and is sent at `n` microseconds.
    fn sent(count: u64) -> SentPackets {
        let mut sent = SentPackets::default();
        for n in 0..count {
            let content = Content::One(SentFrame::Reset { transfer: n });
            sent.push(at(n), 100, false, true, content);
        }
        sent
    }

    fn number(frame: &SentFrame) -> u64 {
        match *frame {
            SentFrame::Reset { transfer } => transfer,
            _ => panic!("{frame:?}"),
        }
    }

    #[test]
    fn each_packet_is_acknowledged_once() {
        let mut sent = sent(4);
        let mut seen = Vec::new();
        let acked = sent.on_ack([2..3, 0..1].into_iter(), |frame| seen.push(number(frame)));
        assert_eq!(acked, Acked { charge: 200, newest: Some((2, at(2))), ..Acked::default() });
        assert_eq!((sent.floor(), sent.in_flight()), (PacketNumber(1), 2));
        let again = sent.on_ack([0..4].into_iter(), |frame| seen.push(number(frame)));
        assert_eq!(again.charge, 200);
        assert_eq!(seen, [2, 0, 1, 3]);
        assert_eq!(sent.floor(), sent.next());
        assert_eq!(sent.on_ack([0..4].into_iter(), |_| panic!()), Acked::default());
    }

    #[test]
    fn lost_when_overtaken_by_three_or_by_time() {
        let mut sent = sent(6);
        let mut lost = Vec::new();
        sent.on_ack([4..5].into_iter(), |_| ());
        sent.detect_losses(at(6), DELAY, |frame| lost.push(number(frame)));
        assert_eq!(lost, [0, 1], "overtaken by three");
        assert_eq!(sent.loss_at(), Some(at(102)));
        sent.detect_losses(at(102), DELAY, |frame| lost.push(number(frame)));
        assert_eq!(lost, [0, 1, 2]);
        sent.detect_losses(at(1000), DELAY, |frame| lost.push(number(frame)));
        assert_eq!(lost, [0, 1, 2, 3], "never one that nothing has overtaken");
        assert_eq!((sent.in_flight(), sent.loss_at()), (1, None));
    }

    #[test]
    fn what_asks_for_nothing_is_not_kept() {
        let mut sent = SentPackets::default();
        for n in 0..1000 {
            sent.push(at(n), 50, false, false, Content::None);
        }
        assert_eq!(sent.ring.len(), 0);
        assert_eq!(sent.next(), PacketNumber(1000));
    }
}
