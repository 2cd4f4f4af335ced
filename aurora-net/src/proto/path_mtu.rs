//! How long a packet to the peer may be: found out by sending long ones, as RFC 8899 does.

use super::{Config, Instant};
use crate::charge::charge;
use std::time::Duration;

/// What to try below the limit, longest first, in bytes of UDP payload. Jumbo Ethernet; the longest that the kernel
/// keeps in 8 and in 4 KiB, which are also below what tunnels and clouds leave of a jumbo frame (8950, 8896, 8500) and
/// below the older sizes above Ethernet's (4470, 4352, 4096); IP over InfiniBand. What lies between is not worth a
/// search.
const SIZES: [usize; 4] = [8972, 7752, 3656, 2016];

/// How often each is tried, so that ordinary loss is not taken for the path's limit.
const TRIES: u32 = 3;
/// How long to wait after the first try in vain; ten times as long after the next.
const PAUSE: Duration = Duration::from_millis(10);

/// In so many round trips in a row long packets were lost and none arrived: the path does not carry them any more.
const SUSPICIONS: u32 = 3;
/// How long to be content with less than the limit then, or after a search that has not reached it, perhaps because
/// others' data filled the queues; twice as long each time, up to a minute.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The length of packets on one path: the base, which is taken on trust, until a probe of more has arrived.
///
/// A probe is a packet that carries nothing but its length, so that nothing is lost with it. It leaves only while bulk
/// data waits behind it; so there is no timer here, and a path that carries little is not probed at all.
#[derive(Clone, Debug)]
pub(super) struct PathMtu {
    base: usize,
    limit: usize,
    /// The longest that is known to arrive.
    known: usize,
    /// The longest that may still be tried.
    ceiling: usize,
    /// What the peer grants in flight: two packets must fit.
    granted: u64,
    /// Bulk data queued so far, as far as it matters.
    demand: usize,
    /// The length of the probe that is on its way.
    under_way: Option<usize>,
    tries: u32,
    not_before: Instant,
    suspicions: u32,
    /// Long packets below this number have told all they have to tell.
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

    /// How long packets are now.
    pub(super) fn size(&self) -> usize {
        if self.fits(self.known) { self.known } else { self.base }
    }

    /// Whether a packet of `len` bytes would have been too long before anything was tried.
    pub(super) fn is_long(&self, len: usize) -> bool {
        len > self.base
    }

    /// What the peer grants in flight.
    pub(super) fn grant(&mut self, granted: u64) {
        self.granted = granted;
    }

    /// So much bulk data is to be sent. The first packet's worth of the limit is not worth a probe.
    pub(super) fn want(&mut self, bytes: usize) {
        self.demand = self.demand.saturating_add(bytes).min(self.limit);
    }

    /// The length to try now, if any.
    pub(super) fn candidate(&self, now: Instant) -> Option<usize> {
        // First what is quickly told.
        let idle = self.known == self.limit || self.demand < self.limit || self.under_way.is_some();
        if idle || now < self.not_before {
            return None;
        }
        self.sizes().find(|&size| self.fits(size))
    }

    /// A probe of `len` bytes leaves.
    pub(super) fn on_probe_sent(&mut self, now: Instant, len: usize) {
        self.under_way = Some(len);
        self.not_before = now + PAUSE * 10_u32.pow(self.tries);
        self.tries += 1;
    }

    /// It has arrived.
    pub(super) fn on_probe_arrived(&mut self, now: Instant) {
        if let Some(len) = self.under_way.take() {
            self.known = len;
            self.go_on(now);
        }
    }

    /// It has not.
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

    /// The long packet `number` is lost; `next` will be the next packet's number.
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

    /// Nothing that is long arrives any more: back to the base, and look again later.
    fn fall_back(&mut self, now: Instant) {
        self.suspicions = 0;
        if self.known == self.base {
            return;
        }
        self.known = self.base;
        self.rest(now);
    }

    /// To the next size, if there is one.
    fn go_on(&mut self, now: Instant) {
        self.tries = 0;
        self.not_before = now;
        if self.known < self.limit && self.sizes().next().is_none() {
            self.rest(now);
        }
    }

    /// The search is over; another one later.
    fn rest(&mut self, now: Instant) {
        self.ceiling = self.limit;
        self.tries = 0;
        self.not_before = now + self.rest;
        self.rest = (2 * self.rest).min(LONGEST_REST);
    }

    /// What may be tried, longest first.
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

    /// Tries what there is to try on a path that carries `carries`, and lists it with the milliseconds since the start.
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
    fn who_has_found_something_in_between_looks_for_more_later() {
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
