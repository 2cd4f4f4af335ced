//! The comparison of figures of one problem in one place. Aurora is compared with every other system: the ratio of the
//! other system's time to Aurora's time.

use super::collect::{Alone, Collection, Point, speedup};
use super::series::{Key, Problem, Series};
use super::{Report, Spread};

/// The kind of figures that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Times of an application, from a clock.
    Measured,
    /// A model in which each rank is a machine: the sequential time divided by the ranks, and all measured sharing. No
    /// sharing is hidden, because in the measurement it was hidden behind computing on cores that ranks share.
    Modelled,
    /// The sharing of an application alone, from a clock, while no rank computes.
    Sharing,
    /// Times of an operation, from a clock.
    Operation,
}

/// All figures that were measured of one problem in one place, or that are modelled from them.
#[derive(Debug)]
pub struct Study<'c> {
    pub basis: Basis,
    /// The compared problem; in a model, with the kernel whose time the model uses.
    pub problem: &'c Problem,
    pub key: &'c Key,
    /// The points, system by system.
    pub points: Vec<&'c Point>,
    /// The sequential times from which the model is made.
    pub alone: Option<Alone>,
    /// All comparisons with other systems that the figures allow. The sequential program is not among them: the
    /// speed-up compares with it.
    pub versus: Vec<Versus<'c>>,
}

/// One comparison with another system.
#[derive(Clone, Debug)]
pub struct Versus<'c> {
    pub other: &'c Series,
    pub ranks: usize,
    /// The other system's median time divided by Aurora's: above 1 Aurora is faster. From runs in which both took
    /// turns, if there are any.
    pub ratio: f64,
    /// True if the slower system's fastest repetition is faster than the other system's slowest.
    pub overlap: bool,
    /// True if both took turns in one job, on the same data.
    pub paired: bool,
    pub runs: Vec<usize>,
}

/// Returns all studies: for each problem and place the measured ones, then the modelled ones; after them the
/// operations.
pub fn studies(of: &Collection) -> Vec<Study<'_>> {
    let mut studies = Vec::new();
    for points in of.programs.chunk_by(|one, other| one.key == other.key) {
        let key = &points[0].key;
        let basis = if key.setting.apart { Basis::Sharing } else { Basis::Measured };
        studies.push(Study::of(basis, &key.problem, points, None));
        // Only places with a network label: machines that are emulated or named otherwise.
        let alone = key.setting.network.iter().flat_map(|_| of.alone(key));
        studies.extend(alone.map(|(problem, alone)| Study::of(Basis::Modelled, problem, points, Some(alone))));
    }
    let operations = of.operations.chunk_by(|one, other| one.key == other.key);
    studies.extend(operations.map(|points| Study::of(Basis::Operation, &points[0].key.problem, points, None)));
    studies
}

impl<'c> Study<'c> {
    fn of(basis: Basis, problem: &'c Problem, points: &'c [Point], alone: Option<Alone>) -> Self {
        let belongs = |of: &Series| of.is_measured() && (basis != Basis::Modelled || of.is_parallel());
        let key = &points[0].key;
        let points = points.iter().filter(|point| belongs(&point.series)).collect();
        let mut study = Study { basis, problem, key, points, alone, versus: Vec::new() };
        // A single rank shares nothing.
        let is_other = |of: &&Point| of.series.is_rival() && (basis != Basis::Sharing || of.ranks > 1);
        let others = study.points.iter().copied().filter(is_other);
        study.versus = others.filter_map(|other| study.compare(other)).collect();
        study
    }

    /// Returns the points of each system.
    pub fn systems(&self) -> impl Iterator<Item = &[&'c Point]> {
        self.points.chunk_by(|one, other| one.series == other.series)
    }

    /// Returns the time that is compared.
    fn time(&self, run: &Report) -> Spread {
        match (self.basis, &self.alone) {
            (_, Some(alone)) => Spread::exactly(alone.seconds / run.ranks as f64).plus(run.shared()),
            (Basis::Sharing, None) => run.shared(),
            _ => run.seconds,
        }
    }

    /// Returns the compared time of all runs.
    pub fn seconds(&self, point: &Point) -> Spread {
        point.all(|run| self.time(run))
    }

    /// Returns the runs of the sequential program from which the model is made.
    pub fn alone_runs(&self) -> Vec<usize> {
        self.alone.as_ref().map(|alone| alone.runs.clone()).unwrap_or_default()
    }

    /// Returns the speed-up over the sequential program.
    pub fn speedup(&self, point: &Point) -> Option<Spread> {
        match &self.alone {
            Some(alone) => speedup(alone.seconds, self.seconds(point)),
            None => point.speedup(),
        }
    }

    /// Compares Aurora with another system. Returns `None` if Aurora has no figures for the same number of ranks, or if
    /// a time is 0.
    fn compare(&self, theirs: &'c Point) -> Option<Versus<'c>> {
        let Point { series: other, ranks, .. } = theirs;
        let is_ours = |ours: &Series| ours.is_aurora() && ours.others == other.others;
        let ours = self.points.iter().filter(|ours| is_ours(&ours.series) && ours.ranks == *ranks);
        // Takes streaming loads if there is such a run, and otherwise the next form.
        let ours = ours.min_by_key(|ours| ours.series.preference())?;
        let turns = |(run, of): &(usize, Report)| {
            let (_, mine) = ours.runs.iter().find(|(mine, _)| mine == run)?;
            Some((self.time(mine), self.time(of)))
        };
        let mut pairs: Vec<(Spread, Spread)> = theirs.runs.iter().filter_map(turns).collect();
        let mut runs: Vec<usize> = theirs.numbers().collect();
        let paired = !pairs.is_empty();
        if !paired {
            pairs.push((self.seconds(ours), self.seconds(theirs)));
            runs.extend(ours.numbers());
        }
        if pairs.iter().any(|(ours, theirs)| ours.median <= 0.0 || theirs.median <= 0.0) {
            return None;
        }
        let ratio = Spread::of(pairs.iter().map(|(ours, theirs)| theirs.median / ours.median)).median;
        let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let (ours, theirs) = (Spread::together(ours), Spread::together(theirs));
        let overlap = ours.min <= theirs.max && theirs.min <= ours.max;
        Some(Versus { other, ranks: *ranks, ratio, overlap, paired, runs })
    }
}
