//! Simulated super-programs: what belongs in one chart, and what several runs of the same come to together.

use super::checked::{count, share, text, units, units_or_none};
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
    #[serde(default, deserialize_with = "units_or_none")]
    pub parallelism: Option<f64>,
    /// Blocks asked for / operands read.
    #[serde(default, deserialize_with = "units_or_none")]
    pub miss_ratio: Option<f64>,
    /// From the last commitment of a block that had several incarnations to its having one, in units.
    #[serde(default, deserialize_with = "units_or_none")]
    pub synchronisation: Option<f64>,
}

/// What one policy came to on so many nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Means over all repetitions of all runs.
    pub figures: Figures,
    /// How many those are.
    pub reps: usize,
    /// Where they come from.
    pub runs: Vec<usize>,
}

/// Policies with their points by nodes.
pub type Policies = BTreeMap<Policy, BTreeMap<usize, Point>>;

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
pub fn collect(all: &[Recorded]) -> BTreeMap<Setting, Policies> {
    let mut settings: BTreeMap<Setting, Policies> = BTreeMap::new();
    for (run, recorded) in all.iter().enumerate() {
        if let What::Simulation(simulation) = &recorded.what {
            let policies = settings.entry(simulation.setting.clone()).or_default();
            let points = policies.entry(Policy::of(&simulation.policy)).or_default();
            points.entry(simulation.nodes).and_modify(|point| point.add(run, simulation)).or_insert_with(|| Point {
                figures: simulation.figures,
                reps: simulation.reps,
                runs: vec![run],
            });
        }
    }
    settings
}

impl Point {
    fn add(&mut self, run: usize, other: &Simulation) {
        let reps = self.reps + other.reps;
        let part = other.reps as f64 / reps as f64;
        let mean = |mine: f64, theirs: f64| mine + (theirs - mine) * part;
        let of_both = |mine: Option<f64>, theirs: Option<f64>| Some(mean(mine?, theirs?));
        let (mine, theirs) = (self.figures, other.figures);
        self.figures = Figures {
            imbalance: mean(mine.imbalance, theirs.imbalance),
            communication: mean(mine.communication, theirs.communication),
            efficiency: mean(mine.efficiency, theirs.efficiency),
            loads: mean(mine.loads, theirs.loads),
            makespan: mean(mine.makespan, theirs.makespan),
            parallelism: of_both(mine.parallelism, theirs.parallelism),
            miss_ratio: of_both(mine.miss_ratio, theirs.miss_ratio),
            synchronisation: of_both(mine.synchronisation, theirs.synchronisation),
        };
        self.reps = reps;
        self.runs.push(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{read, simulation};

    #[test]
    fn several_runs_of_the_same_are_one_mean() {
        let run = |seed: u64, reps: u64, efficiency: f64| {
            let mut run = simulation("S", 4, efficiency);
            run["seed"] = seed.into();
            run["reps"] = reps.into();
            run
        };
        let all = read(&[run(0, 1, 0.5), run(1, 3, 0.9), simulation("tail", 4, 0.9)]);
        let settings = collect(&all);
        assert_eq!(settings.len(), 1);
        let policies = settings.values().next().unwrap();
        let point = &policies[&Policy::of("S")][&4];
        assert!((point.figures.efficiency - 0.8).abs() < 1e-12);
        assert_eq!((point.reps, &point.runs[..]), (4, &[0, 1][..]));
    }

    #[test]
    fn what_was_simulated_otherwise_is_apart() {
        let with = |key: &str, value: serde_json::Value| {
            let mut run = simulation("S", 4, 0.9);
            run[key] = value;
            run
        };
        let others =
            [("blocks", 64.into()), ("load", 100.into()), ("speeds", "1:3".into()), ("transfers", "multicast".into())];
        let runs: Vec<_> =
            others.map(|(key, value)| with(key, value)).into_iter().chain([simulation("R", 4, 0.8)]).collect();
        assert_eq!(collect(&read(&runs)).len(), 5);
    }

    #[test]
    fn policies_stand_in_the_papers_order() {
        let mut names = ["tail", "mine", "SR", "S", "syn"].map(Policy::of);
        names.sort();
        assert_eq!(names.map(|policy| policy.name), ["syn", "S", "SR", "tail", "mine"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (key, value, expected) in [
            ("nodes", 0.into(), "no 0 nodes"),
            ("efficiency", 1.5.into(), "1.5 is no share of 1"),
            ("imbalance", (-0.5).into(), "no share"),
            ("loads", (-1).into(), "-1 is no number of blocks"),
            ("reps", serde_json::Value::Null, "null"),
        ] {
            let mut run = simulation("S", 4, 0.9);
            run[key] = value;
            let error = crate::recorded::recorded("file", 1, run).unwrap_err();
            assert!(error.contains(expected), "{key}: {error}");
        }
    }
}
