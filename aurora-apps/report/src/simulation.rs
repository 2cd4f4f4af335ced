//! Simulated super-programs: what belongs in one chart, and what several runs of the same come to together.

use super::checked::{count, share, text, units};
use super::recorded::{Recorded, What};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One object of `aurora simulate --json`: a policy on so many nodes, means over repetitions.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Simulation {
    /// Its name.
    pub policy: String,
    /// How many.
    #[serde(deserialize_with = "count")]
    pub nodes: usize,
    /// What else decides what comes of it.
    #[serde(flatten)]
    pub setting: Setting,
    /// Repetitions.
    #[serde(deserialize_with = "count")]
    pub reps: usize,
    /// What came of it.
    #[serde(flatten)]
    pub figures: Figures,
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
    /// How fast the nodes are.
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

/// Means over repetitions; the first three are shares of what the nodes could have computed.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Figures {
    /// Nothing to do.
    #[serde(deserialize_with = "share")]
    pub imbalance: f64,
    /// Sending and receiving.
    #[serde(deserialize_with = "share")]
    pub communication: f64,
    /// Computing.
    #[serde(deserialize_with = "share")]
    pub efficiency: f64,
    /// Blocks that nodes have asked others for.
    #[serde(deserialize_with = "units")]
    pub loads: f64,
    /// Until the last instruction has run, in units.
    #[serde(deserialize_with = "units")]
    pub makespan: f64,
    /// Instructions that are delivered to a node and not committed; this and the others are of own mode.
    #[serde(default, deserialize_with = "units")]
    pub parallelism: Option<f64>,
    /// Blocks asked for / operands read.
    #[serde(default, deserialize_with = "units")]
    pub miss_ratio: Option<f64>,
    /// From the last commitment of a block that had several incarnations to its having one, in units.
    #[serde(default, deserialize_with = "units")]
    pub synchronisation: Option<f64>,
}

/// What several runs come to, each with its index among all.
#[derive(Clone, Debug, Default)]
pub struct Point<'r>(pub Vec<(usize, &'r Simulation)>);

impl Point<'_> {
    /// The mean of a figure over all repetitions of all runs; none unless they all have it.
    pub fn mean(&self, figure: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
        let weighted = |(_, of): &(usize, &Simulation)| Some(figure(&of.figures)? * of.reps as f64);
        let sum: Option<f64> = self.0.iter().map(weighted).sum();
        sum.map(|sum| sum / self.reps() as f64)
    }

    /// How many repetitions those are.
    pub fn reps(&self) -> usize {
        self.0.iter().map(|(_, of)| of.reps).sum()
    }

    /// Where they come from.
    pub fn runs(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|(run, _)| *run)
    }
}

/// Policies, with their points by what goes to the right.
pub type Lines<'r> = BTreeMap<Policy, BTreeMap<usize, Point<'r>>>;

/// A policy's name, in the papers' order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Policy {
    place: usize,
    /// As the command has it.
    pub name: String,
}

impl Policy {
    /// One that is not known is behind all others.
    pub fn of(name: &str) -> Self {
        let known = aurora_super::Policy::ALL;
        let place = known.iter().position(|(known, _)| *known == name).unwrap_or(known.len());
        Policy { place, name: name.into() }
    }
}

/// All simulations, by setting.
pub fn collect(all: &[Recorded]) -> BTreeMap<&Setting, Point<'_>> {
    let mut settings: BTreeMap<&Setting, Point<'_>> = BTreeMap::new();
    for (run, recorded) in all.iter().enumerate() {
        if let What::Simulation(simulation) = &recorded.what {
            settings.entry(&simulation.setting).or_default().0.push((run, simulation));
        }
    }
    settings
}

impl<'r> Point<'r> {
    /// What each policy comes to, by nodes or by instructions in flight.
    pub fn lines(&self, along: impl Fn(&Simulation) -> Option<usize>) -> Lines<'r> {
        let mut lines = Lines::new();
        for (run, of) in &self.0 {
            if let Some(at) = along(of) {
                let points = lines.entry(Policy::of(&of.policy)).or_default();
                points.entry(at).or_default().0.push((*run, *of));
            }
        }
        lines
    }
}
