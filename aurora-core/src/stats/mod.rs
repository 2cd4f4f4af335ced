//! Counters to judge by: what a rank has sent, what it has waited for, and where its time has gone. They are counted in
//! `kernel/counters.rs` and read by `world/stats.rs`.

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

/// What one rank has done since its `run` began, or between two readings: [`World::stats`](crate::World::stats).
///
/// **Time.** The three times are of the thread that runs the program and add up to what has passed
/// ([`elapsed`](Stats::elapsed)): `waiting` is blocked in a call of Aurora's until another rank has done something;
/// `sharing` is the rest of the time in calls that send, receive or meet; `computing` is everything else. What touches
/// this rank's own memory or shared memory alone (`at`, `put`, slices, opening an OwnerComputes, filling the buffers of
/// a ReleaseC) is computing: a time stamp would cost more than the access. So is, where all ranks are on one machine,
/// what of a barrier or of entering a ReadCache is not waiting: under a microsecond. Calls are timed from the first
/// reading on (with `AURORA_STATS=1` from the begin): before that their sharing counts as computing, and so does what a
/// rank waits for the others of its machine in a barrier or in entering a ReadCache, if it is too short to sleep (some
/// 20 us). Nothing is said of the daemon, which serves others meanwhile.
///
/// **Messages.** A message is one transfer to one other rank, and belongs to the rank that sends it. Those of an object
/// are in [`objects`](Stats::objects), all others in [`job`](Stats::job); together they are [`Traffic::transfers_out`]
/// and [`Traffic::bytes_out`] of [`traffic`](Stats::traffic), headers included. Between ranks that share memory much
/// needs no message. Packets carry pieces of several messages, so they are counted for the rank and not for objects.
///
/// The difference of two is what happened between: `let phase = world.stats() - before;`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stats {
    /// Whose.
    pub rank: Rank,
    /// Time outside of Aurora's calls, and in those that need no other rank.
    pub computing: Duration,
    /// Time in Aurora's calls that send, receive or meet, without what was waited.
    pub sharing: Duration,
    /// Time blocked in them.
    pub waiting: Duration,
    /// Transfers, bytes and packets of this rank's endpoint, those received too.
    pub traffic: Traffic,
    /// What belongs to no object: barriers, the watch over waiting ranks, the end.
    pub job: Costs,
    /// What belongs to objects, by their names as in [`World::usage`](crate::World::usage): those made alike by one
    /// line stand together, and those that are gone are there too. Only objects for which something was sent or waited.
    pub objects: BTreeMap<String, Costs>,
}

/// Costs by what they were for; what has cost nothing is not there.
pub type Costs = BTreeMap<Kind, Cost>;

/// What one kind of operation has cost a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Transfers sent.
    pub messages: u64,
    /// Bytes sent, headers included.
    pub bytes: u64,
    /// How often the program's thread had to block.
    pub waits: u64,
    /// For how long altogether.
    pub waiting: Duration,
}

impl Cost {
    /// Adds another.
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
    /// What has passed: the sum of the three times.
    pub fn elapsed(&self) -> Duration {
        self.computing + self.sharing + self.waiting
    }

    /// All costs together, of the job and of all objects.
    pub fn total(&self) -> Cost {
        let mut total = Cost::default();
        self.objects.values().chain([&self.job]).flat_map(Costs::values).for_each(|cost| total.add(cost));
        total
    }

    /// What operations of this kind have cost, whatever they were done to.
    pub fn of(&self, kind: Kind) -> Cost {
        let mut total = Cost::default();
        self.objects.values().chain([&self.job]).filter_map(|costs| costs.get(&kind)).for_each(|cost| total.add(cost));
        total
    }

    /// Costs of the objects whose name contains `name`, such as `"GVector<f64> of 200 x 200"`.
    pub fn object(&self, name: &str) -> Costs {
        let mut costs = Costs::new();
        for (_, of_one) in self.objects.iter().filter(|(whole, _)| whole.contains(name)) {
            join(&mut costs, of_one);
        }
        costs
    }
}

/// Adds costs to others.
pub(crate) fn join(costs: &mut Costs, others: &Costs) {
    others.iter().for_each(|(kind, cost)| costs.entry(*kind).or_default().add(cost));
}

impl Sub for Stats {
    type Output = Stats;

    /// What happened between two readings of the same rank, this one and an earlier one.
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
