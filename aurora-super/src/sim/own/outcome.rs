//! The counters and the results of own mode.

use super::super::setting::{Outcome, shares};
use crate::Group;
use std::collections::BTreeMap;

/// The results of a simulation in own mode. Instructions that run again after a loss count as computed, so a loss can
/// raise the efficiency: compare the makespans of runs with losses, not their efficiencies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OwnOutcome {
    /// The results that paper mode has too. Shares are fractions of the work that all cores could have done until the
    /// dispatcher knew that all results are complete; cores of a lost node count until the loss. Instructions that ran
    /// again count as computed, and so does the work of a lost node on instructions that it did not end.
    pub common: Outcome,
    /// The actual degree of parallelism (S0 section 4): the number of instructions that are delivered to a node and not
    /// committed, as a mean over time and nodes. Of a grant of several instructions, those count whose operands have
    /// been asked for.
    pub parallelism: f64,
    /// The part of the imbalance in which a core is idle and its node has an instruction whose operands have not
    /// arrived. In the rest of the imbalance there is no instruction for an idle core, or it waits for an earlier one
    /// of its group.
    pub waiting: f64,
    /// Blocks asked for / operands read (S0 Fig. 4).
    pub miss_ratio: f64,
    /// The mean time from the request for a block to its arrival, in units: t_r of S0 section 4.
    pub load_time: f64,
    /// The parallelism that is needed to hide the latency, p_c of S0 section 4: blocks asked for per instruction *
    /// `load_time` / the time of an instruction on a core.
    pub critical: f64,
    /// The number of incarnations that were merged into another.
    pub merges: u64,
    /// The mean time from the commit of all instructions of a block until the block is one incarnation, in units, over
    /// the blocks that had several incarnations (S0 Fig. 7). 0 if no block had several.
    pub synchronisation: f64,
    /// The number of results that instructions sent to another node (`RemoteUpdate`).
    pub modifiers: u64,
    /// The number of instructions that ran again, because a node was lost.
    pub repeated: u64,
    /// The number of reports to the dispatcher and orders from it.
    pub messages: u64,
}

/// The counters during a simulation.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// The time of the last completion so far.
    pub(super) end: f64,
    pub(super) computed: f64,
    pub(super) communicated: f64,
    /// The work that idle cores could have done while instructions waited for operands.
    pub(super) waited: f64,
    pub(super) executed: u64,
    /// The time on cores of all executed instructions.
    pub(super) time: f64,
    pub(super) loads: u64,
    pub(super) load_time: f64,
    pub(super) arrived: u64,
    pub(super) merges: u64,
    pub(super) modifiers: u64,
    pub(super) messages: u64,
    alive: u32,
    /// The number of instructions alive, summed over time.
    lives: f64,
    since: f64,
    /// For each group, the time of the first order to merge incarnations, and the time of the last merge.
    synchronised: BTreeMap<Group, (f64, f64)>,
}

impl Tally {
    /// Records that `after` instructions are alive on a node that had `before`.
    #[inline]
    pub(super) fn live(&mut self, now: f64, before: u32, after: u32) {
        if before != after {
            self.lives += f64::from(self.alive) * (now - self.since);
            (self.since, self.alive) = (now, self.alive + after - before);
        }
    }

    /// Records an order to merge an incarnation, after all instructions of a group are committed.
    pub(super) fn begin_merge(&mut self, now: f64, group: Group) {
        self.synchronised.entry(group).or_insert((now, now));
    }

    /// Records that an incarnation is merged.
    pub(super) fn merge(&mut self, now: f64, group: Group) {
        self.merges += 1;
        if let Some((_, last)) = self.synchronised.get_mut(&group) {
            *last = now.max(*last);
        }
    }

    /// Returns the results at the end. `capacity` is the work that the nodes could have done.
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
            waiting: share(self.waited, capacity).min(imbalance.max(0.0)),
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
