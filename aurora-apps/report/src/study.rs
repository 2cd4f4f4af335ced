//! Figures that are compared: of one problem in one place. And Aurora against everything else: how many times as long
//! another takes for the same.

use super::collect::{Alone, Collection, Point, speedup};
use super::series::{Key, Problem, Series};
use super::{Report, Spread};

/// What kind of figures are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Times of an application, from a clock.
    Measured,
    /// As if each rank were a machine: its sequential time divided by the ranks, and all measured sharing, none of it
    /// hidden: what hid it here was computing on cores that ranks have shared.
    Modelled,
    /// Its sharing alone, from a clock, where nobody computes meanwhile.
    Sharing,
    /// Times of an operation, from a clock.
    Operation,
}

/// All that was measured of one problem in one place, or is modelled from it.
#[derive(Debug)]
pub struct Study<'c> {
    pub basis: Basis,
    /// What is compared; in a model with the kernel whose time that is made from.
    pub problem: &'c Problem,
    pub key: &'c Key,
    /// What took part, system by system.
    pub points: Vec<&'c Point>,
    /// What a model is made from.
    pub alone: Option<Alone>,
    /// All comparisons with other systems that the figures allow. The sequential program is none: the speed-up says
    /// what there is to say.
    pub versus: Vec<Versus<'c>>,
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct Versus<'c> {
    pub other: &'c Series,
    pub ranks: usize,
    /// Their middle time over ours: above 1 Aurora is faster. Of runs in which both took turns, if there are any.
    pub ratio: f64,
    /// Whether the slower one's fastest repetition is faster than the other's slowest.
    pub overlap: bool,
    /// Whether both took turns in one job, on the same data.
    pub paired: bool,
    pub runs: Vec<usize>,
}

/// All studies: of each problem and place what was measured, then what is modelled; behind them the operations.
pub fn studies(of: &Collection) -> Vec<Study<'_>> {
    let mut studies = Vec::new();
    for points in of.programs.chunk_by(|one, other| one.key == other.key) {
        let key = &points[0].key;
        let basis = if key.setting.apart { Basis::Sharing } else { Basis::Measured };
        studies.push(Study::of(basis, &key.problem, points, None));
        // Between machines that are emulated or otherwise named.
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
        // A rank that is alone shares nothing.
        let is_other = |of: &&Point| of.series.is_rival() && (basis != Basis::Sharing || of.ranks > 1);
        let others = study.points.iter().copied().filter(is_other);
        study.versus = others.filter_map(|other| study.compare(other)).collect();
        study
    }

    /// The points of each system.
    pub fn systems(&self) -> impl Iterator<Item = &[&'c Point]> {
        self.points.chunk_by(|one, other| one.series == other.series)
    }

    /// The time that counts.
    fn time(&self, run: &Report) -> Spread {
        match (self.basis, &self.alone) {
            (_, Some(alone)) => Spread::exactly(alone.seconds / run.ranks as f64).plus(run.shared()),
            (Basis::Sharing, None) => run.shared(),
            _ => run.seconds,
        }
    }

    /// That of all runs.
    pub fn seconds(&self, point: &Point) -> Spread {
        point.all(|run| self.time(run))
    }

    /// What a model is made from besides.
    pub fn alone_runs(&self) -> Vec<usize> {
        self.alone.as_ref().map(|alone| alone.runs.clone()).unwrap_or_default()
    }

    /// How many times as fast as the sequential program.
    pub fn speedup(&self, point: &Point) -> Option<Spread> {
        match &self.alone {
            Some(alone) => speedup(alone.seconds, self.seconds(point)),
            None => point.speedup(),
        }
    }

    /// None where Aurora has no figures of as many ranks, or something took no time at all.
    fn compare(&self, theirs: &'c Point) -> Option<Versus<'c>> {
        let Point { series: other, ranks, .. } = theirs;
        let is_ours = |ours: &Series| ours.is_aurora() && ours.others == other.others;
        let ours = self.points.iter().filter(|ours| is_ours(&ours.series) && ours.ranks == *ranks);
        // With streaming loads, if there is such a run; without, if not.
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
