//! The results of a policy on a number of nodes: statistics of the repetitions.

use super::plan::Machine;
use aurora_super::sim::{Cost, Outcome, OwnOutcome, SettingError, own, paper};
use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Statistics of the figures of all repetitions.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The number of repetitions that were simulated.
    pub reps: u32,
    /// Whether repetitions may differ.
    pub is_drawn: bool,
    /// The number of instructions of a repetition.
    pub instructions: u64,
    /// Microseconds of processor time that the simulator takes for an instruction. It executes the policy as a
    /// dispatcher would, and also the simulation, so this is an upper bound of the cost of managing an instruction (S2
    /// section 6).
    pub management_us: f64,
    /// The sum of the nodes' speeds.
    pub power: f64,
    /// The quantities by name, in their order.
    values: Vec<(&'static str, Statistics)>,
}

/// Statistics of one quantity over the repetitions.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Statistics {
    /// The mean.
    #[serde(skip)]
    pub mean: f64,
    /// The sample standard deviation; 0 for one repetition.
    pub deviation: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

/// One repetition.
struct Repetition {
    outcome: Outcome,
    own: Option<OwnOutcome>,
    power: f64,
    /// The time of the dispatcher for a message.
    message: f64,
    seconds: f64,
}

/// A name, and the value of a repetition, if the mode has it.
type Quantity = (&'static str, fn(&Repetition) -> Option<f64>);

/// The quantities of a repetition, by the names of `--json`. Shares are relative to the possible computation of the
/// nodes: the sum of their speeds times the makespan. Times are in units, 1000 a millisecond. Paper mode lacks those of
/// own mode.
const QUANTITIES: [Quantity; 15] = [
    // A share that is the rest to 1 may be slightly below 0 if no node ever waits.
    ("imbalance", |rep| Some(rep.outcome.imbalance.max(0.0))),
    ("communication", |rep| Some(rep.outcome.communication.max(0.0))),
    ("efficiency", |rep| Some(rep.outcome.efficiency.max(0.0))),
    // The time of all instructions on one node of speed 1 / the makespan.
    ("speedup", |rep| Some(rep.outcome.efficiency.max(0.0) * rep.power)),
    ("loads", |rep| Some(rep.outcome.loads as f64)),
    ("makespan", |rep| Some(rep.outcome.makespan)),
    ("waiting", |rep| rep.own.map(|own| own.waiting)),
    ("parallelism", |rep| rep.own.map(|own| own.parallelism)),
    ("miss_ratio", |rep| rep.own.map(|own| own.miss_ratio)),
    ("load_time", |rep| rep.own.map(|own| own.load_time)),
    ("p_c", |rep| rep.own.map(|own| own.critical)),
    ("synchronisation", |rep| rep.own.map(|own| own.synchronisation)),
    ("merges", |rep| rep.own.map(|own| own.merges as f64)),
    ("messages", |rep| rep.own.map(|own| own.messages as f64)),
    ("dispatcher_busy", |rep| {
        let busy = rep.own?.messages as f64 * rep.message;
        // A node may ask after the end.
        Some(if busy > 0.0 { (busy / rep.outcome.makespan).min(1.0) } else { 0.0 })
    }),
];

impl Figures {
    /// Simulates a setting with `reps` seeds, from its own seed on, and calls `done` after each of them. If nothing is
    /// drawn, all repetitions are the same, so there is only one. Repetitions run on all cores; the results do not
    /// depend on that.
    ///
    /// # Errors
    /// An impossible setting.
    pub fn of(machine: &Machine, reps: u32, done: impl Fn() + Sync) -> Result<Self, SettingError> {
        let is_drawn = machine.is_drawn();
        let reps = if is_drawn { reps } else { 1 };
        let power = machine.speeds().iter().sum();
        let message = if let Machine::Own(setting) = machine { setting.dispatcher } else { 0.0 };
        let repetition = |rep: u32| {
            let machine = machine.clone().later(rep);
            let begin = processor_seconds();
            let (outcome, own) = match &machine {
                Machine::Paper(setting) => (paper(setting)?, None),
                Machine::Own(setting) => own(setting).map(|outcome| (outcome.common, Some(outcome)))?,
            };
            let seconds = processor_seconds() - begin;
            done();
            Ok(Repetition { outcome, own, power, message, seconds })
        };
        // Collected in the order of the seeds, so that sums are the same to the last digit.
        let all: Vec<Repetition> = (0..reps).into_par_iter().map(repetition).collect::<Result<_, _>>()?;
        let statistics = |(name, of): &Quantity| {
            let values: Option<Vec<f64>> = all.iter().map(of).collect();
            Some((*name, Statistics::of(&values?)))
        };
        let instructions = all.first().map_or(0, |first| first.outcome.instructions);
        let seconds: f64 = all.iter().map(|rep| rep.seconds).sum();
        Ok(Figures {
            reps,
            is_drawn,
            instructions,
            management_us: seconds / f64::from(reps) * 1e6 / instructions.max(1) as f64,
            power,
            values: QUANTITIES.iter().filter_map(statistics).collect(),
        })
    }

    /// Returns the statistics of a quantity, if the mode has it.
    pub fn get(&self, name: &str) -> Option<Statistics> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, statistics)| *statistics)
    }

    /// Returns the mean of a quantity; 0 if the mode does not have it.
    pub fn mean(&self, name: &str) -> f64 {
        self.get(name).map_or(0.0, |statistics| statistics.mean)
    }
}

/// The means under their names, and the rest under `spread`, unless there is one repetition.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, statistics) in &self.values {
            map.serialize_entry(name, &statistics.mean)?;
        }
        map.serialize_entry("power", &self.power)?;
        map.serialize_entry("instructions", &self.instructions)?;
        map.serialize_entry("management_us", &self.management_us)?;
        if self.reps > 1 {
            map.serialize_entry("spread", &Spreads(&self.values))?;
        }
        map.end()
    }
}

struct Spreads<'f>(&'f [(&'static str, Statistics)]);

impl Serialize for Spreads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl Statistics {
    /// Computes the statistics of at least one value.
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Statistics {
            mean,
            deviation: (squares / (count - 1.0).max(1.0)).sqrt(),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

impl Machine {
    /// Returns true if repetitions with other seeds may differ.
    fn is_drawn(&self) -> bool {
        let (cost, policy) = match self {
            Machine::Paper(setting) => (setting.cost, setting.policy),
            Machine::Own(setting) => (setting.cost, setting.dispatch.policy),
        };
        matches!(cost, Cost::Drawn(_)) || policy.is_random()
    }

    fn speeds(&self) -> &[f64] {
        match self {
            Machine::Paper(setting) => &setting.speeds,
            Machine::Own(setting) => &setting.speeds,
        }
    }

    /// Returns the machine with a seed that is `rep` higher.
    fn later(mut self, rep: u32) -> Self {
        let (seed, cost) = match &mut self {
            Machine::Paper(setting) => (&mut setting.seed, &mut setting.cost),
            Machine::Own(setting) => (&mut setting.dispatch.seed, &mut setting.cost),
        };
        *seed = seed.wrapping_add(rep.into());
        if let Cost::Drawn(work) = cost {
            work.seed = *seed;
        }
        self
    }
}

/// Returns the processor time of this thread: other threads may share its core.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
