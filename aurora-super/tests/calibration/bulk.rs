//! A bulk operation in `aurora-net`'s simulated network, and in the link model.

use aurora_net::sim::{Pattern, Scenario};
use aurora_super::Node;
use aurora_super::sim::Link;
use std::fmt;
use std::time::Duration;

/// The senders and receivers of blocks, all of which are sent at the same moment.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    pub pattern: Pattern,
    pub hosts: Node,
    pub bytes: u32,
    pub mbit: f64,
}

/// The time of the operation, in ms.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub network: f64,
    pub model: f64,
}

impl Times {
    /// The ratio of the two times: 1 if they are the same.
    pub fn ratio(&self) -> f64 {
        self.model / self.network
    }
}

impl Bulk {
    /// At 155 Mbit/s and 1 Gbit/s: blocks of these sizes in KB alone, 2, 4 and 8 to one receiver, and all-to-all with
    /// these numbers of hosts.
    pub fn all(kilobytes: &[u32], hosts: &[Node]) -> Vec<Bulk> {
        let patterns = [(Pattern::Stream, 2), (Pattern::Gather, 3), (Pattern::Gather, 5), (Pattern::Gather, 9)];
        let patterns: Vec<_> =
            patterns.into_iter().chain(hosts.iter().map(|hosts| (Pattern::Allgather, *hosts))).collect();
        let mut all = Vec::new();
        for mbit in [155.0, 1000.0] {
            for kilobytes in kilobytes {
                let bulk = |(pattern, hosts)| Bulk { pattern, hosts, bytes: kilobytes * 1000, mbit };
                all.extend(patterns.iter().copied().map(bulk));
            }
        }
        all
    }

    pub fn times(&self) -> Times {
        let arrivals = Link::ethernet(self.mbit).arrivals(self.hosts, &self.transfers());
        let model = arrivals.into_iter().fold(0.0, f64::max) / 1e3;
        Times { network: self.scenario().run().time.as_secs_f64() * 1e3, model }
    }

    fn scenario(&self) -> Scenario {
        let rate = (self.mbit * 1e6 / 8.0) as u64;
        let alike = Scenario::new(self.pattern, self.hosts as usize, self.bytes as usize);
        Scenario { rate, skew: Duration::ZERO, ..alike }
    }

    fn transfers(&self) -> Vec<(Node, Node, u32)> {
        let (hosts, bytes) = (self.hosts, self.bytes);
        match self.pattern {
            Pattern::Stream => vec![(0, 1, bytes)],
            Pattern::Gather => (1..hosts).map(|from| (from, 0, bytes)).collect(),
            _ => (0..hosts).flat_map(|from| (1..hosts).map(move |step| (from, (from + step) % hosts, bytes))).collect(),
        }
    }
}

impl fmt::Display for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = format!("{:?}", self.pattern);
        write!(f, "{:6} {pattern:10} {:5} {:4}", self.mbit, self.hosts, self.bytes / 1000)
    }
}
