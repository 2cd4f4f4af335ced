//! The limit of bytes in flight.

use super::{Config, Crowd, Instant, Network};
use crate::charge::charge;
use std::time::Duration;

/// On a dedicated network a loss of more than two packets and of more than this fraction of the window in one round
/// trip shrinks the window; less counts as damage.
const TOLERANCE: u64 = 50;

/// Bytes that all senders together may have in flight to one switch port: few enough for short queues, enough for a
/// round trip.
const PORT: u64 = 80 * 1024;

/// A rank that sends to several peers may have this many times its share in flight: its packets wait in its own
/// interface, and their acknowledgements wait behind the peer's data in the peer's interface. With less in flight the
/// network in between would run dry.
const SPREAD: u64 = 4;

/// Three limits (`README.md`), of which the lowest applies, in bytes as Linux charges them to a receive buffer.
///
/// - The peer's *grant*: its share of the receive buffer.
/// - The *crowd*: the ranks that send to one peer share [`PORT`]. A rank that sends to `n` peers in turns has
///   [`SPREAD`] times `n` times its share.
/// - The *congestion window* (AIMD), for everything else.
#[derive(Clone, Debug)]
pub(super) struct Window {
    network: Option<Network>,
    /// The charge of a full packet.
    packet: u64,
    mtu: u64,
    granted: u64,
    congestion: u64,
    threshold: u64,
    in_flight: u64,
    destinations: u64,
    /// Ranks that send bulk data to the peer, as reported by the peer.
    sources: u64,
    /// The value of `sources` after a long time without a report: all ranks.
    peers: u64,
    /// The next packet may not leave before this time, since our share is less than a packet.
    resume: Option<Instant>,
    /// The maximum of bytes in flight in this round trip: an unused window does not grow.
    peak: u64,
    /// Packets from this number on belong to the present round trip.
    round: u64,
    lost_this_round: u64,
    backed_off: bool,
}

impl Window {
    pub(super) fn new(config: &Config) -> Self {
        let packet = charge(config.mtu) as u64;
        let granted = config.window.max(2 * packet);
        let start = match config.network {
            None | Some(Network::Dedicated) => u64::MAX,
            Some(Network::Shared) => (10 * packet).min((4 * packet).max(64 * 1024)),
        };
        Window {
            network: config.network,
            packet,
            mtu: config.mtu as u64,
            granted,
            congestion: start,
            threshold: u64::MAX,
            in_flight: 0,
            destinations: 1,
            sources: config.peers as u64,
            peers: config.peers as u64,
            resume: None,
            peak: 0,
            round: 0,
            lost_this_round: 0,
            backed_off: false,
        }
    }

    pub(super) fn set_mtu(&mut self, mtu: usize) {
        self.packet = charge(mtu) as u64;
        self.mtu = mtu as u64;
    }

    pub(super) fn grant(&mut self, granted: u64, sources: u16) {
        self.granted = granted.max(2 * self.packet);
        self.sources = u64::from(sources);
    }

    pub(super) fn set_crowd(&mut self, crowd: Crowd) {
        self.destinations = u64::from(crowd.destinations.max(1));
    }

    /// True if another full packet may leave. `keep_some`: true only if some room is left then, so that a small
    /// transfer need not wait for an acknowledgement of bulk data.
    pub(super) fn has_room(&self, now: Instant, keep_some: bool) -> bool {
        if self.in_flight == 0 {
            return !keep_some || self.resume.is_none_or(|at| at <= now);
        }
        let limit = self.limit();
        let kept = if keep_some && limit >= 8 * self.packet { (limit / 8).min(4 * self.packet) } else { 0 };
        self.in_flight + self.packet + kept <= limit
    }

    /// The time at which a packet may leave that only the crowd limit holds back.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if self.in_flight == 0 { self.resume } else { None }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.resume = self.resume.filter(|at| *at > now);
    }

    /// True if more than a packet is in flight.
    pub(super) fn is_used(&self) -> bool {
        self.in_flight > self.packet
    }

    pub(super) fn has_room_for(&self, now: Instant, charge: u64) -> bool {
        match self.in_flight {
            0 => self.resume.is_none_or(|at| at <= now),
            flown => flown + charge <= self.limit(),
        }
    }

    pub(super) fn on_sent(&mut self, charge: u64) {
        self.in_flight += charge;
        self.peak = self.peak.max(self.in_flight);
    }

    /// Packets worth `charge` are acknowledged, the newest of them `after` it was sent; `next` is the next number.
    pub(super) fn on_acked(&mut self, now: Instant, charge: u64, newest: u64, after: Duration, next: u64) {
        let was_used = 2 * self.peak >= self.congestion;
        self.in_flight -= charge;
        if let Some(wait) = self.pause(after) {
            self.resume = Some(now + wait);
        }
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

    /// Packets worth `charge` are lost; `next` is the next packet's number.
    pub(super) fn on_lost(&mut self, charge: u64, next: u64) {
        self.in_flight -= charge;
        self.lost_this_round += charge;
        let window = self.congestion.min(self.limit().max(self.peak));
        let (tolerated, tenths) = match self.network {
            Some(Network::Shared) => (0, 5),
            None | Some(Network::Dedicated) => ((window / TOLERANCE).max(2 * self.packet), 7),
        };
        if !self.backed_off && self.lost_this_round > tolerated {
            self.shrink_to(window / 10 * tenths);
            self.round = next;
            self.backed_off = true;
        }
    }

    /// An MTU probe is lost, which is no sign of congestion.
    pub(super) fn on_probe_lost(&mut self, charge: u64) {
        self.in_flight -= charge;
    }

    /// Several probes in a row were unanswered: the state of the path is unknown.
    pub(super) fn collapse(&mut self) {
        let before = self.congestion / 10 * 7;
        self.shrink_to(0);
        self.threshold = before.max(self.congestion);
    }

    /// Nothing is queued or in flight: the known number of sources becomes outdated.
    pub(super) fn rest(&mut self) {
        self.sources = self.peers;
        self.resume = None;
    }

    fn limit(&self) -> u64 {
        self.granted.min(self.congestion).min(self.crowd())
    }

    /// This rank's share of the peer's port.
    fn crowd(&self) -> u64 {
        if self.network.is_none() || self.sources <= 1 {
            return u64::MAX;
        }
        if self.destinations > 1 { SPREAD * self.share() } else { self.share() }
    }

    fn share(&self) -> u64 {
        PORT * self.destinations * self.packet / (self.sources.max(1) * self.mtu)
    }

    /// The pause after a packet that was acknowledged `after` it was sent: keeps the average in flight in the share.
    fn pause(&self, after: Duration) -> Option<Duration> {
        let crowd = self.crowd().max(1);
        let missing = self.packet.checked_sub(crowd)?;
        // At most as long as for a port whose queue is full of packets of other ranks.
        Some(after.mul_f64(missing as f64 / crowd as f64).min(Duration::from_millis(100)))
    }

    /// The minimum of the congestion window: two packets on a shared network, otherwise half of this rank's share.
    fn least(&self) -> u64 {
        let two = 2 * self.packet;
        match self.network {
            Some(Network::Shared) => two,
            None | Some(Network::Dedicated) => (self.share() / 2).clamp(self.packet, self.granted),
        }
    }

    fn shrink_to(&mut self, congestion: u64) {
        self.congestion = congestion.max(self.least());
        self.threshold = self.congestion;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rank;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn config(network: Option<Network>, peers: usize) -> Config {
        Config { network, peers, ..Config::new(0, Rank::new(0), Rank::new(1)) }
    }

    fn window(network: Network) -> Window {
        Window::new(&config(Some(network), 1))
    }

    /// Sends while there is room, then acknowledges everything. Returns the number of bytes.
    fn round_trip(window: &mut Window, next: &mut u64) -> u64 {
        let first = *next;
        while window.has_room(at(0), false) {
            window.on_sent(window.packet);
            *next += 1;
        }
        let flown = window.in_flight;
        for number in first..*next {
            window.on_acked(at(0), window.packet, number, MS, *next);
        }
        flown
    }

    fn lose(window: &mut Window, next: &mut u64, packets: u64) {
        for _ in 0..packets {
            window.on_sent(window.packet);
            *next += 1;
        }
        for _ in 0..packets {
            window.on_lost(window.packet, *next);
        }
    }

    #[test]
    fn a_network_of_our_own_is_used_at_once_one_of_others_step_by_step() {
        let (mut own, mut next) = (window(Network::Dedicated), 0);
        assert!(round_trip(&mut own, &mut next) > 250 * 1024);
        let (mut others, mut next) = (window(Network::Shared), 0);
        let first = round_trip(&mut others, &mut next);
        assert!(round_trip(&mut others, &mut next) > first * 3 / 2);
        for _ in 0..10 {
            assert!(round_trip(&mut others, &mut next) <= 256 * 1024, "what is granted");
        }
        assert!(round_trip(&mut others, &mut next) > 250 * 1024);
    }

    #[test]
    fn backs_off_once_a_round_trip_and_opens_again() {
        for (network, tenths) in [(Network::Dedicated, 7), (Network::Shared, 5)] {
            let (mut window, mut next) = (window(network), 0);
            for _ in 0..8 {
                round_trip(&mut window, &mut next);
            }
            let before = window.limit();
            lose(&mut window, &mut next, 20);
            assert_eq!(window.congestion, before / 10 * tenths);
            let after = round_trip(&mut window, &mut next);
            for _ in 0..5 {
                round_trip(&mut window, &mut next);
            }
            assert!(round_trip(&mut window, &mut next) > after);
        }
    }

    #[test]
    fn one_lost_packet_of_many_is_damage_unless_others_use_the_network() {
        for (network, changes) in [(Network::Dedicated, false), (Network::Shared, true)] {
            let (mut window, mut next) = (window(network), 0);
            for _ in 0..8 {
                round_trip(&mut window, &mut next);
            }
            let before = window.congestion;
            lose(&mut window, &mut next, 1);
            assert_eq!(window.congestion != before, changes, "{network:?}");
        }
    }

    #[test]
    fn never_closes_altogether() {
        let mut window = window(Network::Shared);
        window.collapse();
        window.grant(1, 1);
        assert!(window.has_room(at(0), true));
        window.on_sent(window.packet);
        assert!(window.has_room(at(0), true) && window.has_room(at(0), false));
        window.on_sent(window.packet);
        assert!(!window.has_room(at(0), true) && !window.has_room(at(0), false));
    }

    #[test]
    fn many_senders_to_one_share_its_port() {
        let crowd = |sources: u16, destinations| {
            let mut window = Window::new(&config(Some(Network::Dedicated), 15));
            window.grant(1 << 20, sources);
            window.set_crowd(Crowd { destinations, sources: 0 });
            round_trip(&mut window, &mut 0) / window.packet
        };
        let port = PORT / 1472;
        assert!(crowd(1, 1) > 6 * port, "alone");
        assert!((port / 2 - 1..=port / 2).contains(&crowd(2, 1)));
        assert!((4 * port..4 * port + 4).contains(&crowd(15, 15)), "all to all");
        assert_eq!(crowd(1000, 1), 1);
    }

    #[test]
    fn a_share_of_less_than_a_packet_is_kept_by_waiting() {
        let mut window = Window::new(&Config { mtu: 8972, ..config(Some(Network::Dedicated), 15) });
        assert!(window.has_room(at(0), true));
        window.on_sent(window.packet);
        assert!(!window.has_room(at(0), true));
        window.on_acked(at(5), window.packet, 0, MS, 1);
        let resumes = window.poll_timeout().unwrap();
        // 15 x 8972 bytes are 1.64 x the port.
        assert!((at(5) + MS * 6 / 10..at(5) + MS * 7 / 10).contains(&resumes), "{resumes:?}");
        assert!(!window.has_room(at(5), true) && window.has_room(resumes, true));
        assert!(window.has_room(at(5), false), "what is small need not wait");
        window.handle_timeout(resumes);
        assert_eq!(window.poll_timeout(), None);
        window.rest();
        assert!(window.has_room(at(0), true));
    }
}
