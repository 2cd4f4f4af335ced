//! The targets on the emulated cluster, and their results.

use super::case::{MM2, MM2_704, PSRS, PSRS_8M, Program};
use super::grid::{NETWORKS, Network, PAPERS};
use super::point::{Point, Run, spread};
use super::section::{at, least_ratio, numbers_of_nodes, of};
use aurora_apps::report::Spread;
use aurora_suite::markdown;
use aurora_suite::mpi::Flavour;

/// Forms of MPI; their names may end with `-whole`.
const ISEND: &str = "mpi-isend";
const COLLECTIVE: &str = "mpi-collective";

/// The number of nodes at which sharing is compared.
const NODES: usize = 16;

/// All targets of the study as Markdown: the maximum or minimum, and the measured ratios with their names. A row
/// without a measurement says `not measured`.
pub fn table(points: &[Point], alone: &[Point]) -> String {
    let (mm2, psrs) = (&of(points, &PAPERS, MM2_704), &of(points, &PAPERS, PSRS_8M));
    let (sharing, exchange) = (|run: &Run| run.sharing_seconds, |run: &Run| run.phases(PSRS.bulk));
    let both = Flavour::BOTH;
    let alltoallv = beside(psrs, &both, COLLECTIVE, exchange);
    let goals = [
        ("<=", "mm2 704, sharing at 16 nodes / MPI Isend, defaults", 0.30, beside(mm2, &both, ISEND, sharing)),
        ("<=", "the same / Open MPI's collective, defaults", 0.50, beside(mm2, &both[..1], COLLECTIVE, sharing)),
        ("<=", "the same / MPICH's collective, defaults", 0.75, beside(mm2, &both[1..], COLLECTIVE, sharing)),
        ("<=", "the same / the best tuned", 1.03, beside_tuned(mm2, sharing)),
        ("<=", "psrs 8 M, phase 3 at 16 nodes / MPI_Alltoallv, defaults", 0.28, alltoallv),
        ("<=", "the same / the best tuned", 0.65, beside_tuned(psrs, exchange)),
        (">=", "mm2, modelled speed-up at every number of nodes / the best MPI", 1.0, modelled(points, alone, &MM2)),
        (">=", "psrs, modelled speed-up at every number of nodes / the best MPI", 1.0, modelled(points, alone, &PSRS)),
        ("<=", "spread of mm2 704 (sharing, max/min)", 1.05, steady(mm2, sharing)),
        ("<=", "spread of psrs 8 M (phase 3, max/min)", 1.05, steady(psrs, exchange)),
    ];
    let rows = goals.map(|(sign, what, limit, found)| {
        let keeps = |found: f64| if sign == "<=" { found <= limit } else { found >= limit };
        let reached = if found.iter().all(|(_, found)| keeps(*found)) { "yes" } else { "**no**" };
        let words: Vec<_> = found.iter().map(|(name, figure)| format!("{name} {figure:.3}")).collect();
        let (reached, figure) =
            if words.is_empty() { ("-", "not measured".into()) } else { (reached, words.join("; ")) };
        [what.into(), format!("{sign} {limit:.2}"), reached.into(), figure]
    });
    markdown::table("what|reach|reached|figure", rows)
}

/// Aurora divided by a form in the same job, for each MPI with its defaults, both with waiting ranks and with polling.
fn beside(points: &[&Point], mpis: &[Flavour], form: &str, of: impl Fn(&Run) -> Spread) -> Vec<(String, f64)> {
    let ratio = |point: &Point| {
        let plan = &point.plan;
        let (ours, theirs) = (point.aurora()?, point.form(form)?);
        let polling = if plan.polls() { ", polling" } else { "" };
        let is_meant = !plan.is_tuned() && mpis.contains(&plan.flavour);
        is_meant.then(|| (format!("{}{polling}", plan.flavour.words()), of(ours).median / of(theirs).median))
    };
    at(points, NODES).filter_map(ratio).collect()
}

/// Aurora divided by the fastest tuned form of MPI, within that form's job.
fn beside_tuned(points: &[&Point], of: impl Fn(&Run) -> Spread) -> Vec<(String, f64)> {
    let tuned = at(points, NODES).filter(|point| point.plan.is_tuned());
    let runs = tuned.flat_map(|point| point.others().filter_map(|run| Some((point.plan, run, point.aurora()?))));
    let fastest = runs.min_by(|(_, a, _), (_, b, _)| of(a).median.total_cmp(&of(b).median));
    let named = fastest.map(|(plan, run, ours)| {
        let name = format!("{}, {}, {}", plan.flavour.words(), run.implementation, plan.setting);
        (name, of(ours).median / of(run).median)
    });
    named.into_iter().collect()
}

/// Aurora's modelled speed-up divided by that of the best MPI in the same job: the minimum for each network.
fn modelled(points: &[Point], alone: &[Point], program: &Program) -> Vec<(String, f64)> {
    let least = |network: &Network| {
        let mut ratios = Vec::new();
        for alone in alone.iter().filter(|alone| alone.plan.case.program == program) {
            let (name, kernel) = (alone.plan.case.name, alone.plan.kernel.unwrap_or_default());
            let points = of(points, network, alone.plan.case);
            ratios.extend(several(&points).filter_map(|nodes| {
                let at = format!("{}, least at {name} {kernel}, {nodes} nodes:", network.words);
                Some((at, least_ratio(&points, nodes, alone)?))
            }));
        }
        ratios.into_iter().min_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    NETWORKS.iter().filter_map(least).collect()
}

/// The spread of Aurora's repetitions: the maximum for each number of nodes.
fn steady(points: &[&Point], of: impl Fn(&Run) -> Spread) -> Vec<(String, f64)> {
    let most = |nodes: usize| {
        let most = at(points, nodes).filter_map(Point::aurora).map(|run| spread(of(run))).max_by(f64::total_cmp)?;
        Some((format!("{nodes} nodes:"), most))
    };
    several(points).filter_map(most).collect()
}

/// A single node shares nothing.
fn several(points: &[&Point]) -> impl Iterator<Item = usize> + use<> {
    numbers_of_nodes(points).into_iter().filter(|nodes| *nodes > 1)
}

#[cfg(test)]
mod tests {
    use super::super::grid::SETTINGS;
    use super::super::point::tests::{alone, point};
    use super::*;

    fn mm2(nodes: usize, ours: f64, isend: f64, collective: f64) -> Point {
        point(MM2_704, nodes, &[("aurora-whole", ours), ("mpi-isend", isend), ("mpi-collective", collective)])
    }

    #[test]
    fn a_goal_is_reached_where_each_figure_of_each_job_keeps_to_it() {
        let with = |mut point: Point, change: fn(&mut Point)| {
            change(&mut point);
            point
        };
        let mpich = with(mm2(16, 1.0, 3.0, 1.25), |point| point.plan.flavour = Flavour::Mpich);
        let polling = with(mm2(16, 1.0, 2.0, 2.0), |point| point.plan.setting = SETTINGS[2]);
        let tuned = with(mm2(16, 1.04, 1.02, 1.3), |point| point.plan.setting = SETTINGS[1]);
        let loose = with(mm2(8, 1.0, 1.0, 1.0), |point| point.runs[0].sharing_seconds.max *= 1.1);
        let both = [mm2(16, 1.0, 4.0, 2.5), mpich];
        let isend = "mm2 704, sharing at 16";
        for (points, what, reached, figure) in [
            (&both[..], isend, "**no**", "Open MPI 0.250; MPICH 0.333"),
            (&both, "the same / Open MPI's", "yes", "Open MPI 0.400"),
            (&both, "the same / MPICH's", "**no**", "MPICH 0.800"),
            (&both, "the same / the best tuned", "-", "not measured"),
            (&both, "psrs 8 M", "-", "not measured"),
            (&both, "mm2, modelled", "yes", "155 Mbit/s, MTU 9000, least at mm2-704 dot, 16 nodes: 1.204"),
            // Polling ranks count too.
            (&[mm2(16, 1.0, 4.0, 4.0), polling], isend, "**no**", "Open MPI 0.250; Open MPI, polling 0.500"),
            // The best tuned form counts, of any MPI.
            (&[mm2(16, 1.0, 3.0, 3.0), tuned], "the same / the best", "yes", "Open MPI, mpi-isend, tuned 1.020"),
            // One number of nodes at which MPI is faster misses the target.
            (&[mm2(4, 1.2, 1.1, 1.1), mm2(16, 1.0, 2.0, 2.0)], "mm2, modelled", "**no**", "4 nodes: 0.9"),
            (&[mm2(4, 1.0, 1.0, 1.0), loose], "spread of mm2", "**no**", "4 nodes: 1.000; 8 nodes: 1.100"),
        ] {
            let table = table(points, &[alone(MM2_704, 0.7)]);
            let line = table.lines().find(|line| line.starts_with(&format!("| {what}"))).expect(what);
            assert!(line.contains(&format!("| {reached} | ")) && line.contains(figure), "{what}: {line}");
        }
    }

    #[test]
    fn a_table_says_what_was_not_measured() {
        assert!(table(&[], &[]).lines().skip(2).all(|line| line.ends_with("| - | not measured |")));
    }
}
