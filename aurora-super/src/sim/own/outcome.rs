//! What own mode counts, and what that comes to.

use super::super::setting::{Outcome, shares};
use crate::Group;
use std::collections::BTreeMap;

/// What a simulation in own mode comes to. What runs again after a loss counts as computed, so a loss can raise the
/// efficiency: compare the makespans of runs with losses, not their efficiencies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OwnOutcome {
    /// What paper mode has too. Shares are of the work that all cores could have done until the dispatcher knew that
    /// all is complete, those of a lost node until it was lost. What was executed again counts as computed, and so do
    /// instructions that a lost node began.
    pub common: Outcome,
    /// The actual degree of parallelism (S0 section 4): how many instructions were delivered to a node and not
    /// committed, a mean over time and nodes. Of a grant of several those count whose operands have been asked for.
    pub parallelism: f64,
    /// Blocks asked for / operands read (S0 Fig. 4).
    pub miss_ratio: f64,
    /// How long a block was under way from the moment it was asked for, in units: t_r of S0 section 4, a mean.
    pub load_time: f64,
    /// p_c of S0 section 4: blocks asked for per instruction * their time / the time of an instruction on a core: the
    /// parallelism that is needed to hide the latency.
    pub critical: f64,
    /// Incarnations that were merged into another.
    pub merges: u64,
    /// From the moment when all instructions of a block are committed to its being one incarnation, in units: a mean
    /// over the blocks that had several (S0 Fig. 7). 0 if none had.
    pub synchronisation: f64,
    /// Results that instructions sent to another node (`RemoteUpdate`).
    pub modifiers: u64,
    /// Instructions that ran again, because a node was lost.
    pub repeated: u64,
    /// Reports to the dispatcher and orders from it.
    pub messages: u64,
}

/// What is counted on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Until when what is complete was not.
    pub(super) end: f64,
    pub(super) computed: f64,
    pub(super) communicated: f64,
    pub(super) executed: u64,
    /// Time on cores of those that were executed.
    pub(super) time: f64,
    pub(super) loads: u64,
    pub(super) load_time: f64,
    pub(super) arrived: u64,
    pub(super) merges: u64,
    pub(super) modifiers: u64,
    pub(super) messages: u64,
    alive: u32,
    /// Instructions alive, times time.
    lives: f64,
    since: f64,
    /// When the incarnations of a group were first ordered to be merged, and when the last was.
    synchronised: BTreeMap<Group, (f64, f64)>,
}

impl Tally {
    /// So many instructions are alive on a node that had `before`.
    #[inline]
    pub(super) fn live(&mut self, now: f64, before: u32, after: u32) {
        if before != after {
            self.lives += f64::from(self.alive) * (now - self.since);
            (self.since, self.alive) = (now, self.alive + after - before);
        }
    }

    /// All instructions of a group are committed, and an incarnation is to be merged.
    pub(super) fn begin_merge(&mut self, now: f64, group: Group) {
        self.synchronised.entry(group).or_insert((now, now));
    }

    /// An incarnation is merged.
    pub(super) fn merge(&mut self, now: f64, group: Group) {
        self.merges += 1;
        if let Some((_, last)) = self.synchronised.get_mut(&group) {
            *last = now.max(*last);
        }
    }

    /// At the end, where nodes could have done so much work.
    pub(super) fn outcome(self, nodes: usize, capacity: f64, instructions: u64) -> OwnOutcome {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let mean = |sum: f64, count: u64| share(sum, count as f64);
        let [imbalance, communication, efficiency] = shares(capacity, self.communicated, self.computed);
        let (load_time, time) = (mean(self.load_time, self.arrived), mean(self.time, self.executed));
        let synchronisation = self.synchronised.values().map(|(begin, end)| end - begin).sum();
        let loads_each = mean(self.loads as f64, self.executed);
        OwnOutcome {
            common: Outcome {
                makespan: self.end,
                imbalance,
                communication,
                efficiency,
                loads: self.loads,
                instructions: self.executed,
            },
            parallelism: share(self.lives, self.end * nodes as f64),
            miss_ratio: loads_each / 2.0,
            load_time,
            critical: share(loads_each * load_time, time),
            merges: self.merges,
            synchronisation: mean(synchronisation, self.synchronised.len() as u64),
            modifiers: self.modifiers,
            repeated: self.executed.saturating_sub(instructions),
            messages: self.messages,
        }
    }
}
