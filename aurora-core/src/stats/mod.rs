//! The counters of a rank: its messages, its waits and its times.
//! `kernel/counters.rs` counts, `world/stats.rs` reads.

mod clock;
mod kind;
mod table;

pub(crate) use clock::{Clock, InCall, Times};
pub use kind::Kind;
pub(crate) use table::Job;

use aurora_net::{Rank, Traffic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Sub;
use std::time::Duration;

/// The counters of one rank since its `run` began, or between two readings: [`World::stats`](crate::World::stats).
///
/// **Time.** The three times are of the thread that runs the program. Their sum is the time that has passed
/// ([`elapsed`](Stats::elapsed)). `waiting` is the time in which a call of Aurora is blocked until another rank acts.
/// `sharing` is the rest of the time in calls that send, receive or synchronize. `computing` is all other time. An
/// access to this rank's own memory or to shared memory alone (`at`, `put`, slices, opening an OwnerComputes, filling
/// the buffers of a ReleaseC) is computing: a time stamp would cost more than the access. If all ranks are on one
/// machine, the part of a barrier or of entering a ReadCache that is not waiting, less than a microsecond, is computing
/// too. Calls are timed from the first reading on, with `AURORA_STATS=1` from the start. Before the first reading,
/// `sharing` counts as computing. So does a wait for ranks of the same machine in a barrier or in entering a ReadCache,
/// if it is too short to sleep (about 20 us). The daemon, which serves other ranks meanwhile, is not timed.
///
/// **Messages.** A message is one transfer to one other rank. It counts for the rank that sends it. Messages of an
/// object are in [`objects`](Stats::objects), all others in [`job`](Stats::job). Their sums are
/// [`Traffic::transfers_out`] and [`Traffic::bytes_out`] of [`traffic`](Stats::traffic), headers included. Between
/// ranks that share memory many accesses need no message. Packets carry pieces of several messages, so they are
/// counted for the rank and not for objects.
///
/// The difference of two readings counts the time between them: `let phase = world.stats() - before;`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stats {
    /// The rank of these counters.
    pub rank: Rank,
    /// Time outside Aurora's calls, and in calls that need no other rank.
    pub computing: Duration,
    /// Time in Aurora's calls that send, receive or synchronize, without waiting.
    pub sharing: Duration,
    /// Time blocked in calls of Aurora.
    pub waiting: Duration,
    /// Transfers, bytes and packets of this rank's endpoint, sent and received.
    pub traffic: Traffic,
    /// Costs that belong to no object: barriers, the watch over waiting ranks, the end.
    pub job: Costs,
    /// Costs of objects, by the name that [`World::usage`](crate::World::usage) shows. Objects of one name that one
    /// line has made are counted together. Dropped objects are included. An object without costs has no entry.
    pub objects: BTreeMap<String, Costs>,
}

/// Costs by kind. A kind without costs has no entry.
pub type Costs = BTreeMap<Kind, Cost>;

/// The costs of one kind of operation on a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cost {
    /// Number of transfers sent.
    pub messages: u64,
    /// Number of bytes sent, headers included.
    pub bytes: u64,
    /// Number of times that the program's thread was blocked.
    pub waits: u64,
    /// Total time in which the program's thread was blocked.
    pub waiting: Duration,
}

impl Cost {
    pub(crate) fn add(&mut self, other: &Cost) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.waits += other.waits;
        self.waiting += other.waiting;
    }

    fn since(self, earlier: Cost) -> Cost {
        Cost {
            messages: self.messages.saturating_sub(earlier.messages),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            waits: self.waits.saturating_sub(earlier.waits),
            waiting: self.waiting.saturating_sub(earlier.waiting),
        }
    }
}

impl Stats {
    /// Returns the time that has passed: the sum of the three times.
    pub fn elapsed(&self) -> Duration {
        self.computing + self.sharing + self.waiting
    }

    /// Returns all costs of the job and of all objects.
    pub fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.objects.values().chain([&self.job]).flat_map(Costs::values).for_each(|cost| total.add(cost));
        total
    }

    /// Returns the costs of one kind, of the job and of all objects.
    pub fn of(&self, kind: Kind) -> Cost {
        let mut total = Cost::default();
        self.objects.values().chain([&self.job]).filter_map(|costs| costs.get(&kind)).for_each(|cost| total.add(cost));
        total
    }

    /// Returns the costs of the objects whose name contains `name`, such as `"GVector<f64> of 200 x 200"`.
    pub fn object(&self, name: &str) -> Costs {
        let mut costs = Costs::new();
        for (_, of_one) in self.objects.iter().filter(|(whole, _)| whole.contains(name)) {
            join(&mut costs, of_one);
        }
        costs
    }
}

pub(crate) fn join(costs: &mut Costs, others: &Costs) {
    others.iter().for_each(|(kind, cost)| costs.entry(*kind).or_default().add(cost));
}

impl Sub for Stats {
    type Output = Stats;

    /// The difference of two readings of the same rank.
    fn sub(self, earlier: Stats) -> Stats {
        let none = Costs::new();
        let between = |costs: Costs, before: &Costs| -> Costs {
            let cost = |(kind, cost): (Kind, Cost)| (kind, cost.since(before.get(&kind).copied().unwrap_or_default()));
            costs.into_iter().map(cost).filter(|(_, cost)| *cost != Cost::default()).collect()
        };
        let objects = self.objects.into_iter().map(|(name, costs)| {
            let costs = between(costs, earlier.objects.get(&name).unwrap_or(&none));
            (name, costs)
        });
        Stats {
            rank: self.rank,
            computing: self.computing.saturating_sub(earlier.computing),
            sharing: self.sharing.saturating_sub(earlier.sharing),
            waiting: self.waiting.saturating_sub(earlier.waiting),
            traffic: self.traffic - earlier.traffic,
            job: between(self.job, &earlier.job),
            objects: objects.filter(|(_, costs)| !costs.is_empty()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn stats(rank: usize, messages: u64) -> Stats {
        let cost = Cost { messages, bytes: 10 * messages, waits: 1, waiting: Duration::from_millis(messages) };
        Stats {
            rank: Rank::new(rank),
            computing: Duration::from_millis(5 * messages),
            sharing: Duration::from_millis(2),
            waiting: Duration::from_millis(2 * messages),
            traffic: Traffic { transfers_out: 2 * messages, bytes_out: 20 * messages, ..Traffic::default() },
            job: [(Kind::Barrier, cost)].into(),
            objects: [("a vector".to_string(), [(Kind::Load, cost)].into())].into(),
        }
    }

    #[test]
    fn a_difference_has_what_happened_between_and_nothing_else() {
        let (mut later, before) = (stats(1, 7), stats(1, 3));
        later.objects.insert("another".into(), [(Kind::Flush, Cost { messages: 1, ..Cost::default() })].into());
        let between = later.clone() - before;
        assert_eq!(between.of(Kind::Load).messages, 4);
        assert_eq!(between.of(Kind::Load).waiting, Duration::from_millis(4));
        assert_eq!(between.object("another")[&Kind::Flush].messages, 1);
        assert_eq!((between.total().messages, between.traffic.transfers_out), (9, 8));
        assert_eq!(between.elapsed(), Duration::from_millis(28));
        let nothing = later.clone() - later;
        assert!(nothing.objects.is_empty() && nothing.job.is_empty() && nothing.elapsed().is_zero());
    }
}
