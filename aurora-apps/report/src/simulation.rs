//! Simulated super-programs: the grouping into charts, and the combined figures of several runs with equal settings.

use super::Spread;
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
    pub figures: BTreeMap<String, Mean>,
}

/// The variation of a figure between repetitions.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Variation {
    /// The sample standard deviation.
    pub deviation: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

/// A mean over repetitions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The variation, or `None` if there is one repetition or the file does not have it.
    pub variation: Option<Variation>,
}

impl Mean {
    /// Combines several runs, each with its number of repetitions. The result has a variation if all runs of several
    /// repetitions have theirs.
    fn pooled(runs: &[(usize, Mean)]) -> Mean {
        let reps: usize = runs.iter().map(|(reps, _)| reps).sum();
        let mean = runs.iter().map(|(reps, of)| *reps as f64 * of.mean).sum::<f64>() / reps as f64;
        // A single repetition does not vary.
        let alone = |mean| Variation { deviation: 0.0, min: mean, max: mean };
        let variation = |(reps, of): &(usize, Mean)| of.variation.or((*reps == 1).then(|| alone(of.mean)));
        let all: Option<Vec<Variation>> = runs.iter().map(variation).collect();
        let variation = all.filter(|_| reps > 1).map(|all| {
            let squares = runs.iter().zip(&all).map(|((reps, of), Variation { deviation, .. })| {
                (*reps as f64 - 1.0) * deviation.powi(2) + *reps as f64 * (of.mean - mean).powi(2)
            });
            Variation {
                deviation: (squares.sum::<f64>() / (reps as f64 - 1.0)).sqrt(),
                min: all.iter().map(|of| of.min).fold(mean, f64::min),
                max: all.iter().map(|of| of.max).fold(mean, f64::max),
            }
        });
        Mean { mean, variation }
    }

    /// Returns minimum, mean and maximum, in which the mean has the place of the median; three times the mean if the
    /// variation is unknown.
    pub fn spread(self) -> Spread {
        let Mean { mean, variation } = self;
        let (min, max) = variation.map_or((mean, mean), |of| (of.min, of.max));
        Spread { min, median: mean, max }
    }
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
    /// The costs of the instructions: `drawn` or `equal`; empty in an old file.
    #[serde(default)]
    pub costs: String,
    /// The bytes of a block, if they were given. The next five are optional too.
    #[serde(default, deserialize_with = "text")]
    pub bytes: String,
    /// The rate of a link in Mbit/s.
    #[serde(default, deserialize_with = "text")]
    pub bandwidth: String,
    /// The time that the dispatcher takes for a message, in units.
    #[serde(default, deserialize_with = "text")]
    pub dispatcher: String,
    /// True if results stay with their owners.
    #[serde(default)]
    pub results_stay: bool,
    /// Rows of the sparse matrices.
    #[serde(default, deserialize_with = "text")]
    pub rows: String,
    /// The share of the elements of the sparse matrices that are not 0.
    #[serde(default, deserialize_with = "text")]
    pub density: String,
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
    pub fn mean(&self, figure: &str) -> Option<Mean> {
        let figure = |(_, of): &(usize, &Simulation)| Some((of.reps, *of.figures.get(figure)?));
        let all: Option<Vec<(usize, Mean)>> = self.0.iter().map(figure).collect();
        all.map(|all| Mean::pooled(&all))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_drawn_together_have_the_mean_and_the_deviation_of_all_their_repetitions() {
        let of = |figures: &[f64]| {
            let reps = figures.len() as f64;
            let mean = figures.iter().sum::<f64>() / reps;
            let squares = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>();
            let Spread { min, max, .. } = Spread::of(figures.iter().copied());
            let variation = Variation { deviation: (squares / (reps - 1.0)).sqrt(), min, max };
            (figures.len(), Mean { mean, variation: (reps > 1.0).then_some(variation) })
        };
        let figures = [1.0, 4.0, 2.0, 9.0, 9.5, 0.5];
        let (one, other, alone) = (of(&figures[..3]), of(&figures[3..5]), of(&figures[5..]));
        let (all, pooled) = (of(&figures).1, Mean::pooled(&[one, other, alone]));
        let [all, pooled] = [all, pooled].map(|of| {
            let Variation { deviation, min, max } = of.variation.expect("a variation");
            [of.mean, deviation, min, max]
        });
        assert!(all.iter().zip(pooled).all(|(one, other)| (one - other).abs() < 1e-12), "{all:?} {pooled:?}");
        assert_eq!(Mean::pooled(&[alone]), Mean { mean: 0.5, variation: None });
        // An old file has no variation of its 3 repetitions.
        let old = (3, Mean { variation: None, ..one.1 });
        assert_eq!(Mean::pooled(&[old, other]).variation, None);
        assert_eq!(Mean::pooled(&[old]).spread(), Spread::exactly(one.1.mean));
    }

    #[test]
    fn a_spread_is_checked_with_its_mean_and_a_setting_has_all_that_tells_charts_apart() {
        let old = include_str!("../pages/alone.json").lines().next().expect("a simulation");
        let read = |entries: &str| serde_json::from_str(&old.replacen('{', &format!("{{{entries},"), 1));
        let of = |entries: &str| -> Simulation { read(entries).expect(entries) };
        let spread = |name: &str, values: [f64; 3]| {
            let [deviation, min, max] = values;
            format!("\"spread\":{{\"{name}\":{{\"deviation\":{deviation:e},\"min\":{min:e},\"max\":{max:e}}}}}")
        };
        let loads = of(&spread("loads", [2.0, 1000.0, 1024.0 - 1e-9])).figures["loads"];
        assert_eq!(loads.spread(), Spread { min: 1000.0, median: 1024.0, max: 1024.0 });
        assert_eq!(loads.variation.map(|of| of.deviation), Some(2.0));
        for (entries, expected) in [
            (spread("loads", [2.0, 1025.0, 1030.0]), "loads: min 1025, mean 1024, max 1030 are not in order"),
            (spread("loads", [2.0, 1.0, 3.0]), "not in order"),
            (spread("loads", [-2.0, 1000.0, 1030.0]), "-2 is no number"),
            (spread("loads", [1e99, 1000.0, 1030.0]), "is no number"),
            (spread("efficiency", [0.0, 0.0, 1.5]), "1.5 is no share"),
            (spread("unknown", [0.0, 0.0, 1.0]), "unknown: a spread without a mean"),
            ("\"spread\":{\"loads\":{\"min\":1}}".into(), "missing field"),
            ("\"waiting\":0.9".into(), "0.9 is no part of"),
        ] {
            let error = read(&entries).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
        let without = of("\"spread\":null,\"bytes\":null").setting;
        for entries in [
            "\"costs\":\"equal\"",
            "\"bytes\":40000",
            "\"bandwidth\":155",
            "\"dispatcher\":100.5",
            "\"results_stay\":true",
            "\"rows\":8192",
            "\"density\":0.01",
        ] {
            assert_ne!(of(entries).setting, without, "{entries}");
        }
    }
}
