//! Datagrams in virtual time.

use super::{Link, Random};
use crate::Rank;
use crate::proto::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Bytes of Ethernet, IP and UDP around each datagram, preamble and gap included.
const FRAMING: usize = 66;

/// A datagram at its destination.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Datagram {
    /// Who sent it.
    pub from: Rank,
    /// To whom.
    pub to: Rank,
    /// What arrived.
    pub bytes: Vec<u8>,
}

/// What has happened to datagrams so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Given to the network.
    pub sent: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Lost by chance, by a link that is down, or too long.
    pub lost: u64,
    /// Lost because a port's queue was full.
    pub overflowed: u64,
}

/// Hosts that are joined by one switch: each pair of them by a [`Link`] in each direction; the port to each host has one
/// rate and one queue for all that comes to it.
#[derive(Clone, Debug)]
pub struct Network {
    size: usize,
    links: Vec<Link>,
    /// When the port to each host will have sent what it holds.
    busy_until: Vec<Instant>,
    /// When the last datagram of each link arrives: jitter does not reorder.
    last_arrival: Vec<Instant>,
    on_the_way: BinaryHeap<Reverse<(Instant, u64, Datagram)>>,
    sequence: u64,
    random: Random,
    tally: Tally,
}

impl Network {
    /// `size` hosts, each pair joined by two of `link`.
    pub fn new(size: usize, seed: u64, link: &Link) -> Self {
        Network {
            size,
            links: vec![link.clone(); size * size],
            busy_until: vec![Instant::default(); size],
            last_arrival: vec![Instant::default(); size * size],
            on_the_way: BinaryHeap::new(),
            sequence: 0,
            random: Random::new(seed),
            tally: Tally::default(),
        }
    }

    /// The link of one direction; may be changed at any time.
    pub fn link_mut(&mut self, from: Rank, to: Rank) -> &mut Link {
        &mut self.links[from.index() * self.size + to.index()]
    }

    /// What has happened so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// A host sends a datagram.
    pub fn send(&mut self, now: Instant, mut datagram: Datagram) {
        let index = datagram.from.index() * self.size + datagram.to.index();
        let link = &self.links[index];
        let random = &mut self.random;
        self.tally.sent += 1;
        self.tally.bytes += datagram.bytes.len() as u64;
        if !link.up || datagram.bytes.len() > link.mtu || random.chance(link.loss) {
            self.tally.lost += 1;
            return;
        }
        let mut at = now + link.latency;
        if let Some(rate) = link.rate {
            let port = &mut self.busy_until[datagram.to.index()];
            let waiting = (*port - at).as_nanos() * u128::from(rate) / 1_000_000_000;
            if waiting + datagram.bytes.len() as u128 > link.queue as u128 {
                self.tally.overflowed += 1;
                return;
            }
            let nanos = (datagram.bytes.len() + FRAMING) as u64 * 1_000_000_000 / rate;
            at = at.max(*port) + Duration::from_nanos(nanos);
            *port = at;
        }
        at += Duration::from_nanos(random.below(link.jitter.as_nanos() as u64 + 1));
        if random.chance(link.corruption) && !datagram.bytes.is_empty() {
            for _ in 0..=random.below(3) {
                let bit = random.below(8 * datagram.bytes.len() as u64) as usize;
                datagram.bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        let late = Duration::from_nanos(random.below(4 * link.latency.as_nanos() as u64));
        let again = random.chance(link.duplication).then_some(at + late);
        if random.chance(link.reorder) {
            at += late;
        } else {
            at = at.max(self.last_arrival[index]);
            self.last_arrival[index] = at;
        }
        if let Some(again) = again {
            self.arrive(again, datagram.clone());
        }
        self.arrive(at, datagram);
    }

    /// When the next datagram arrives, if one is on its way.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.on_the_way.peek().map(|Reverse((at, ..))| *at)
    }

    /// A datagram that has arrived by `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Datagram> {
        if self.poll_timeout()? > now {
            return None;
        }
        self.on_the_way.pop().map(|Reverse((.., datagram))| datagram)
    }

    fn arrive(&mut self, at: Instant, datagram: Datagram) {
        self.sequence += 1;
        self.on_the_way.push(Reverse((at, self.sequence, datagram)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(len: usize) -> Datagram {
        Datagram { from: Rank::new(0), to: Rank::new(1), bytes: vec![7; len] }
    }

    fn arrivals(link: &Link, seed: u64, count: usize) -> Vec<(u64, Vec<u8>)> {
        let mut network = Network::new(2, seed, link);
        for i in 0..count {
            let mut datagram = datagram(100);
            datagram.bytes[0] = i as u8;
            network.send(Instant::from_nanos(1000 * i as u64), datagram);
        }
        let mut seen = Vec::new();
        while let Some(at) = network.poll_timeout() {
            seen.extend(network.poll(at).map(|datagram| (at.as_nanos(), datagram.bytes)));
        }
        seen
    }

    #[test]
    fn a_perfect_link_keeps_everything_in_order() {
        let seen = arrivals(&Link::default(), 1, 100);
        assert!(seen.iter().enumerate().all(|(i, (at, bytes))| {
            *at == 50_000 + 1000 * i as u64 && bytes[0] == i as u8 && bytes[1..] == [7; 99]
        }));
    }

    #[test]
    fn jitter_keeps_the_order_reordering_does_not() {
        let jitter = Duration::from_micros(30);
        let firsts = |link| arrivals(&link, 2, 100).iter().map(|(_, bytes)| bytes[0]).collect::<Vec<_>>();
        assert!(firsts(Link { jitter, ..Link::default() }).is_sorted());
        let reorder = 0.2;
        assert!(!firsts(Link { reorder, ..Link::default() }).is_sorted());
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let link = Link {
            loss: 0.2,
            duplication: 0.2,
            reorder: 0.2,
            corruption: 0.2,
            jitter: Duration::from_micros(9),
            ..Link::default()
        };
        assert_eq!(arrivals(&link, 3, 200), arrivals(&link, 3, 200));
        assert_ne!(arrivals(&link, 3, 200), arrivals(&link, 4, 200));
    }

    #[test]
    fn a_port_sends_at_its_rate_and_drops_what_its_queue_cannot_hold() {
        let link = Link { rate: Some(100_000_000), queue: 5000, ..Link::default() };
        let mut network = Network::new(3, 1, &link);
        for i in 0..10 {
            network.send(Instant::default(), Datagram { from: Rank::new(2 * (i % 2)), ..datagram(934) });
        }
        let mut times = Vec::new();
        while let Some(at) = network.poll_timeout() {
            network.poll(at);
            times.push(at.as_nanos());
        }
        assert_eq!(times, [60_000, 70_000, 80_000, 90_000, 100_000]);
        assert_eq!(network.tally().overflowed, 5);
    }
}
