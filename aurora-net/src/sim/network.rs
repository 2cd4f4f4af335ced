//! A network in virtual time.

use super::{Link, Nic};
use crate::Rank;
use crate::proto::Instant;
use crate::random::Random;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

/// Bytes of Ethernet, IP and UDP around each datagram, including preamble and gap.
pub(super) const FRAMING: usize = 66;

/// A datagram at its destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// The contents, as received.
    pub bytes: Vec<u8>,
}

/// Counters of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Datagrams sent.
    pub sent: u64,
    /// The bytes of these datagrams.
    pub bytes: u64,
    /// Datagrams lost by chance, by a link that is down, or by the MTU.
    pub lost: u64,
    /// Datagrams lost because a port's queue was full.
    pub overflowed: u64,
}

/// Hosts connected by one switch, with a [`Link`] for each direction of each pair. A host sends through its [`Nic`],
/// one datagram after another. The switch port to each host has one rate and one queue for all its senders.
#[derive(Clone, Debug)]
pub struct Network {
    size: usize,
    nics: Vec<Nic>,
    link: Link,
    other_links: BTreeMap<usize, Link>,
    /// The time at which each host's port will have sent its queue.
    busy_until: Vec<Instant>,
    /// The arrival of the last datagram of each link, since jitter keeps the order.
    last_arrival: Vec<Instant>,
    on_the_way: Journeys,
    random: Random,
    tally: Tally,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Switch,
    Host,
}

/// An arrival: the time, a sequence number, the station, and the datagram's number, compared in this order.
type Arrival = (Instant, u64, Stage, u32);

#[derive(Clone, Debug, Default)]
struct Journeys {
    arrivals: BinaryHeap<Reverse<Arrival>>,
    sequence: u64,
    /// Datagrams by number. Kept apart from the heap, which moves its entries.
    datagrams: Vec<Option<Datagram>>,
    free: Vec<u32>,
}

impl Journeys {
    fn begin(&mut self, at: Instant, to: Stage, datagram: Datagram) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.datagrams.push(None);
            self.datagrams.len() as u32 - 1
        });
        self.datagrams[number as usize] = Some(datagram);
        self.sequence += 1;
        self.arrivals.push(Reverse((at, self.sequence, to, number)));
    }

    fn next(&self) -> Option<Instant> {
        self.arrivals.peek().map(|Reverse((at, ..))| *at)
    }

    fn end(&mut self) -> Option<(Instant, Stage, Datagram)> {
        let Reverse((at, _, to, number)) = self.arrivals.pop()?;
        self.free.push(number);
        Some((at, to, self.datagrams[number as usize].take()?))
    }
}

impl Network {
    /// Creates `size` hosts, each pair connected by two links like `link`. The interfaces have no limits at first.
    pub fn new(size: usize, seed: u64, link: &Link) -> Self {
        Network {
            size,
            nics: vec![Nic::default(); size],
            link: link.clone(),
            other_links: BTreeMap::new(),
            busy_until: vec![Instant::default(); size],
            last_arrival: vec![Instant::default(); size * size],
            on_the_way: Journeys::default(),
            random: Random::new(seed),
            tally: Tally::default(),
        }
    }

    /// The link of one direction. Changes apply to datagrams that have not reached the switch yet.
    pub fn link_mut(&mut self, from: Rank, to: Rank) -> &mut Link {
        let index = from.index() * self.size + to.index();
        self.other_links.entry(index).or_insert_with(|| self.link.clone())
    }

    /// The network interface of `host`.
    pub fn nic_mut(&mut self, host: Rank) -> &mut Nic {
        &mut self.nics[host.index()]
    }

    /// Sets all hosts' interfaces.
    pub fn set_nics(&mut self, nic: &Nic) {
        self.nics.fill(nic.clone());
    }

    /// The time at which the socket of `host` will accept a train; `None`: it accepts one now.
    pub fn full_until(&mut self, now: Instant, host: Rank) -> Option<Instant> {
        self.nics[host.index()].full_until(now)
    }

    /// The counters so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Sends a datagram.
    pub fn send(&mut self, now: Instant, datagram: Datagram) {
        self.tally.sent += 1;
        self.tally.bytes += datagram.bytes.len() as u64;
        let left = self.nics[datagram.from.index()].take(now, datagram.bytes.len());
        let latency = self.link(&datagram).latency;
        self.on_the_way.begin(left + latency, Stage::Switch, datagram);
    }

    /// The time of the next event of a datagram in flight.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.on_the_way.next()
    }

    /// A datagram that has arrived by `now`, if there is one.
    pub fn poll(&mut self, now: Instant) -> Option<Datagram> {
        while self.poll_timeout()? <= now {
            let (at, to, datagram) = self.on_the_way.end()?;
            match to {
                Stage::Switch => self.switch(at, datagram),
                Stage::Host => return Some(datagram),
            }
        }
        None
    }

    /// A datagram reaches the switch, which queues or drops it.
    fn switch(&mut self, mut at: Instant, mut datagram: Datagram) {
        let index = self.index(&datagram);
        let link = self.other_links.get(&index).unwrap_or(&self.link);
        let random = &mut self.random;
        if !link.up || datagram.bytes.len() > link.mtu || random.chance(link.loss) {
            self.tally.lost += 1;
            return;
        }
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
                let bit = random.below(8 * datagram.bytes.len());
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
            self.on_the_way.begin(again, Stage::Host, datagram.clone());
        }
        self.on_the_way.begin(at, Stage::Host, datagram);
    }

    fn index(&self, datagram: &Datagram) -> usize {
        datagram.from.index() * self.size + datagram.to.index()
    }

    fn link(&self, datagram: &Datagram) -> &Link {
        self.other_links.get(&self.index(datagram)).unwrap_or(&self.link)
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
            times.extend(network.poll(at).map(|_| at.as_nanos()));
        }
        assert_eq!(times, [60_000, 70_000, 80_000, 90_000, 100_000]);
        assert_eq!(network.tally().overflowed, 5);
    }

    #[test]
    fn an_interface_feeds_the_port_at_its_rate() {
        // Ten datagrams at once, through a port queue that holds two.
        let link = Link { rate: Some(100_000_000), queue: 2000, ..Link::default() };
        let mut network = Network::new(2, 1, &link);
        network.set_nics(&Nic::new(100_000_000, 1 << 20));
        for _ in 0..10 {
            network.send(Instant::default(), datagram(934));
        }
        let mut times = Vec::new();
        while let Some(at) = network.poll_timeout() {
            times.extend(network.poll(at).map(|_| at.as_nanos()));
        }
        assert_eq!(times, (0..10).map(|i| 70_000 + 10_000 * i).collect::<Vec<_>>());
        assert_eq!(network.tally().overflowed, 0);
    }
}
