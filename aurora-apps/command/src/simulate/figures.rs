//! The results of a policy on a number of nodes: means over the repetitions.

use super::plan::Machine;
use aurora_super::sim::{Cost, Outcome, OwnOutcome, SettingError, own, paper};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Means over repetitions. Shares are relative to the possible computation of the nodes: the sum of their speeds times
/// the makespan.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The share in which nodes were idle.
    pub imbalance: f64,
    /// The share in which they sent and received blocks.
    pub communication: f64,
    /// The share in which they computed.
    pub efficiency: f64,
    /// The number of blocks that nodes have requested from other nodes.
    pub loads: f64,
    /// The time at which the last instruction has ended, in units, 1000 a millisecond.
    pub makespan: f64,
    /// The number of instructions of a repetition.
    pub instructions: u64,
    /// Microseconds of processor time that the simulator takes for an instruction. It executes the policy as a
    /// dispatcher would, and also the simulation, so this is an upper bound of the cost of managing an instruction (S2
    /// section 6).
    pub management_us: f64,
    /// The additional figures of own mode.
    #[serde(flatten)]
    pub own: Option<OwnFigures>,
}

/// Means over repetitions of the figures of [`OwnOutcome`]. Times are in units, 1000 a millisecond.
#[derive(Clone, Debug, Serialize)]
pub struct OwnFigures {
    /// Actual degree of parallelism.
    pub parallelism: f64,
    /// Requested blocks / operands read.
    pub miss_ratio: f64,
    /// The time from the request of a block to its arrival.
    pub load_time: f64,
    /// The parallelism that is needed to hide the latency.
    pub p_c: f64,
    /// The time until a block with several incarnations has one.
    pub synchronisation: f64,
    /// The number of incarnations that were merged into another one.
    pub merges: f64,
    /// The number of reports to the dispatcher and orders from it.
    pub messages: f64,
}

/// One repetition.
struct Repetition {
    outcome: Outcome,
    own: Option<OwnOutcome>,
    seconds: f64,
}

impl Figures {
    /// Simulates a setting with `reps` seeds, from its own seed on, and calls `done` after each of them. Repetitions
    /// run on all cores; the results do not depend on that.
    ///
    /// # Errors
    /// An impossible setting.
    pub fn of(machine: &Machine, reps: u32, done: impl Fn() + Sync) -> Result<Self, SettingError> {
        let repetition = |rep: u32| {
            let machine = machine.clone().later(rep);
            let begin = processor_seconds();
            let (outcome, own) = match &machine {
                Machine::Paper(setting) => (paper(setting)?, None),
                Machine::Own(setting) => own(setting).map(|outcome| (outcome.common, Some(outcome)))?,
            };
            let seconds = processor_seconds() - begin;
            done();
            Ok(Repetition { outcome, own, seconds })
        };
        // Collected in the order of the seeds, so that sums are the same to the last digit.
        let all: Vec<Repetition> = (0..reps).into_par_iter().map(repetition).collect::<Result<_, _>>()?;
        let mean = |of: fn(&Repetition) -> f64| all.iter().map(of).sum::<f64>() / f64::from(reps);
        // A share that is the rest to 1 may be slightly below 0 if no node ever waits.
        let share = |of| mean(of).max(0.0);
        let instructions = all.first().map_or(0, |first| first.outcome.instructions);
        Ok(Figures {
            imbalance: share(|rep| rep.outcome.imbalance),
            communication: share(|rep| rep.outcome.communication),
            efficiency: share(|rep| rep.outcome.efficiency),
            loads: mean(|rep| rep.outcome.loads as f64),
            makespan: mean(|rep| rep.outcome.makespan),
            instructions,
            management_us: mean(|rep| rep.seconds) * 1e6 / instructions.max(1) as f64,
            own: OwnFigures::of(&all),
        })
    }
}

impl OwnFigures {
    fn of(all: &[Repetition]) -> Option<Self> {
        let all: Vec<OwnOutcome> = all.iter().filter_map(|rep| rep.own).collect();
        let mean = |of: fn(&OwnOutcome) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| OwnFigures {
            parallelism: mean(|own| own.parallelism),
            miss_ratio: mean(|own| own.miss_ratio),
            load_time: mean(|own| own.load_time),
            p_c: mean(|own| own.critical),
            synchronisation: mean(|own| own.synchronisation),
            merges: mean(|own| own.merges as f64),
            messages: mean(|own| own.messages as f64),
        })
    }
}

impl Machine {
    /// Returns the machine with a seed that is `rep` higher.
    fn later(self, rep: u32) -> Self {
        let later = |seed: u64| seed.wrapping_add(rep.into());
        match self {
            Machine::Paper(mut setting) => {
                setting.work.seed = later(setting.work.seed);
                Machine::Paper(setting)
            }
            Machine::Own(mut setting) => {
                setting.dispatch.seed = later(setting.dispatch.seed);
                if let Cost::Drawn(work) = &mut setting.cost {
                    work.seed = later(work.seed);
                }
                Machine::Own(setting)
            }
        }
    }
}

/// Returns the processor time of this thread: other threads may share its core.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
