//! Simulated super-programs: the grouping into charts, and the combined figures of several runs with equal settings.

use super::Spread;
use super::checked::{count, means, setting, text};
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
    #[serde(flatten, deserialize_with = "setting")]
    pub setting: Setting,
    /// The seed of the first repetition. Each further repetition has the next seed.
    pub seed: Option<u64>,
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
    /// The costs of the instructions: `drawn` or `equal`. An old file does not have it: its cases have equal costs, and
    /// all else has drawn costs.
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
    /// Returns the paper's case, or `None` if it is none.
    pub fn case(&self) -> Option<&str> {
        self.case.as_deref().filter(|case| *case != "none")
    }

    /// Returns the same setting for any cluster and any number of instructions in flight.
    pub fn of_any_cluster(&self) -> Setting {
        Setting { speeds: String::new(), transfers: String::new(), ..self.of_any_limit() }
    }

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

/// The seeds of the runs of one point: the last seed of each run by its first.
#[derive(Default)]
struct Seeds(BTreeMap<u64, u64>);

impl Seeds {
    /// Adds the seeds of a run, or returns false if one of them is there already. 0 comes after the greatest seed.
    fn add(&mut self, first: u64, reps: usize) -> bool {
        let last = first.wrapping_add(reps as u64 - 1);
        let parts = if first <= last { vec![(first, last)] } else { vec![(first, u64::MAX), (0, last)] };
        let is_new = parts.iter().all(|(first, last)| {
            let before = self.0.range(..=last).next_back();
            before.is_none_or(|(_, end)| end < first)
        });
        if is_new {
            self.0.extend(parts);
        }
        is_new
    }
}

impl<'r> Runs<'r> {
    /// Returns the runs without those that have a seed in common with an earlier run of the same policy on as many
    /// nodes, and the number of the runs that are left out. A run without a seed stays.
    pub fn of_different_seeds(self) -> (Runs<'r>, usize) {
        let all = self.0.len();
        let mut points: BTreeMap<(&str, usize), Seeds> = BTreeMap::new();
        let mut is_new = |of: &'r Simulation| {
            let seeds = points.entry((&of.policy, of.nodes)).or_default();
            of.seed.is_none_or(|first| seeds.add(first, of.reps))
        };
        let runs: Vec<_> = self.0.into_iter().filter(|(_, of)| is_new(of)).collect();
        let left_out = all - runs.len();
        (Runs(runs), left_out)
    }

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
    fn a_run_is_left_out_if_an_earlier_run_of_its_point_has_one_of_its_seeds() {
        let line = include_str!("../pages/alone.json").lines().next().expect("a simulation");
        let of = |entries: &str| -> Simulation {
            let line = line.replace("\"reps\":16,\"seed\":0", entries);
            serde_json::from_str(&line).expect(entries)
        };
        let run = |seed: u64, reps: usize| of(&format!("\"reps\":{reps},\"seed\":{seed}"));
        let without = of("\"reps\":16");
        assert_eq!((without.seed, run(u64::MAX, 1).seed), (None, Some(u64::MAX)));
        for (all, expected) in [
            // Separate ranges, in any order.
            (vec![run(16, 16), run(0, 16), run(32, 1)], &[0, 1, 2][..]),
            // The same seeds, a part of them, more than them, the last of them.
            (vec![run(10, 10), run(10, 10), run(12, 2), run(5, 20), run(19, 5), run(5, 6)], &[0]),
            // A run that is left out takes no seeds.
            (vec![run(0, 10), run(5, 10), run(12, 10)], &[0, 2]),
            // 0 is the next seed after the greatest.
            (vec![run(u64::MAX, 2), run(0, 1), run(1, 1), run(u64::MAX - 1, 1), run(u64::MAX - 2, 3)], &[0, 2, 3]),
            (vec![without.clone(), run(0, 16), without], &[0, 1, 2]),
            // Other points have seeds of their own.
            (
                vec![
                    run(0, 16),
                    Simulation { nodes: 99, ..run(0, 16) },
                    Simulation { policy: "D".into(), ..run(0, 16) },
                ],
                &[0, 1, 2],
            ),
        ] {
            let (runs, left_out) = Runs(all.iter().enumerate().collect()).of_different_seeds();
            assert_eq!(runs.0.iter().map(|(run, _)| *run).collect::<Vec<_>>(), expected);
            assert_eq!(left_out, all.len() - expected.len());
        }
    }

    #[test]
    fn an_old_and_a_new_file_of_one_setting_join_and_parts_of_the_setting_are_no_figures() {
        let old = include_str!("../pages/alone.json").lines().next().expect("a simulation");
        let of = |entries: &str| -> Simulation {
            serde_json::from_str(&old.replacen('{', &format!("{{{entries}"), 1)).expect(entries)
        };
        let costs = |entries: &str| of(entries).setting.costs;
        assert_eq!([costs(""), costs("\"case\":\"none\","), costs("\"case\":\"256r1\",")], ["drawn", "drawn", "equal"]);
        assert_eq!(costs("\"case\":\"256r1\",\"costs\":\"drawn\","), "drawn");
        assert_eq!(of("").setting, of("\"costs\":\"drawn\",").setting);
        let more = "\"result_bytes\":4e18,\"latency\":4e18,\"within\":-4e18,\"efficient\":4e18,\"reached\":false,";
        assert_eq!(of(more), of(""));
        assert_eq!(of("\"dispatcher_busy\":0.25,").figures["dispatcher_busy"].mean, 0.25);
        let wrong = old.replacen('{', "{\"dispatcher_busy\":1.25,", 1);
        assert!(serde_json::from_str::<Simulation>(&wrong).is_err());
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
