//! Bulk operations on a simulated network, and their durations.

use super::{Cluster, Host, Link, Memory, Nic, Tally};
use crate::Rank;
use crate::charge::charge;
use crate::proto::{Counters, Instant, Network, Trains};
use crate::random::Random;
use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// The limit of a run, which only a hanging one exceeds.
const LIMIT: Duration = Duration::from_secs(10_000);

/// The senders and receivers of a bulk operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Every rank sends its block to all others, as a `ReadCache` does.
    Allgather,
    /// Every rank sends an equal part of its bytes to each other rank, as a sort does.
    Exchange,
    /// All other ranks send to rank 0.
    Gather,
    /// Rank 0 sends to rank 1.
    Stream,
}

/// A bulk operation on a network with one switch.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The senders and receivers.
    pub pattern: Pattern,
    /// The number of ranks.
    pub ranks: usize,
    /// The bytes of each sending rank: its block, or the sum of its parts for all ranks, including itself.
    pub bytes: usize,
    /// In [`Allgather`](Pattern::Allgather) and [`Exchange`](Pattern::Exchange) each rank sends only to this many ranks
    /// after it, as if to all: a large world in little memory. `None`: to all.
    pub neighbours: Option<usize>,
    /// The maximum difference of the parts of an [`Exchange`](Pattern::Exchange) from equal parts, as a fraction.
    pub uneven: f64,
    /// Bytes per second of each interface and port.
    pub rate: u64,
    /// The longest datagram of the network, in bytes of UDP payload.
    pub mtu: usize,
    /// The length of datagrams that connections use at first.
    pub known_mtu: usize,
    /// The queue of each switch port in bytes.
    pub queue: usize,
    /// The probability of loss.
    pub loss: f64,
    /// The delay of each datagram, in addition to the time for sending it twice.
    pub latency: Duration,
    /// The time within which the ranks enter the operation, at random.
    pub skew: Duration,
    /// The additional delay of the last rank's entry.
    pub late: Duration,
    /// See [`Cluster::wake_up`].
    pub wake_up: Duration,
    /// See [`Nic::send_buffer`]; `None`: hosts send infinitely fast.
    pub send_buffer: Option<usize>,
    /// The receive buffer of each socket, as Linux reports it.
    pub receive_buffer: usize,
    /// The network, as the protocol's configuration names it.
    pub network: Network,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Scenario {
    /// Creates a scenario on the paper's network: 155 Mbit/s, jumbo frames, port queues of 128 KB.
    pub fn new(pattern: Pattern, ranks: usize, bytes: usize) -> Self {
        Scenario {
            pattern,
            ranks,
            bytes,
            neighbours: None,
            uneven: 0.0,
            rate: 155_000_000 / 8,
            mtu: 8972,
            known_mtu: 8972,
            queue: 128 * 1024,
            loss: 0.0,
            latency: Duration::from_micros(25),
            skew: Duration::from_micros(100),
            late: Duration::ZERO,
            wake_up: Duration::ZERO,
            send_buffer: Some(256 * 1024),
            receive_buffer: 8 << 20,
            network: Network::default(),
            seed: 1,
        }
    }

    /// Runs the operation.
    ///
    /// # Panics
    /// If it does not end.
    pub fn run(&self) -> Outcome {
        self.run_and(|_| ())
    }

    /// Runs the operation and calls `look` with the cluster at the end.
    ///
    /// # Panics
    /// If it does not end.
    pub fn run_and(&self, look: impl FnOnce(&mut Cluster)) -> Outcome {
        let mut cluster = self.cluster();
        let start = self.enter(&mut cluster);
        assert!(cluster.run(LIMIT, Cluster::is_idle), "{self:?} hangs");
        let end = cluster.hosts.iter().map(|host| host.last_delivery).max().unwrap_or_default();
        let (counters, tally) = (cluster.hosts.iter().map(Host::counters).sum(), cluster.network.tally());
        look(&mut cluster);
        Outcome { time: end - start, bound: self.bound(), ranks: self.ranks, counters, tally }
    }

    /// The time that the busiest wire needs for the payload alone.
    pub fn bound(&self) -> Duration {
        let (all, some) = (self.ranks as u64 - 1, self.peers() as u64);
        let bytes = match self.pattern {
            Pattern::Allgather => some * self.bytes as u64,
            Pattern::Exchange => {
                let (mut into, mut out) = (vec![0; self.ranks], Vec::new());
                for rank in 0..self.ranks {
                    let sends = self.sends(rank);
                    sends.iter().for_each(|(to, len)| into[*to] += *len as u64);
                    out.push(sends.iter().map(|(_, len)| *len as u64).sum());
                }
                into.into_iter().chain(out).max().unwrap_or(0)
            }
            Pattern::Gather => all * self.bytes as u64,
            Pattern::Stream => self.bytes as u64,
        };
        Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(self.rate)) as u64)
    }

    fn cluster(&self) -> Cluster {
        let link = Link {
            latency: self.latency,
            loss: self.loss,
            rate: Some(self.rate),
            queue: self.queue,
            mtu: self.mtu,
            ..Link::default()
        };
        let mut cluster = Cluster::new(self.ranks, self.seed, &link, |config| {
            config.mtu = self.known_mtu.min(self.mtu);
            config.mtu_limit = self.mtu;
            config.peers = self.ranks - 1;
            config.network = Some(self.network);
            // The window that a socket would grant.
            let share = (self.receive_buffer / 2 / config.peers) as u64;
            config.window = share.clamp(2 * charge(self.mtu) as u64, 1 << 20);
        });
        if let Some(send_buffer) = self.send_buffer {
            cluster.network.set_nics(&Nic::new(self.rate, send_buffer));
        }
        cluster.wake_up = self.wake_up;
        cluster.trains = Trains { segments: 64, alone: 65_000, in_turns: 8 << 10 };
        cluster
    }

    /// Lets all ranks enter and queue their transfers. Returns the time of the first entry. With
    /// a late rank, returns the earliest time of that rank's entry.
    fn enter(&self, cluster: &mut Cluster) -> Instant {
        let mut random = Random::new(self.seed);
        let mut at = |rank| {
            let late = if rank + 1 == self.ranks { self.late } else { Duration::ZERO };
            late + Duration::from_nanos(random.below(self.skew.as_nanos() as u64))
        };
        let mut entries: Vec<_> = (0..self.ranks).map(|rank| (at(rank), rank)).collect();
        entries.sort_unstable();
        let origin = cluster.now;
        let payload = Bytes::from(vec![1; self.bytes]);
        for &(at, rank) in &entries {
            cluster.run((origin + at) - cluster.now, |_| false);
            for (to, len) in self.sends(rank) {
                let lent = cluster.hosts[rank].memory.lend(payload.slice(..len));
                let header = [Memory::SINK, &[0; 20]].concat();
                cluster.queue(rank, to, &header, lent);
            }
        }
        let first = entries.iter().map(|(at, _)| *at).min().unwrap_or_default();
        origin + first.max(self.late)
    }

    fn sends(&self, rank: usize) -> Vec<(usize, usize)> {
        let others = Rank::new(rank).others(self.ranks).map(Rank::index).take(self.peers());
        match self.pattern {
            Pattern::Allgather => others.map(|to| (to, self.bytes)).collect(),
            Pattern::Exchange => others.map(|to| (to, self.part(rank, to))).collect(),
            Pattern::Gather if rank > 0 => vec![(0, self.bytes)],
            Pattern::Stream if rank == 0 => vec![(1, self.bytes)],
            Pattern::Gather | Pattern::Stream => Vec::new(),
        }
    }

    /// The number of ranks that each rank sends to, in a symmetric pattern.
    fn peers(&self) -> usize {
        self.neighbours.unwrap_or(usize::MAX).min(self.ranks - 1)
    }

    fn part(&self, from: usize, to: usize) -> usize {
        let chance = Random::new((from * self.ranks + to) as u64).below(2001) as f64 / 1000.0 - 1.0;
        ((self.bytes / self.ranks) as f64 * (1.0 + self.uneven * chance)) as usize
    }
}

/// The result of a [`Scenario`]. Displayed, it is a row below [`Outcome::HEADING`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The time from entry to the last delivery.
    pub time: Duration,
    /// See [`Scenario::bound`].
    pub bound: Duration,
    /// The number of ranks.
    pub ranks: usize,
    /// The sum of all ranks' counters.
    pub counters: Counters,
    /// The network's counters.
    pub tally: Tally,
}

impl Outcome {
    /// The columns: time as a multiple of the bound, packets sent again, datagrams dropped by a port or by chance,
    /// probes, and per rank the transfers and packets sent, acknowledgements included.
    pub const HEADING: &str = "x bound resent% dropped    lost  probes transfers packets";

    /// Time as a multiple of the bound.
    pub fn multiple(&self) -> f64 {
        self.time.as_secs_f64() / self.bound.as_secs_f64()
    }

    /// The percentage of packets that carried data again.
    pub fn resent(&self) -> f64 {
        self.counters.packets_resent as f64 * 100.0 / self.counters.packets_out as f64
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = self.ranks as f64;
        write!(
            f,
            "{:7.3} {:7.2} {:7} {:7} {:7} {:9.1} {:7.1}",
            self.multiple(),
            self.resent(),
            self.tally.overflowed,
            self.tally.lost,
            self.counters.probes,
            self.counters.transfers_out as f64 / ranks,
            self.counters.packets_out as f64 / ranks,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_busiest_wire() {
        let bound = |pattern| Scenario { rate: 1_000_000, ..Scenario::new(pattern, 4, 1_000_000) }.bound();
        assert_eq!(bound(Pattern::Allgather), Duration::from_secs(3));
        assert_eq!(bound(Pattern::Exchange), Duration::from_millis(750));
        assert_eq!(bound(Pattern::Gather), Duration::from_secs(3));
        assert_eq!(bound(Pattern::Stream), Duration::from_secs(1));
    }

    #[test]
    fn time_counts_from_the_late_ones_entry() {
        let prompt = Scenario::new(Pattern::Allgather, 3, 10_000);
        let late = Scenario { late: Duration::from_millis(500), ..prompt.clone() };
        let (prompt, late) = (prompt.run(), late.run());
        assert!(late.time < 2 * prompt.time, "{late:?}");
        assert_eq!(late.counters.transfers_out, 6);
    }
}
