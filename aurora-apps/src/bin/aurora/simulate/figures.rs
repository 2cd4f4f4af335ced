//! What a policy comes to on so many nodes: means over the repetitions.

use super::arguments::ModeName;
use aurora_super::sim::{Outcome, Setting, SettingError, paper};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Means over repetitions. Shares are of what the nodes could have computed: the sum of their speeds times the
/// makespan.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The share in which nodes had nothing to do.
    pub imbalance: f64,
    /// The share in which they sent and received blocks.
    pub communication: f64,
    /// The share in which they computed.
    pub efficiency: f64,
    /// Blocks that nodes have asked others for.
    pub loads: f64,
    /// When the last instruction has run, in units of speed 1.
    pub makespan: f64,
    /// Instructions of a repetition.
    pub instructions: u64,
    /// Microseconds of processor time that the simulator takes for an instruction. It executes the policy as a
    /// dispatcher would, and the simulation besides: an upper bound of what managing an instruction costs (S2 section 6).
    pub management_us: f64,
}

/// One repetition.
struct Repetition {
    outcome: Outcome,
    seconds: f64,
}

impl Figures {
    /// Simulates a setting with so many seeds, from its own on, and calls `done` after each of them. Repetitions run
    /// on all cores; what they come to does not depend on that.
    ///
    /// # Errors
    /// A setting that cannot be.
    pub fn of(mode: ModeName, setting: &Setting, reps: u32, done: impl Fn() + Sync) -> Result<Self, SettingError> {
        let repetition = |rep: u32| {
            let mut setting = setting.clone();
            setting.work.seed = setting.work.seed.wrapping_add(rep.into());
            let begin = processor_seconds();
            let outcome = match mode {
                ModeName::Paper => paper(&setting)?,
            };
            let seconds = processor_seconds() - begin;
            done();
            Ok(Repetition { outcome, seconds })
        };
        // In the order of the seeds, so that sums are the same to the last digit.
        let all: Vec<Repetition> = (0..reps).into_par_iter().map(repetition).collect::<Result<_, _>>()?;
        let mean = |of: fn(&Repetition) -> f64| all.iter().map(of).sum::<f64>() / f64::from(reps);
        // What is left of 1 may be a little below 0 where nobody ever waits.
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
        })
    }
}

/// What this thread has had: others may take turns with it on its core.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
