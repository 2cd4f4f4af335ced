//! Puts runs of the same kind together.

use super::Spread;
use super::recorded::{Recorded, What};
use super::report::{Phase, Report};
use super::series::{Key, Problem, Series};
use std::collections::BTreeMap;

/// All figures of the files, in the order of their points. A run has the index of its object among all.
#[derive(Debug)]
pub struct Collection {
    pub programs: Vec<Point>,
    pub operations: Vec<Point>,
    /// Results that were wrong, and so are in none of the figures: the run and the implementation.
    pub wrong: Vec<(usize, String)>,
}

/// What one system took for one problem in one place with so many ranks, in all runs.
#[derive(Clone, Debug)]
pub struct Point {
    pub key: Key,
    pub series: Series,
    pub ranks: usize,
    /// What each of them says; of an operation there is the time, for once.
    pub runs: Vec<(usize, Report)>,
}

/// The sequential program alone on a quiet machine.
#[derive(Clone, Debug)]
pub struct Alone {
    /// Of runs with several numbers of ranks or labels the least, which makes every modelled speed-up the smallest.
    pub seconds: f64,
    pub runs: Vec<usize>,
}

impl Collection {
    /// Of all runs.
    pub fn of(all: &[Recorded]) -> Self {
        type Points = BTreeMap<(Key, Series, usize), Vec<(usize, Report)>>;
        let (mut programs, mut operations, mut wrong) = (Points::new(), Points::new(), Vec::new());
        for (run, Recorded { circumstances, what, .. }) in all.iter().enumerate() {
            let (into, results) = match what {
                What::Program(results) => (&mut programs, results),
                What::Bench(results) => (&mut operations, results),
                // These have no clock in common with the others.
                What::Simulation(_) => continue,
            };
            for report in results {
                if !report.verified {
                    wrong.push((run, report.implementation.clone()));
                    continue;
                }
                let series = Series::of(circumstances, &report.implementation);
                let points = into.entry((Key::of(circumstances, report), series, report.ranks)).or_default();
                points.push((run, report.clone()));
            }
        }
        let point = |((key, series, ranks), runs)| Point { key, series, ranks, runs };
        let points = |of: Points| of.into_iter().map(point).collect();
        Collection { programs: points(programs), operations: points(operations), wrong }
    }

    /// What speed-ups in `key`'s place can be modelled from: the sequential program's times on a quiet machine, if
    /// somebody has measured them. What mm2's ranks share does not depend on the kernel, so each kernel's time will do.
    pub fn alone(&self, key: &Key) -> BTreeMap<&Problem, Alone> {
        let mut all = BTreeMap::new();
        for point in self.programs.iter().filter(|point| point.series.is_alone() && point.sequential() > 0.0) {
            let problem = &point.key.problem;
            let of_kernel = Problem { variant: key.problem.variant.clone(), ..problem.clone() };
            let is_same = *problem == key.problem || key.problem.name == "mm2" && of_kernel == key.problem;
            if is_same && point.key.setting.machine == key.setting.machine {
                let alone = all.entry(problem).or_insert(Alone { seconds: f64::INFINITY, runs: Vec::new() });
                alone.seconds = alone.seconds.min(point.sequential());
                alone.runs.extend(point.numbers());
            }
        }
        all
    }
}

impl Point {
    /// The runs that it comes from.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.runs.iter().map(|(run, _)| *run)
    }

    /// A figure of all runs.
    pub fn all(&self, figure: impl Fn(&Report) -> Spread) -> Spread {
        Spread::together(self.runs.iter().map(|(_, report)| figure(report)))
    }

    /// A figure of those runs that have it; none if there are none.
    pub fn some(&self, figure: impl Fn(&Report) -> Option<Spread>) -> Option<Spread> {
        let figures: Vec<Spread> = self.runs.iter().filter_map(|(_, report)| figure(report)).collect();
        (!figures.is_empty()).then(|| Spread::together(figures))
    }

    /// The middle of a figure that does not vary in a run.
    pub fn middle(&self, figure: impl Fn(&Report) -> Option<f64>) -> Option<f64> {
        self.some(|report| figure(report).map(Spread::exactly)).map(|of| of.median)
    }

    /// Time of a repetition, of an operation that for once.
    pub fn seconds(&self) -> Spread {
        self.all(|report| report.seconds)
    }

    /// What was shared while ranks computed, in the middle.
    pub fn hidden(&self) -> f64 {
        self.all(|report| report.hidden_seconds).median
    }

    /// The sequential program's time in the same jobs.
    pub fn sequential(&self) -> f64 {
        self.middle(|report| Some(report.sequential_seconds)).unwrap_or_default()
    }

    /// Sequential time over that of a repetition; none where nothing was to be done.
    pub fn speedup(&self) -> Option<Spread> {
        self.some(|report| speedup(report.sequential_seconds, report.seconds))
    }

    /// The phases of a repetition, in the order of the first run; a phase that only some runs have is theirs.
    pub fn phases(&self) -> Vec<Phase> {
        let mut phases: Vec<(&Phase, Vec<Spread>)> = Vec::new();
        for phase in self.runs.iter().flat_map(|(_, report)| &report.phases) {
            match phases.iter_mut().find(|(known, _)| known.name == phase.name) {
                Some((_, seconds)) => seconds.push(phase.seconds),
                None => phases.push((phase, vec![phase.seconds])),
            }
        }
        phases.into_iter().map(|(phase, of)| Phase { seconds: Spread::together(of), ..phase.clone() }).collect()
    }
}

/// How many times as fast as `sequential`; none where nothing was to be done.
pub fn speedup(sequential: f64, Spread { min, median, max }: Spread) -> Option<Spread> {
    let meaningful = sequential > 0.0 && min > 0.0;
    meaningful.then(|| Spread { min: sequential / max, median: sequential / median, max: sequential / min })
}
