//! Aurora against everything else: how many times as long another takes for the same.

use super::Spread;
use super::collect::{Collection, Own, Point, Systems, speedup};
use super::series::{Key, Problem, Series};
use std::collections::BTreeMap;

/// One comparison.
#[derive(Clone, Debug)]
pub struct Versus<'c> {
    /// What is compared; in a model with the kernel whose time that is made from.
    pub problem: Problem,
    /// Whose figures, and where.
    pub key: &'c Key,
    /// With whom.
    pub other: &'c Series,
    /// Ranks of the jobs.
    pub ranks: usize,
    /// From where the figures are.
    pub basis: Basis,
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

/// What kind of figures are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Basis {
    /// Times of an application, from a clock.
    Measured,
    /// Its sequential time divided by the ranks, and measured sharing.
    Modelled,
    /// Its sharing alone, from a clock, where nobody computes meanwhile.
    Sharing,
    /// Times of an operation, from a clock.
    Operation,
}

impl Versus<'_> {
    /// Whether the slower one's fastest repetition is faster than the other's slowest.
    pub fn overlap(&self) -> bool {
        self.ours.min <= self.theirs.max && self.theirs.min <= self.ours.max
    }
}

/// The time that is modelled for `ranks` machines: computing alone divided by them, and all sharing, none of it hidden:
/// what hid it here was computing on cores that ranks have shared.
pub fn modelled(alone: f64, shared: Spread, ranks: usize) -> Spread {
    Spread::exactly(alone / ranks as f64).plus(shared)
}

/// The modelled speed-ups of one system, by ranks.
pub fn modelled_speedups(alone: f64, points: &BTreeMap<usize, Point>) -> BTreeMap<usize, Spread> {
    let of =
        |(ranks, point): (&usize, &Point)| Some((*ranks, speedup(alone, modelled(alone, point.shared(), *ranks))?));
    points.iter().filter_map(of).collect()
}

/// Whether speed-ups are to be modelled there: between machines that are emulated or otherwise named.
pub fn is_modelled(key: &Key, series: &Series) -> bool {
    key.setting.network.is_some() && series.is_parallel() && series.is_measured()
}

/// All comparisons with other systems that the figures allow. The sequential program is none: the speed-up says what
/// there is to say.
pub fn all(collection: &Collection) -> Vec<Versus<'_>> {
    let mut all = Vec::new();
    for (key, systems) in &collection.programs {
        let alone = if key.setting.network.is_some() { collection.alone(key) } else { Vec::new() };
        for (ours, other, ranks) in rivals(systems) {
            let (mine, theirs) = (&systems[ours][&ranks], &systems[other][&ranks]);
            let at = |basis| At { problem: &key.problem, key, other, ranks, basis };
            if key.setting.apart {
                // A rank that is alone shares nothing.
                let sharing = (ranks > 1).then(|| at(Basis::Sharing));
                all.extend(sharing.and_then(|at| at.compare(&mine.each, &theirs.each, |own| own.shared)));
            } else {
                all.extend(at(Basis::Measured).compare(&mine.each, &theirs.each, |own| own.seconds));
            }
            for alone in alone.iter().filter(|_| is_modelled(key, other)) {
                let at = At { problem: &alone.problem, ..at(Basis::Modelled) };
                all.extend(at.compare(&mine.each, &theirs.each, |own| modelled(alone.seconds, own.shared, ranks)));
            }
        }
    }
    for (key, systems) in &collection.benches {
        for (ours, other, ranks) in rivals(systems) {
            let (mine, theirs) = (&systems[ours][&ranks], &systems[other][&ranks]);
            let at = At { problem: &key.problem, key, other, ranks, basis: Basis::Operation };
            all.extend(at.compare(&mine.each, &theirs.each, |own| own.seconds));
        }
    }
    all
}

/// Aurora's series, another's, and a number of ranks that both have figures of.
fn rivals(systems: &Systems) -> Vec<(&Series, &Series, usize)> {
    let mut rivals = Vec::new();
    for (other, points) in systems {
        if !other.is_rival() || !other.is_measured() {
            continue;
        }
        let same = |ours: &Series| ours.is_aurora() && ours.is_measured() && ours.others == other.others;
        for ranks in points.keys() {
            // With streaming loads, if there is such a run; without, if not.
            let ours = systems.iter().filter(|(ours, mine)| same(ours) && mine.contains_key(ranks));
            let ours = ours.min_by_key(|(ours, _)| ours.preference());
            rivals.extend(ours.map(|(ours, _)| (ours, other, *ranks)));
        }
    }
    rivals
}

struct At<'p, 'c> {
    problem: &'p Problem,
    key: &'c Key,
    other: &'c Series,
    ranks: usize,
    basis: Basis,
}

impl<'c> At<'_, 'c> {
    /// None where something took no time at all.
    fn compare(self, ours: &[Own], theirs: &[Own], time: impl Fn(&Own) -> Spread) -> Option<Versus<'c>> {
        let turns = |own: &Own| ours.iter().find(|mine| mine.run == own.run).map(|mine| (time(mine), time(own)));
        let mut pairs: Vec<(Spread, Spread)> = theirs.iter().filter_map(turns).collect();
        let paired = !pairs.is_empty();
        if !paired {
            let together = |of: &[Own]| Spread::together(of.iter().map(&time));
            pairs.push((together(ours), together(theirs)));
        }
        if pairs.iter().any(|(ours, theirs)| ours.median <= 0.0 || theirs.median <= 0.0) {
            return None;
        }
        let At { problem, key, other, ranks, basis } = self;
        let apart: &[Own] = if paired { &[] } else { ours };
        let runs = theirs.iter().chain(apart).map(|own| own.run).collect();
        let ratio = Spread::of(pairs.iter().map(|(ours, theirs)| theirs.median / ours.median)).median;
        let (ours, theirs) = pairs.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let (ours, theirs) = (Spread::together(ours), Spread::together(theirs));
        Some(Versus { problem: problem.clone(), key, other, ranks, basis, ours, theirs, ratio, paired, runs })
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{labelled, program, read};
    use super::*;

    #[test]
    fn who_took_turns_in_one_job_is_compared_there() {
        let run = |ours, theirs| program("mm2", 704, 4, &[("aurora", ours), ("mpi-isend", theirs)]);
        // The second job ran on a machine at half the speed; Aurora had a third to itself.
        let runs = read(&[run(0.01, 0.03), run(0.02, 0.06), program("mm2", 704, 4, &[("aurora", 0.5)])]);
        let collection = Collection::of(&runs);
        let all = all(&collection);
        assert_eq!(all.len(), 1);
        assert!((all[0].ratio - 3.0).abs() < 1e-9 && all[0].paired && all[0].basis == Basis::Measured);
    }

    #[test]
    fn who_did_not_is_compared_by_all_runs() {
        let run = |who, seconds| program("mm2", 704, 4, &[(who, seconds)]);
        let collection =
            Collection::of(&read(&[run("aurora", 0.02), run("mpi-collective", 0.01), run("sequential", 0.1)]));
        let all = all(&collection);
        assert_eq!(all.len(), 1);
        assert!(all[0].ratio == 0.5 && !all[0].paired && !all[0].overlap());
    }

    #[test]
    fn aurora_is_no_rival_of_itself_in_any_form() {
        let run = |who: &[(&str, f64)]| Collection::of(&read(&[program("histogram", 1000, 4, who)]));
        let who = |collection: &Collection| {
            all(collection).iter().map(|versus| (versus.ours.median, versus.other.to_string())).collect::<Vec<_>>()
        };
        let ours = [("aurora", 0.02), ("accumulate", 0.01), ("naive", 0.5), ("sequential", 0.1)];
        assert_eq!(who(&run(&ours)), []);
        // Another system need not be MPI.
        let rivals = [("rayon", 0.03), ("mpi-isend", 0.04)];
        let found = who(&run(&[&ours[..], &rivals[..]].concat()));
        assert_eq!(found, [(0.02, "mpi-isend".to_string()), (0.02, "rayon".to_string())]);
        assert_eq!(who(&run(&[ours[1], rivals[1]])), [(0.01, "mpi-isend".to_string())]);
    }

    #[test]
    fn of_phases_that_are_apart_sharing_is_compared() {
        let run = |who| labelled(program("mm2", 704, 4, &[(who, 0.1), ("mpi-isend-whole", 0.2)]), "phases", "apart");
        let collection = Collection::of(&read(&[run("aurora-whole")]));
        let all = all(&collection);
        assert_eq!(all.iter().map(|versus| versus.basis).collect::<Vec<_>>(), [Basis::Sharing]);
        assert!((all[0].ratio - 2.0).abs() < 1e-9 && all[0].other.implementation == "mpi-isend-whole");
    }

    #[test]
    fn a_model_takes_computing_from_a_quiet_machine_and_all_sharing() {
        let run = |ranks, kind| {
            let run = program("mm2", 704, ranks, &[("aurora", 0.08), ("mpi-isend", 0.16)]);
            labelled(labelled(run, "network", "155 Mbit/s"), "kind", kind)
        };
        let runs = read(&[run(4, "measured"), run(1, "computing alone")]);
        let collection = Collection::of(&runs);
        let all = all(&collection);
        let of = all.iter().find(|versus| versus.basis == Basis::Modelled).unwrap();
        // 0.04 s alone; of 0.08 s a quarter sharing and an eighth hidden.
        assert!((of.ours.median - (0.01 + 0.03)).abs() < 1e-9 && (of.theirs.median - (0.01 + 0.06)).abs() < 1e-9);
        let systems = &collection.programs[of.key];
        let speedups = modelled_speedups(0.04, systems.values().next().unwrap());
        assert!((speedups[&4].median - 1.0).abs() < 1e-9);
    }
}
