//! Puts runs of the same kind together.

use super::Spread;
use super::recorded::{Recorded, What};
use super::report::{Phase, Report};
use super::series::{Key, Problem, Series};
use std::collections::BTreeMap;

/// What one system took, by number of ranks.
pub type Points = BTreeMap<usize, Point>;

/// What belongs to one problem in one place, by system.
pub type Systems = BTreeMap<Series, Points>;

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

/// What one run says.
#[derive(Clone, Debug)]
pub struct Own {
    /// Which run.
    pub run: usize,
    /// Its figures; of an operation there is the time, for once.
    pub report: Report,
    /// Packets of an operation that were sent again.
    pub resent: Option<Spread>,
}

impl Own {
    /// Sharing, what is hidden behind computing included.
    pub fn shared(&self) -> Spread {
        self.report.sharing_seconds.plus(self.report.hidden_seconds)
    }
}

/// What one system took with so many ranks, in all runs.
#[derive(Clone, Debug, Default)]
pub struct Point(pub Vec<Own>);

/// The sequential program alone on a quiet machine.
#[derive(Clone, Debug)]
pub struct Alone {
    /// Its time: of runs with several numbers of ranks or labels the least, which makes every modelled speed-up the
    /// smallest.
    pub seconds: f64,
    /// Where it comes from.
    pub runs: Vec<usize>,
}

impl Collection {
    /// Of all runs.
    pub fn of(runs: &[Recorded]) -> Self {
        let mut all = Collection::default();
        for (run, Recorded { circumstances, what, .. }) in runs.iter().enumerate() {
            let (into, results): (_, Vec<(Report, Option<Spread>)>) = match what {
                What::Program(results) => (&mut all.programs, results.iter().map(|of| (of.clone(), None)).collect()),
                What::Bench(results) => {
                    (&mut all.benches, results.iter().map(|of| (of.into(), of.packets_resent)).collect())
                }
                // These have no clock in common with the others.
                What::Simulation(_) => continue,
            };
            for (report, resent) in results {
                if report.verified {
                    let systems = into.entry(Key::of(circumstances, &report)).or_default();
                    let points = systems.entry(Series::of(circumstances, &report.implementation)).or_default();
                    points.entry(report.ranks).or_default().0.push(Own { run, report, resent });
                } else {
                    all.wrong.push((run, report.implementation));
                }
            }
        }
        all
    }

    /// What speed-ups in `key`'s place can be modelled from: the sequential program's times on a quiet machine, if
    /// somebody has measured them. What mm2's ranks share does not depend on the kernel, so each kernel's time will do.
    pub fn alone(&self, key: &Key) -> impl Iterator<Item = (&Problem, Alone)> {
        let mut all: BTreeMap<&Problem, Vec<&Point>> = BTreeMap::new();
        for (other, systems) in self.programs.iter().filter(|(other, _)| other.setting.machine == key.setting.machine) {
            let of_kernel = Problem { variant: key.problem.variant.clone(), ..other.problem.clone() };
            if other.problem == key.problem || key.problem.name == "mm2" && of_kernel == key.problem {
                let alone = systems.iter().filter(|(series, _)| series.is_alone());
                let points = alone.flat_map(|(_, points)| points.values()).filter(|point| point.sequential() > 0.0);
                all.entry(&other.problem).or_default().extend(points);
            }
        }
        all.into_iter().filter_map(|(problem, points)| {
            let seconds = points.iter().map(|point| point.sequential()).reduce(f64::min)?;
            Some((problem, Alone { seconds, runs: points.iter().flat_map(|point| point.runs()).collect() }))
        })
    }
}

impl Point {
    /// Where it comes from.
    pub fn runs(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|own| own.run)
    }

    /// A figure of all runs.
    pub fn all(&self, figure: impl Fn(&Own) -> Spread) -> Spread {
        Spread::together(self.0.iter().map(figure))
    }

    /// A figure of those runs that have it; none if there are none.
    pub fn some(&self, figure: impl Fn(&Own) -> Option<Spread>) -> Option<Spread> {
        let figures: Vec<Spread> = self.0.iter().filter_map(figure).collect();
        (!figures.is_empty()).then(|| Spread::together(figures))
    }

    /// The middle of a figure that does not vary in a run.
    pub fn middle(&self, figure: impl Fn(&Report) -> Option<f64>) -> Option<f64> {
        self.some(|own| figure(&own.report).map(Spread::exactly)).map(|of| of.median)
    }

    /// Time of a repetition, of an operation that for once.
    pub fn seconds(&self) -> Spread {
        self.all(|own| own.report.seconds)
    }

    /// Of that, sharing.
    pub fn sharing(&self) -> Spread {
        self.all(|own| own.report.sharing_seconds)
    }

    /// What was shared while ranks computed, in the middle.
    pub fn hidden(&self) -> f64 {
        self.all(|own| own.report.hidden_seconds).median
    }

    /// The sequential program's time in the same jobs.
    pub fn sequential(&self) -> f64 {
        self.middle(|report| Some(report.sequential_seconds)).unwrap_or_default()
    }

    /// Sequential time over that of a repetition; none where nothing was to be done.
    pub fn speedup(&self) -> Option<Spread> {
        self.some(|own| speedup(own.report.sequential_seconds, own.report.seconds))
    }

    /// Transfers sent in a repetition, where they are ours.
    pub fn messages(&self) -> Option<f64> {
        self.middle(|report| report.messages.map(|messages| messages as f64))
    }

    /// Bytes sent in a repetition.
    pub fn bytes(&self) -> Option<f64> {
        self.middle(|report| report.bytes.map(|bytes| bytes as f64))
    }

    /// The phases of a repetition, in the order of the first run; a phase that only some runs have is theirs.
    pub fn phases(&self) -> Vec<Phase> {
        let mut phases: Vec<(&Phase, Vec<Spread>)> = Vec::new();
        for phase in self.0.iter().flat_map(|own| &own.report.phases) {
            match phases.iter_mut().find(|(known, _)| known.name == phase.name) {
                Some((_, seconds)) => seconds.push(phase.seconds),
                None => phases.push((phase, vec![phase.seconds])),
            }
        }
        phases.into_iter().map(|(phase, of)| Phase { seconds: Spread::together(of), ..phase.clone() }).collect()
    }

    /// Repetitions, of all runs.
    pub fn reps(&self) -> usize {
        self.0.iter().map(|own| own.report.reps).sum()
    }
}

/// How many times as fast as `sequential`; none where nothing was to be done.
pub fn speedup(sequential: f64, Spread { min, median, max }: Spread) -> Option<Spread> {
    let meaningful = sequential > 0.0 && min > 0.0;
    meaningful.then(|| Spread { min: sequential / max, median: sequential / median, max: sequential / min })
}
