//! Figures that are compared: of one problem in one place. And Aurora against everything else: how many times as long
//! another takes for the same.

use super::Spread;
use super::collect::{Alone, Collection, Own, Point, Points, Systems, speedup};
use super::series::{Key, Problem, Series};
use std::collections::BTreeMap;

/// What kind of figures are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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

impl Basis {
    /// In the order in which a page speaks of them.
    pub const ALL: [Basis; 4] = [Basis::Measured, Basis::Modelled, Basis::Sharing, Basis::Operation];
}

/// All that was measured of one problem in one place, or is modelled from it.
#[derive(Debug)]
pub struct Study<'c> {
    /// From where the figures are.
    pub basis: Basis,
    /// What is compared; in a model with the kernel whose time that is made from.
    pub problem: &'c Problem,
    /// Whose figures, and where.
    pub key: &'c Key,
    /// What took part.
    pub systems: BTreeMap<&'c Series, &'c Points>,
    /// What a model is made from.
    pub alone: Option<Alone>,
    /// All comparisons with other systems that the figures allow. The sequential program is none: the speed-up says
    /// what there is to say.
    pub versus: Vec<Versus<'c>>,
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct Versus<'c> {
    /// With whom.
    pub other: &'c Series,
    /// Ranks of the jobs.
    pub ranks: usize,
    /// Aurora's time.
    pub ours: Spread,
    /// The other's.
    pub theirs: Spread,
    /// Their middle time over ours: above 1 Aurora is faster. Of runs in which both took turns, if there are any.
    pub ratio: f64,
    /// Whether both took turns in one job, on the same data.
    pub paired: bool,
    /// Where it comes from.
    pub runs: Vec<usize>,
}

impl Versus<'_> {
    /// Whether the slower one's fastest repetition is faster than the other's slowest.
    pub fn overlap(&self) -> bool {
        self.ours.min <= self.theirs.max && self.theirs.min <= self.ours.max
    }
}

/// All studies: of each problem and place what was measured, then what is modelled; behind them the operations.
pub fn studies(of: &Collection) -> Vec<Study<'_>> {
    let mut studies = Vec::new();
    for (key, systems) in &of.programs {
        let basis = if key.setting.apart { Basis::Sharing } else { Basis::Measured };
        studies.push(Study::of(basis, &key.problem, key, systems, None));
        // Between machines that are emulated or otherwise named.
        let alone = key.setting.network.iter().flat_map(|_| of.alone(key));
        studies.extend(alone.map(|(problem, alone)| Study::of(Basis::Modelled, problem, key, systems, Some(alone))));
    }
    studies.extend(of.benches.iter().map(|(key, of)| Study::of(Basis::Operation, &key.problem, key, of, None)));
    studies
}

impl<'c> Study<'c> {
    fn of(basis: Basis, problem: &'c Problem, key: &'c Key, systems: &'c Systems, alone: Option<Alone>) -> Self {
        let belongs = |of: &Series| of.is_measured() && (basis != Basis::Modelled || of.is_parallel());
        let systems = systems.iter().filter(|(series, _)| belongs(series)).collect();
        let mut study = Study { basis, problem, key, systems, alone, versus: Vec::new() };
        study.versus = study.rivals().into_iter().filter_map(|rivals| study.compare(rivals)).collect();
        study
    }

    /// The time that counts: of one run with so many ranks.
    fn time(&self, ranks: usize, own: &Own) -> Spread {
        match (self.basis, &self.alone) {
            (_, Some(alone)) => Spread::exactly(alone.seconds / ranks as f64).plus(own.shared()),
            (Basis::Sharing, None) => own.shared(),
            _ => own.report.seconds,
        }
    }

    /// The time that counts: of all runs.
    pub fn seconds(&self, ranks: usize, point: &Point) -> Spread {
        point.all(|own| self.time(ranks, own))
    }

    /// What a model is made from besides.
    pub fn alone_runs(&self) -> Vec<usize> {
        self.alone.as_ref().map(|alone| alone.runs.clone()).unwrap_or_default()
    }

    /// How many times as fast as the sequential program.
    pub fn speedup(&self, ranks: usize, point: &Point) -> Option<Spread> {
        match &self.alone {
            Some(alone) => speedup(alone.seconds, self.seconds(ranks, point)),
            None => point.speedup(),
        }
    }

    /// Aurora's series, another's, and a number of ranks that both have figures of.
    fn rivals(&self) -> Vec<(&'c Series, &'c Series, usize)> {
        let mut rivals = Vec::new();
        for (other, points) in self.systems.iter().filter(|(other, _)| other.is_rival()) {
            // A rank that is alone shares nothing.
            for ranks in points.keys().filter(|ranks| self.basis != Basis::Sharing || **ranks > 1) {
                let same = |ours: &Series| ours.is_aurora() && ours.others == other.others;
                let ours = self.systems.iter().filter(|(ours, mine)| same(ours) && mine.contains_key(ranks));
                // With streaming loads, if there is such a run; without, if not.
                let ours = ours.min_by_key(|(ours, _)| ours.preference());
                rivals.extend(ours.map(|(ours, _)| (*ours, *other, *ranks)));
            }
        }
        rivals
    }

    /// None where something took no time at all.
    fn compare(&self, (ours, other, ranks): (&Series, &'c Series, usize)) -> Option<Versus<'c>> {
        let (ours, theirs) = (&self.systems[ours][&ranks], &self.systems[other][&ranks]);
        let time = |own: &Own| self.time(ranks, own);
        let turns = |own: &Own| ours.0.iter().find(|mine| mine.run == own.run).map(|mine| (time(mine), time(own)));
        let mut pairs: Vec<(Spread, Spread)> = theirs.0.iter().filter_map(turns).collect();
        let mut runs: Vec<usize> = theirs.runs().collect();
        let paired = !pairs.is_empty();
        if !paired {
            pairs.push((ours.all(time), theirs.all(time)));
            runs.extend(ours.runs());
        }
        if pairs.iter().any(|(ours, theirs)| ours.median <= 0.0 || theirs.median <= 0.0) {
            return None;
        }
        let ratio = Spread::of(pairs.iter().map(|(ours, theirs)| theirs.median / ours.median)).median;
        let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let (ours, theirs) = (Spread::together(ours), Spread::together(theirs));
        Some(Versus { other, ranks, ours, theirs, ratio, paired, runs })
    }
}
