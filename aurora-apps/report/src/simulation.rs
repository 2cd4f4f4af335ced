//! Simulated super-programs: the grouping into charts, and the combined figures of several runs with equal settings.

use super::checked::{count, means, text};
use super::recorded::{Recorded, What};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One object of `aurora simulate --json`: a policy on a number of nodes, with means over the repetitions.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Simulation {
    /// The scheduling policy.
    pub policy: String,
    /// The number of nodes.
    #[serde(deserialize_with = "count")]
    pub nodes: usize,
    /// The rest of the setting.
    #[serde(flatten)]
    pub setting: Setting,
    /// The number of repetitions.
    #[serde(deserialize_with = "count")]
    pub reps: usize,
    /// Means over the repetitions, by the names of `--json`. Paper mode has fewer means.
    #[serde(flatten, deserialize_with = "means")]
    pub figures: BTreeMap<String, f64>,
}

/// The common setting of the curves of one chart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
pub struct Setting {
    /// `paper` or `own`.
    pub mode: String,
    /// The paper's case, if it is one. The next three fields are then absent.
    pub case: Option<String>,
    /// Blocks in a row of the matrices.
    #[serde(default)]
    pub blocks: usize,
    /// The maximum cost of an instruction, in units.
    #[serde(default)]
    pub work: u64,
    /// The cost of a block for its sender and for its receiver, in units.
    #[serde(default, deserialize_with = "text")]
    pub load: String,
    /// The latency of a block in units, if it was given.
    #[serde(default, deserialize_with = "text")]
    pub asked_latency: String,
    /// The speeds of the nodes, as on the command line.
    pub speeds: String,
    /// The nodes that receive a block that one node asks for.
    pub transfers: String,
    /// The maximum number of instructions that a node has in flight; none in paper mode.
    pub in_flight: Option<usize>,
}

impl Setting {
    /// Returns the same setting for any number of instructions in flight.
    pub fn of_any_limit(&self) -> Setting {
        Setting { in_flight: None, ..self.clone() }
    }
}

/// Several runs, each with its index among all runs.
#[derive(Clone, Debug, Default)]
pub struct Runs<'r>(pub Vec<(usize, &'r Simulation)>);

/// The results of policies by the value on the horizontal axis. Policies are ordered by their places in the papers and
/// their names.
pub type Lines<'r> = BTreeMap<(usize, &'r str), BTreeMap<usize, Runs<'r>>>;

/// Returns all simulations, by setting.
pub fn collect(all: &[Recorded]) -> BTreeMap<&Setting, Runs<'_>> {
    let mut settings: BTreeMap<&Setting, Runs<'_>> = BTreeMap::new();
    for (run, recorded) in all.iter().enumerate() {
        if let What::Simulation(simulation) = &recorded.what {
            settings.entry(&simulation.setting).or_default().0.push((run, simulation));
        }
    }
    settings
}

impl<'r> Runs<'r> {
    /// Returns the mean of a figure over all repetitions of all runs, or `None` unless all runs have it.
    pub fn mean(&self, figure: &str) -> Option<f64> {
        let weighted = |(_, of): &(usize, &Simulation)| Some(of.figures.get(figure)? * of.reps as f64);
        let sum: Option<f64> = self.0.iter().map(weighted).sum();
        sum.map(|sum| sum / self.reps() as f64)
    }

    /// Returns the number of repetitions of all runs.
    pub fn reps(&self) -> usize {
        self.0.iter().map(|(_, of)| of.reps).sum()
    }

    /// Returns the results of each policy, by nodes or by instructions in flight.
    pub fn lines(&self, along: impl Fn(&Simulation) -> Option<usize>) -> Lines<'r> {
        let mut lines = Lines::new();
        for (run, of) in &self.0 {
            if let Some(at) = along(of) {
                let known = aurora_super::Policy::ALL;
                // An unknown policy comes after all others.
                let place = known.iter().position(|(name, _)| *name == of.policy).unwrap_or(known.len());
                let points = lines.entry((place, of.policy.as_str())).or_default();
                points.entry(at).or_default().0.push((*run, *of));
            }
        }
        lines
    }
}
