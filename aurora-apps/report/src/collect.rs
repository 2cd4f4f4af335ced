//! Collects runs of the same kind.

use super::Spread;
use super::recorded::{Recorded, What};
use super::report::{Phase, Report};
use super::series::{Key, Problem, Series};
use std::collections::BTreeMap;

/// All figures of the files, in the order of their points. A run is identified by the index of its object among all
/// objects.
#[derive(Debug)]
pub struct Collection {
    pub programs: Vec<Point>,
    pub operations: Vec<Point>,
    /// Wrong results, which are left out of all figures: the run and the implementation.
    pub wrong: Vec<(usize, String)>,
}

/// The figures of one system for one problem in one place with one number of ranks, in all runs.
#[derive(Clone, Debug)]
pub struct Point {
    pub key: Key,
    pub series: Series,
    pub ranks: usize,
    /// The report of each run; for an operation, its times are for one operation.
    pub runs: Vec<(usize, Report)>,
}

/// The sequential program alone on a quiet machine.
#[derive(Clone, Debug)]
pub struct Alone {
    /// The minimum over runs with different numbers of ranks or labels, which makes every modelled speed-up the
    /// smallest.
    pub seconds: f64,
    pub runs: Vec<usize>,
}

impl Collection {
    /// Collects all runs.
    pub fn of(all: &[Recorded]) -> Self {
        type Points = BTreeMap<(Key, Series, usize), Vec<(usize, Report)>>;
        let (mut programs, mut operations, mut wrong) = (Points::new(), Points::new(), Vec::new());
        // Simulated times are in no point: they cannot be compared with measured times.
        for (run, recorded) in all.iter().enumerate() {
            if let What::Farm(farm) = &recorded.what {
                wrong.extend((!farm.verified).then(|| (run, farm.app.clone())));
            }
            for report in recorded.results() {
                if !report.verified {
                    wrong.push((run, report.implementation.clone()));
                    continue;
                }
                let (circumstances, is_operation) = (&recorded.circumstances, report.operation.is_some());
                let into = if is_operation { &mut operations } else { &mut programs };
                let series = Series::of(circumstances, report);
                let points = into.entry((Key::of(circumstances, report), series, report.ranks)).or_default();
                points.push((run, report.clone()));
            }
        }
        let point = |((key, series, ranks), runs)| Point { key, series, ranks, runs };
        let points = |of: Points| of.into_iter().map(point).collect();
        Collection { programs: points(programs), operations: points(operations), wrong }
    }

    /// Returns the times from which speed-ups in `key`'s place can be modelled: the sequential program's times on a
    /// quiet machine, if they were measured. The data that mm2's ranks share does not depend on the kernel, so the time
    /// of any kernel can be used.
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
    /// Returns the runs of this point.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        self.runs.iter().map(|(run, _)| *run)
    }

    /// Returns a figure of all runs.
    pub fn all(&self, figure: impl Fn(&Report) -> Spread) -> Spread {
        Spread::together(self.runs.iter().map(|(_, report)| figure(report)))
    }

    /// Returns a figure of the runs that have it, or `None` if no run has it.
    pub fn some(&self, figure: impl Fn(&Report) -> Option<Spread>) -> Option<Spread> {
        let figures: Vec<Spread> = self.runs.iter().filter_map(|(_, report)| figure(report)).collect();
        (!figures.is_empty()).then(|| Spread::together(figures))
    }

    /// Returns the median of a figure that does not vary in a run.
    pub fn middle(&self, figure: impl Fn(&Report) -> Option<f64>) -> Option<f64> {
        self.some(|report| figure(report).map(Spread::exactly)).map(|of| of.median)
    }

    /// Returns the time of a repetition, or of one operation.
    pub fn seconds(&self) -> Spread {
        self.all(|report| report.seconds)
    }

    /// Returns the median time of sharing that was hidden behind computing.
    pub fn hidden(&self) -> f64 {
        self.all(|report| report.hidden_seconds).median
    }

    /// Returns the sequential program's time in the same jobs.
    pub fn sequential(&self) -> f64 {
        self.middle(|report| Some(report.sequential_seconds)).unwrap_or_default()
    }

    /// Returns the sequential time divided by the time of a repetition, or `None` if one of them is 0.
    pub fn speedup(&self) -> Option<Spread> {
        self.some(|report| speedup(report.sequential_seconds, report.seconds))
    }

    /// Returns the phases of a repetition, in the order of the first run. A phase that only some runs have counts in
    /// these runs alone.
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

/// Returns the speed-up over `sequential`, or `None` if a time is 0.
pub fn speedup(sequential: f64, Spread { min, median, max }: Spread) -> Option<Spread> {
    let meaningful = sequential > 0.0 && min > 0.0;
    meaningful.then(|| Spread { min: sequential / max, median: sequential / median, max: sequential / min })
}
