//! Simulated super-programs: what belongs in one chart, and what several runs of the same come to together.

use super::checked::{count, means, text};
use super::recorded::{Recorded, What};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One object of `aurora simulate --json`: a policy on so many nodes, means over repetitions.
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
    /// How many repetitions.
    #[serde(deserialize_with = "count")]
    pub reps: usize,
    /// Means over the repetitions, by the names of `--json`. In paper mode there are fewer of them.
    #[serde(flatten, deserialize_with = "means")]
    pub figures: BTreeMap<String, f64>,
}

/// What curves of one chart have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
pub struct Setting {
    /// `paper` or `own`.
    pub mode: String,
    /// The paper's case, if it is one: then the next three are not there.
    pub case: Option<String>,
    /// Blocks in a row of the matrices.
    #[serde(default)]
    pub blocks: usize,
    /// Units that an instruction costs at most.
    #[serde(default)]
    pub work: u64,
    /// Units that a block costs who sends it, and who receives it.
    #[serde(default, deserialize_with = "text")]
    pub load: String,
    /// Units that a block is on its way, if they were asked for.
    #[serde(default, deserialize_with = "text")]
    pub asked_latency: String,
    /// The speeds of the nodes, as the command line has them.
    pub speeds: String,
    /// Who receives a block that one node asks for.
    pub transfers: String,
    /// Most instructions that a node has in flight; none in paper mode.
    pub in_flight: Option<usize>,
}

impl Setting {
    /// The same with any number of instructions in flight.
    pub fn of_any_limit(&self) -> Setting {
        Setting { in_flight: None, ..self.clone() }
    }
}

/// Several runs, each with its index among all.
#[derive(Clone, Debug, Default)]
pub struct Runs<'r>(pub Vec<(usize, &'r Simulation)>);

/// What policies come to, by what goes to the right; the policies by their places in the papers and their names.
pub type Lines<'r> = BTreeMap<(usize, &'r str), BTreeMap<usize, Runs<'r>>>;

/// All simulations, by setting.
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
    /// The mean of a figure over all repetitions of all runs; none unless they all have it.
    pub fn mean(&self, figure: &str) -> Option<f64> {
        let weighted = |(_, of): &(usize, &Simulation)| Some(of.figures.get(figure)? * of.reps as f64);
        let sum: Option<f64> = self.0.iter().map(weighted).sum();
        sum.map(|sum| sum / self.reps() as f64)
    }

    /// How many repetitions those are.
    pub fn reps(&self) -> usize {
        self.0.iter().map(|(_, of)| of.reps).sum()
    }

    /// What each policy comes to, by nodes or by instructions in flight.
    pub fn lines(&self, along: impl Fn(&Simulation) -> Option<usize>) -> Lines<'r> {
        let mut lines = Lines::new();
        for (run, of) in &self.0 {
            if let Some(at) = along(of) {
                let known = aurora_super::Policy::ALL;
                // One that is not known is behind all others.
                let place = known.iter().position(|(name, _)| *name == of.policy).unwrap_or(known.len());
                let points = lines.entry((place, of.policy.as_str())).or_default();
                points.entry(at).or_default().0.push((*run, *of));
            }
        }
        lines
    }
}
