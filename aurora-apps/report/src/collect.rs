//! Puts runs of the same kind together.

use super::Spread;
use super::figures::Figures;
use super::recorded::{Program, Recorded, RecordedPhase, What};
use super::series::{self, Key, Kind, Problem, Series};
use std::collections::BTreeMap;

/// What belongs to one problem in one place: by system, and number of ranks.
pub type Systems<P = Point> = BTreeMap<Series, BTreeMap<usize, P>>;

/// All figures of the files, each with the runs that it comes from. A run has the index of its object among all.
#[derive(Debug, Default)]
pub struct Collection {
    /// Of applications.
    pub programs: BTreeMap<Key, Systems>,
    /// Of operations.
    pub benches: BTreeMap<Key, Systems>,
    /// Results that were wrong, and so are in none of the figures: the run and the implementation.
    pub wrong: Vec<(usize, String)>,
}

/// What one system took with so many ranks. Of an operation there are its seconds and what was resent.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Time of a repetition, of an operation that for once.
    pub seconds: Spread,
    /// Of that, sharing.
    pub sharing: Spread,
    /// What was shared while ranks computed.
    pub hidden: Spread,
    /// The sequential program's time in the same jobs.
    pub sequential: f64,
    /// Sequential time over that of a repetition; none where nothing was to be done.
    pub speedup: Option<Spread>,
    /// Transfers sent in a repetition, where they are ours.
    pub messages: Option<f64>,
    /// Bytes sent in a repetition.
    pub bytes: Option<f64>,
    /// Packets that were sent again.
    pub resent: Option<Spread>,
    /// The phases of a repetition.
    pub phases: Vec<RecordedPhase>,
    /// Repetitions, of all runs.
    pub reps: usize,
    /// Each run's own figures.
    pub each: Vec<Own>,
}

/// What one run says.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// Which run.
    pub run: usize,
    /// Time of a repetition.
    pub seconds: Spread,
    /// Sharing, what is hidden included.
    pub shared: Spread,
}

/// Results, each with its run, where they belong.
type Filed<'r, R> = BTreeMap<Key, Systems<Vec<(usize, &'r R)>>>;

impl Collection {
    /// Of all runs.
    pub fn of(runs: &[Recorded]) -> Self {
        let (mut programs, mut benches, mut wrong) = (Filed::new(), Filed::new(), Vec::new());
        for run in runs.iter().enumerate() {
            match &run.1.what {
                What::Program(results) => {
                    let about = |of: &Program| (Problem::of(of), of.implementation.clone(), of.ranks, of.verified);
                    file(run, results, about, &mut programs, &mut wrong);
                }
                What::Bench(results) => {
                    let about =
                        |of: &Figures| (Problem::of_bench(of), of.implementation.clone(), of.ranks, of.verified);
                    file(run, results, about, &mut benches, &mut wrong);
                }
                // These have no clock in common with the others.
                What::Simulation(_) => {}
            }
        }
        Collection { programs: merged(programs, Point::of), benches: merged(benches, Point::of_operation), wrong }
    }

    /// What speed-ups in `key`'s place can be modelled from: the sequential program's times on a quiet machine, if
    /// somebody has measured them. What mm2's ranks share does not depend on the kernel, so each kernel's time will do.
    pub fn alone(&self, key: &Key) -> Vec<Alone> {
        let mut all: BTreeMap<&Problem, Vec<&Point>> = BTreeMap::new();
        for (other, systems) in self.programs.iter().filter(|(other, _)| other.setting.machine == key.setting.machine) {
            let of_kernel = Problem { variant: key.problem.variant.clone(), ..other.problem.clone() };
            let any_kernel = key.problem.name == "mm2" && of_kernel == key.problem;
            if !(any_kernel || other.problem == key.problem) {
                continue;
            }
            let alone = systems.iter().filter(|(series, _)| series.kind == Kind::ComputingAlone);
            let points = alone.flat_map(|(_, points)| points.values()).filter(|point| point.sequential > 0.0);
            all.entry(&other.problem).or_default().extend(points);
        }
        let alone = |(problem, points): (&Problem, Vec<&Point>)| {
            let seconds = points.iter().map(|point| point.sequential).reduce(f64::min)?;
            let runs = points.iter().flat_map(|point| point.runs()).collect();
            Some(Alone { problem: problem.clone(), seconds, runs })
        };
        all.into_iter().filter_map(alone).collect()
    }
}

/// The sequential program alone on a quiet machine.
#[derive(Clone, Debug)]
pub struct Alone {
    /// What it computes.
    pub problem: Problem,
    /// Its time: of runs with several numbers of ranks or labels the least, which makes every modelled speed-up the
    /// smallest.
    pub seconds: f64,
    /// Where it comes from.
    pub runs: Vec<usize>,
}

/// Puts results where they belong, or among those that are wrong.
fn file<'r, R>(
    (run, recorded): (usize, &Recorded),
    results: &'r [R],
    about: impl Fn(&R) -> (Problem, String, usize, bool),
    into: &mut Filed<'r, R>,
    wrong: &mut Vec<(usize, String)>,
) {
    for result in results {
        let (problem, implementation, ranks, verified) = about(result);
        if !verified {
            wrong.push((run, implementation));
            continue;
        }
        let (key, series) = series::keys(&recorded.circumstances, problem, ranks, &implementation);
        into.entry(key).or_default().entry(series).or_default().entry(ranks).or_default().push((run, result));
    }
}

fn merged<R>(filed: Filed<'_, R>, point: impl Fn(&[(usize, &R)]) -> Point) -> BTreeMap<Key, Systems> {
    let points = |of: BTreeMap<usize, Vec<_>>| of.into_iter().map(|(ranks, runs)| (ranks, point(&runs))).collect();
    let systems = |of: Systems<_>| of.into_iter().map(|(series, of)| (series, points(of))).collect();
    filed.into_iter().map(|(key, of)| (key, systems(of))).collect()
}

impl Point {
    fn of(runs: &[(usize, &Program)]) -> Self {
        let all = |of: &dyn Fn(&Program) -> Spread| Spread::together(runs.iter().map(|(_, run)| of(run)));
        let middle = |of: &dyn Fn(&Program) -> Option<f64>| {
            let figures: Vec<f64> = runs.iter().filter_map(|(_, run)| of(run)).collect();
            (!figures.is_empty()).then(|| Spread::of(figures).median)
        };
        let hidden = |run: &Program| run.hidden_seconds.unwrap_or_default();
        let speedups = runs.iter().filter_map(|(_, run)| speedup(run.sequential_seconds, run.seconds));
        let speedups: Vec<Spread> = speedups.collect();
        let own = |(run, result): &(usize, &Program)| Own {
            run: *run,
            seconds: result.seconds,
            shared: result.sharing_seconds.plus(hidden(result)),
        };
        Point {
            seconds: all(&|run| run.seconds),
            sharing: all(&|run| run.sharing_seconds),
            hidden: all(&hidden),
            sequential: middle(&|run| Some(run.sequential_seconds)).unwrap_or_default(),
            speedup: (!speedups.is_empty()).then(|| Spread::together(speedups)),
            messages: middle(&|run| run.messages.map(|messages| messages as f64)),
            bytes: middle(&|run| run.bytes.map(|bytes| bytes as f64)),
            resent: None,
            phases: phases(runs),
            reps: runs.iter().map(|(_, run)| run.reps).sum(),
            each: runs.iter().map(own).collect(),
        }
    }

    fn of_operation(runs: &[(usize, &Figures)]) -> Self {
        let resent: Vec<Spread> = runs.iter().filter_map(|(_, run)| run.packets_resent).collect();
        let own = |(run, of): &(usize, &Figures)| Own { run: *run, seconds: of.seconds, shared: of.seconds };
        Point {
            seconds: Spread::together(runs.iter().map(|(_, run)| run.seconds)),
            resent: (!resent.is_empty()).then(|| Spread::together(resent)),
            reps: runs.iter().map(|(_, run)| run.reps).sum(),
            each: runs.iter().map(own).collect(),
            ..Point::default()
        }
    }

    /// Where it comes from.
    pub fn runs(&self) -> impl Iterator<Item = usize> {
        self.each.iter().map(|own| own.run)
    }

    /// Sharing, what is hidden behind computing included.
    pub fn shared(&self) -> Spread {
        Spread::together(self.each.iter().map(|own| own.shared))
    }
}

/// How many times as fast as `sequential`; none where nothing was to be done.
pub fn speedup(sequential: f64, seconds: Spread) -> Option<Spread> {
    let Spread { min, median, max } = seconds;
    let meaningful = sequential > 0.0 && min > 0.0;
    meaningful.then(|| Spread { min: sequential / max, median: sequential / median, max: sequential / min })
}

/// By name, in the order of the first run; a phase that only some runs have is theirs.
fn phases(runs: &[(usize, &Program)]) -> Vec<RecordedPhase> {
    let mut names: Vec<&RecordedPhase> = Vec::new();
    for phase in runs.iter().flat_map(|(_, run)| &run.phases) {
        if names.iter().all(|known| known.name != phase.name) {
            names.push(phase);
        }
    }
    let spread = |name: &str| {
        let all = runs.iter().flat_map(|(_, run)| &run.phases);
        Spread::together(all.filter(|phase| phase.name == name).map(|phase| phase.seconds))
    };
    names.into_iter().map(|phase| RecordedPhase { seconds: spread(&phase.name), ..phase.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{bench, labelled, program, read};
    use super::*;

    #[test]
    fn runs_of_the_same_kind_become_one_point_and_others_do_not() {
        let run = |ranks, seconds| program("mm2", 704, ranks, &[("aurora", seconds)]);
        let runs =
            read(&[run(2, 0.02), run(2, 0.03), run(2, 0.025), run(4, 0.01), bench("get", 2, &[("aurora", 1e-5)])]);
        let all = Collection::of(&runs);
        assert_eq!((all.programs.len(), all.benches.len()), (1, 1));
        let points = all.programs.values().next().unwrap().values().next().unwrap();
        let two = &points[&2];
        assert_eq!(two.runs().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((two.reps, two.seconds.median), (15, 0.025));
        assert_eq!((two.seconds.min, two.seconds.max), (0.02 * 0.9, 0.03 * 1.2));
        assert_eq!(two.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["load", "multiply"]);
        assert_eq!(points[&4].speedup.unwrap().median, 4.0);
        assert_eq!((two.messages, two.bytes), (Some(24.0), Some(1e6)));
    }

    #[test]
    fn sizes_networks_and_machines_are_kept_apart() {
        let run = || program("mm2", 704, 2, &[("aurora", 0.02)]);
        let mut elsewhere = run();
        elsewhere["machine"] = "Another".into();
        let runs =
            [run(), program("mm2", 512, 2, &[("aurora", 0.02)]), labelled(run(), "network", "1 Gbit/s"), elsewhere];
        assert_eq!(Collection::of(&read(&runs)).programs.len(), 4);
    }

    #[test]
    fn a_wrong_result_is_in_no_figure() {
        let mut run = program("mm2", 704, 2, &[("aurora", 0.02), ("mpi-isend", 0.03)]);
        run["results"][1]["verified"] = false.into();
        let all = Collection::of(&read(&[run]));
        assert_eq!(all.wrong, [(0, "mpi-isend".to_string())]);
        assert_eq!(all.programs.values().next().unwrap().len(), 1);
    }

    #[test]
    fn computing_alone_is_the_least_of_its_runs() {
        let run = |ranks| program("mm2", 704, ranks, &[("aurora", 0.02)]);
        let mut quiet = labelled(run(1), "kind", "computing alone");
        quiet["results"][0]["sequential_seconds"] = 0.03.into();
        let noisy = labelled(run(2), "kind", "computing alone");
        let all = Collection::of(&read(&[run(4), quiet, noisy]));
        let key = all.programs.keys().next().unwrap();
        assert_eq!(all.alone(key).iter().map(|alone| alone.seconds).collect::<Vec<_>>(), [0.03]);
        let all = Collection::of(&read(&[run(4)]));
        assert!(all.alone(all.programs.keys().next().unwrap()).is_empty());
    }

    #[test]
    fn kernels_share_alike_and_inputs_do_not() {
        for (app, models) in [("mm2", 2), ("psrs", 1)] {
            let run = |variant: &str, kind| {
                let mut run = labelled(program(app, 704, 2, &[("aurora", 0.02)]), "kind", kind);
                run["results"][0]["variant"] = variant.into();
                run
            };
            let one = "computing alone";
            let all = Collection::of(&read(&[run("tiled", "measured"), run("tiled", one), run("dot", one)]));
            let key = all.programs.keys().find(|key| key.problem.variant == "tiled").unwrap();
            assert_eq!(all.alone(key).len(), models, "{app}");
        }
    }
}
