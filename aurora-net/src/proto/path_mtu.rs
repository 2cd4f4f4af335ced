//! The length of packets to the peer, found by sending long ones, as in RFC 8899.

use super::{Config, Instant};
use crate::charge::charge;
use std::time::Duration;

/// The lengths to try below the limit, in bytes of UDP payload: jumbo Ethernet; the longest that Linux stores in 8 KiB
/// and in 4 KiB; IP over InfiniBand. The lengths for Linux are also below the MTUs of jumbo frames through tunnels and
/// clouds (8950, 8896, 8500) and below older MTUs above Ethernet's (4470, 4352, 4096). Lengths in between are not worth
/// a search.
const SIZES: [usize; 4] = [8972, 7752, 3656, 2016];

/// The number of tries of each length, so that ordinary loss is not taken for the path's limit.
const TRIES: u32 = 3;
/// The pause after a length's first failed try; ten times as long after the second.
const PAUSE: Duration = Duration::from_millis(10);

/// After this many round trips in a row that lost long packets and delivered none, the path no longer carries them.
const SUSPICIONS: u32 = 3;
/// The pause before another search: after such a fall back to the base, or after a search that did not reach the
/// limit, perhaps because queues were full. It doubles each time, up to a minute.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The length of packets on one path: the base length, which is assumed to arrive, until a longer probe has arrived.
/// A probe is a packet without data, so its loss loses no data. It is sent only while bulk data waits behind it: so
/// no timer is needed, and a path with little traffic is not probed.
#[derive(Clone, Debug)]
pub(super) struct PathMtu {
    base: usize,
    limit: usize,
    known: usize,
    /// The longest length that may still be tried.
    ceiling: usize,
    /// The peer's grant in bytes in flight: two packets must fit.
    granted: u64,
    /// Bulk data queued so far, up to the limit.
    demand: usize,
    under_way: Option<usize>,
    tries: u32,
    not_before: Instant,
    suspicions: u32,
    /// Losses of long packets below this number belong to an earlier round trip.
    round: u64,
    rest: Duration,
}

impl PathMtu {
    pub(super) fn new(config: &Config) -> Self {
        let limit = config.mtu_limit.max(config.mtu);
        PathMtu {
            base: config.mtu,
            limit,
            known: config.mtu,
            ceiling: limit,
            granted: config.window,
            demand: 0,
            under_way: None,
            tries: 0,
            not_before: Instant::default(),
            suspicions: 0,
            round: 0,
            rest: REST,
        }
    }

    pub(super) fn size(&self) -> usize {
        if self.fits(self.known) { self.known } else { self.base }
    }

    pub(super) fn is_long(&self, len: usize) -> bool {
        len > self.base
    }

    pub(super) fn grant(&mut self, granted: u64) {
        self.granted = granted;
    }

    /// Notes that `bytes` of bulk data were queued. Less than one packet of the limit in total is not worth a probe.
    pub(super) fn want(&mut self, bytes: usize) {
        self.demand = self.demand.saturating_add(bytes).min(self.limit);
    }

    /// The length to probe now, if any.
    pub(super) fn candidate(&self, now: Instant) -> Option<usize> {
        let idle = self.known == self.limit || self.demand < self.limit || self.under_way.is_some();
        if idle || now < self.not_before {
            return None;
        }
        self.sizes().find(|&size| self.fits(size))
    }

    pub(super) fn on_probe_sent(&mut self, now: Instant, len: usize) {
        self.under_way = Some(len);
        self.not_before = now + PAUSE * 10_u32.pow(self.tries);
        self.tries += 1;
    }

    pub(super) fn on_probe_arrived(&mut self, now: Instant) {
        if let Some(len) = self.under_way.take() {
            self.known = len;
            self.go_on(now);
        }
    }

    pub(super) fn on_probe_lost(&mut self, now: Instant) {
        if let Some(len) = self.under_way.take()
            && self.tries >= TRIES
        {
            self.ceiling = len - 1;
            self.go_on(now);
        }
    }

    /// A long packet with data has arrived.
    pub(super) fn on_arrived(&mut self) {
        self.suspicions = 0;
    }

    /// The long packet `number` is lost; `next` is the next packet's number.
    pub(super) fn on_lost(&mut self, now: Instant, number: u64, next: u64) {
        if number < self.round {
            return;
        }
        self.round = next;
        self.suspicions += 1;
        if self.suspicions >= SUSPICIONS {
            self.fall_back(now);
        }
    }

    /// Long packets no longer arrive: returns to the base, and searches again later.
    fn fall_back(&mut self, now: Instant) {
        self.suspicions = 0;
        if self.known == self.base {
            return;
        }
        self.known = self.base;
        self.rest(now);
    }

    fn go_on(&mut self, now: Instant) {
        self.tries = 0;
        self.not_before = now;
        if self.known < self.limit && self.sizes().next().is_none() {
            self.rest(now);
        }
    }

    fn rest(&mut self, now: Instant) {
        self.ceiling = self.limit;
        self.tries = 0;
        self.not_before = now + self.rest;
        self.rest = (2 * self.rest).min(LONGEST_REST);
    }

    fn sizes(&self) -> impl Iterator<Item = usize> {
        let wanted = self.known + self.known / 8..=self.ceiling;
        [self.limit].into_iter().chain(SIZES).filter(move |size| wanted.contains(size))
    }

    fn fits(&self, size: usize) -> bool {
        2 * charge(size) as u64 <= self.granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const START: Instant = Instant::from_nanos(5_000_000_000);

    fn path(limit: usize) -> PathMtu {
        let mut path = PathMtu::new(&Config { mtu_limit: limit, ..Config::new(0, 0.into(), 1.into()) });
        path.want(limit);
        path
    }

    /// Runs the search on a path that carries `carries` bytes. Returns the lengths tried, with their times in ms.
    fn search(path: &mut PathMtu, from: Instant, carries: usize) -> Vec<(u128, usize)> {
        let mut tried = Vec::new();
        for ms in 0..5000 {
            let now = from + MS * ms;
            while let Some(len) = path.candidate(now) {
                tried.push(((now - START).as_millis(), len));
                path.on_probe_sent(now, len);
                assert_eq!(path.candidate(now), None, "one at a time");
                if len <= carries { path.on_probe_arrived(now) } else { path.on_probe_lost(now) }
            }
        }
        tried
    }

    #[test]
    fn the_limit_first_and_nothing_after_it() {
        for limit in [1672, 8972, 8500, 30_000] {
            let mut path = path(limit);
            assert_eq!(search(&mut path, START, limit), [(0, limit)]);
            assert_eq!(path.size(), limit);
        }
    }

    #[test]
    fn each_size_three_times_with_growing_pauses_and_later_anew() {
        let mut path = path(8972);
        let tried = search(&mut path, START, 1472);
        assert_eq!(tried[..4], [(0, 8972), (10, 8972), (110, 8972), (110, 7752)]);
        let sizes = [8972, 7752, 3656, 2016].map(|size| [size; 3]).concat();
        let one_search = |tried: &[(u128, usize)]| tried.iter().map(|(_, size)| *size).eq(sizes.iter().copied());
        assert!(tried.chunks(12).all(one_search), "{tried:?}");
        let starts: Vec<_> = tried.chunks(12).map(|search| search[0].0).collect();
        assert_eq!(starts, [0, 1440, 3880], "1 s and 2 s after the end of the one before");
        assert_eq!(path.size(), 1472);
    }

    #[test]
    fn a_search_that_stops_below_the_limit_is_repeated() {
        let mut path = path(8972);
        let tried = search(&mut path, START, 4000);
        assert_eq!(tried[6], (220, 3656));
        assert_eq!(tried[7..10], [(1220, 8972), (1230, 8972), (1330, 8972)]);
        assert_eq!(path.size(), 3656);
    }

    #[test]
    fn what_is_hardly_longer_is_not_tried() {
        assert_eq!(search(&mut path(1472), START, 9000), []);
        assert_eq!(search(&mut path(1600), START, 9000), []);
    }

    #[test]
    fn nothing_is_tried_for_little_data() {
        let mut path = PathMtu::new(&Config { mtu_limit: 8972, ..Config::new(0, 0.into(), 1.into()) });
        path.want(8000);
        assert_eq!(path.candidate(START), None);
        path.want(8000);
        assert_eq!(path.candidate(START), Some(8972));
    }

    #[test]
    fn a_small_window_keeps_packets_short() {
        let mut path = path(8972);
        path.grant(20_000);
        assert_eq!(search(&mut path, START, 9000), [(0, 7752)]);
        path.grant(10_000);
        assert_eq!(path.size(), 1472);
        path.grant(20_000);
        assert_eq!(path.size(), 7752);
    }

    #[test]
    fn long_packets_lost_in_three_round_trips_in_a_row() {
        let mut path = path(8972);
        search(&mut path, START, 9000);
        for (number, next) in [(3, 10), (5, 10), (9, 11), (10, 12)] {
            assert_eq!(path.size(), 8972);
            path.on_lost(START, number, next);
        }
        assert_eq!(path.size(), 8972, "once a round trip");
        path.on_arrived();
        for number in [12, 13] {
            path.on_lost(START, number, number + 1);
        }
        assert_eq!(path.size(), 8972);
        path.on_lost(START, 14, 15);
        assert_eq!(path.size(), 1472);
    }

    #[test]
    fn after_a_black_hole_it_looks_again_later_and_later() {
        let mut path = path(8972);
        search(&mut path, START, 9000);
        let mut now = START;
        for rest in [1000, 2000, 4000] {
            path.fall_back(now);
            assert_eq!((path.size(), path.candidate(now + (rest - 1) * MS)), (1472, None));
            now += rest * MS;
            assert_eq!(search(&mut path, now, 9000)[0].1, 8972);
            assert_eq!(path.size(), 8972);
        }
    }
}
