//! How much may be in flight.

use super::Config;
use crate::charge::charge;

/// Loss of more than one part in so many of a window in one round trip makes us back off; less is taken for damage.
const TOLERANCE: u64 = 50;

/// The congestion window does not get smaller: four packets on Ethernet, so that a loss can be told from a later packet.
const LEAST: u64 = 9 * 1024;

/// The window that the peer grants, and below it a congestion window: it doubles each round trip until the first loss,
/// then grows by a packet and shrinks to seven tenths (AIMD).
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// What one full packet is charged.
    packet: u64,
    granted: u64,
    congestion: u64,
    threshold: u64,
    in_flight: u64,
    /// The most in flight in the present round trip: a window that is not used does not grow.
    peak: u64,
    /// Packets from this number on belong to the present round trip.
    round: u64,
    lost_this_round: u64,
    backed_off: bool,
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        let packet = charge(config.mtu) as u64;
        let start = (10 * packet).min((4 * packet).max(64 * 1024));
        Window {
            packet,
            granted: config.window.max(2 * packet),
            congestion: start,
            threshold: u64::MAX,
            in_flight: 0,
            peak: 0,
            round: 0,
            lost_this_round: 0,
            backed_off: false,
        }
    }

    /// What a full packet is charged from now on.
    pub(super) fn set_packet(&mut self, packet: u64) {
        self.packet = packet;
    }

    /// What the peer grants.
    pub(super) fn grant(&mut self, granted: u64) {
        self.granted = granted.max(2 * self.packet);
    }

    /// Whether one more full packet may leave. `keep_some`: and leave a little room, so that a small transfer need not
    /// wait for an acknowledgement of bulk data.
    pub(super) fn has_room(&self, keep_some: bool) -> bool {
        let limit = self.congestion.min(self.granted);
        let kept = if keep_some { (limit / 8).min(4 * self.packet) } else { 0 };
        self.in_flight == 0 || self.in_flight + self.packet + kept <= limit.max(2 * self.packet + kept)
    }

    /// Whether a packet of another length may leave.
    pub(super) fn has_room_for(&self, charge: u64) -> bool {
        self.in_flight == 0 || self.in_flight + charge <= self.congestion.min(self.granted)
    }

    pub(super) fn on_sent(&mut self, charge: u64) {
        self.in_flight += charge;
        self.peak = self.peak.max(self.in_flight);
    }

    /// Packets worth `charge`, the newest of them `newest`, have arrived; `next` will be the next packet's number.
    pub(super) fn on_acked(&mut self, charge: u64, newest: u64, next: u64) {
        let was_used = 2 * self.peak >= self.congestion;
        self.in_flight -= charge;
        if newest >= self.round {
            self.round = next;
            self.peak = self.in_flight;
            self.lost_this_round = 0;
            self.backed_off = false;
        }
        if !was_used || self.backed_off {
            return;
        }
        let growth =
            if self.congestion < self.threshold { charge } else { (charge * self.packet / self.congestion).max(1) };
        self.congestion = (self.congestion + growth).min(self.granted);
    }

    /// Packets worth `charge` are lost; `next` will be the next packet's number.
    pub(super) fn on_lost(&mut self, charge: u64, next: u64) {
        self.in_flight -= charge;
        self.lost_this_round += charge;
        if !self.backed_off && self.lost_this_round * TOLERANCE > self.congestion {
            self.shrink_to(self.congestion / 10 * 7);
            self.round = next;
            self.backed_off = true;
        }
    }

    /// A packet worth `charge` is sent again as a probe; that is no sign of congestion yet.
    pub(super) fn on_probed(&mut self, charge: u64) {
        self.in_flight -= charge;
    }

    /// Several probes in a row have been in vain: nothing is known of the path any more, so start again.
    pub(super) fn collapse(&mut self) {
        let before = self.congestion / 10 * 7;
        self.shrink_to(0);
        self.threshold = before.max(self.congestion);
    }

    fn shrink_to(&mut self, congestion: u64) {
        self.congestion = congestion.max(2 * self.packet).max(LEAST);
        self.threshold = self.congestion;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rank;

    fn window() -> Window {
        Window::new(&Config::new(0, Rank::new(0), Rank::new(1)))
    }

    /// Sends while there is room, then acknowledges all of it.
    fn round_trip(window: &mut Window, next: &mut u64) -> u64 {
        let first = *next;
        while window.has_room(false) {
            window.on_sent(window.packet);
            *next += 1;
        }
        let flown = window.in_flight;
        for number in first..*next {
            window.on_acked(window.packet, number, *next);
        }
        flown
    }

    #[test]
    fn opens_up_to_what_is_granted_and_never_beyond() {
        let (mut window, mut next) = (window(), 0);
        let first = round_trip(&mut window, &mut next);
        assert!(round_trip(&mut window, &mut next) > first * 3 / 2);
        for _ in 0..10 {
            assert!(round_trip(&mut window, &mut next) <= 256 * 1024);
        }
        assert!(round_trip(&mut window, &mut next) > 250 * 1024);
    }

    #[test]
    fn backs_off_once_a_round_trip_and_opens_again() {
        let (mut window, mut next) = (window(), 0);
        for _ in 0..8 {
            round_trip(&mut window, &mut next);
        }
        let before = window.congestion;
        for _ in 0..20 {
            window.on_sent(window.packet);
            next += 1;
        }
        for _ in 0..20 {
            window.on_lost(window.packet, next);
        }
        assert_eq!(window.congestion, before / 10 * 7);
        let after = round_trip(&mut window, &mut next);
        for _ in 0..5 {
            round_trip(&mut window, &mut next);
        }
        assert!(round_trip(&mut window, &mut next) > after);
    }

    #[test]
    fn one_damaged_packet_of_many_changes_nothing() {
        let (mut window, mut next) = (window(), 0);
        for _ in 0..8 {
            round_trip(&mut window, &mut next);
        }
        let before = window.congestion;
        window.on_sent(window.packet);
        window.on_lost(window.packet, next + 1);
        assert_eq!(window.congestion, before);
    }

    #[test]
    fn never_closes_altogether() {
        let mut window = window();
        window.collapse();
        window.grant(1);
        assert!(window.has_room(true));
        window.on_sent(window.packet);
        assert!(window.has_room(true) && window.has_room(false));
        window.on_sent(window.packet);
        assert!(!window.has_room(true) && !window.has_room(false));
    }
}
