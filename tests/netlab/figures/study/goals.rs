//! What is to be reached on the emulated cluster, and whether it is.

use super::case::{MM2, MM2_704, PSRS, PSRS_8M, Program};
use super::grid::{NETWORKS, Network, PAPERS};
use super::point::{Point, Run, spread};
use super::table::{at, least_ratio, markdown, numbers_of_nodes, of};
use aurora_apps::report::Spread;
use aurora_suite::mpi::Flavour;

/// One thing to be reached, by each of some figures.
struct Goal {
    what: &'static str,
    /// `<=` or `>=`.
    sign: &'static str,
    limit: f64,
    /// The figures, each named; none where nothing was measured of it.
    found: Vec<(String, f64)>,
}

impl Goal {
    fn reached(&self) -> &'static str {
        let keeps = |found: f64| if self.sign == "<=" { found <= self.limit } else { found >= self.limit };
        match self.found.iter().all(|(_, found)| keeps(*found)) {
            _ if self.found.is_empty() => "-",
            true => "yes",
            false => "**no**",
        }
    }

    fn figure(&self) -> String {
        let words: Vec<_> = self.found.iter().map(|(name, figure)| format!("{name} {figure:.3}")).collect();
        if words.is_empty() { "not measured".into() } else { words.join("; ") }
    }
}

/// Forms of MPI, whole or not.
const ISEND: &str = "mpi-isend";
const COLLECTIVE: &str = "mpi-collective";

/// At this number of nodes sharing is compared.
const NODES: usize = 16;

/// All that the study has to say something about.
fn goals(points: &[Point], alone: &[Point]) -> [Goal; 10] {
    let (mm2, psrs) = (&of(points, &PAPERS, MM2_704), &of(points, &PAPERS, PSRS_8M));
    let (sharing, exchange) = (|run: &Run| run.sharing_seconds, |run: &Run| run.phases(PSRS.bulk));
    let both = Flavour::BOTH;
    [
        ("<=", "mm2 704, sharing at 16 nodes / MPI Isend, defaults", 0.30, beside(mm2, &both, ISEND, sharing)),
        ("<=", "the same / Open MPI's collective, defaults", 0.50, beside(mm2, &both[..1], COLLECTIVE, sharing)),
        ("<=", "the same / MPICH's collective, defaults", 0.75, beside(mm2, &both[1..], COLLECTIVE, sharing)),
        ("<=", "the same / the best tuned", 1.03, beside_tuned(mm2, sharing)),
        (
            "<=",
            "psrs 8 M, phase 3 at 16 nodes / MPI_Alltoallv, defaults",
            0.28,
            beside(psrs, &both, COLLECTIVE, exchange),
        ),
        ("<=", "the same / the best tuned", 0.65, beside_tuned(psrs, exchange)),
        (">=", "mm2, modelled speed-up at every number of nodes / the best MPI", 1.0, modelled(points, alone, &MM2)),
        (">=", "psrs, the same", 1.0, modelled(points, alone, &PSRS)),
        ("<=", "spread of mm2 704 (sharing, max/min)", 1.05, steady(mm2, sharing)),
        ("<=", "spread of psrs 8 M (phase 3, max/min)", 1.05, steady(psrs, exchange)),
    ]
    .map(|(sign, what, limit, found)| Goal { what, sign, limit, found })
}

/// Aurora over a form in the same job, as each MPI comes: whose ranks wait patiently, and whose poll.
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

/// Aurora over the fastest of all that is tuned, each in its own job.
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

/// Aurora's modelled speed-up over that of the best MPI beside it, the least of each network.
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

/// How far Aurora's repetitions are apart, the most for each number of nodes.
fn steady(points: &[&Point], of: impl Fn(&Run) -> Spread) -> Vec<(String, f64)> {
    let most = |nodes: usize| {
        let most = at(points, nodes).filter_map(Point::aurora).map(|run| spread(of(run))).max_by(f64::total_cmp)?;
        Some((format!("{nodes} nodes:"), most))
    };
    several(points).filter_map(most).collect()
}

/// A node that is alone shares nothing.
fn several(points: &[&Point]) -> impl Iterator<Item = usize> + use<> {
    numbers_of_nodes(points).into_iter().filter(|nodes| *nodes > 1)
}

/// As Markdown.
pub fn table(points: &[Point], alone: &[Point]) -> String {
    let mut rows = vec![["what", "reach", "reached", "figure"].map(String::from)];
    rows.extend(goals(points, alone).iter().map(|goal| {
        let reach = format!("{} {:.2}", goal.sign, goal.limit);
        [goal.what.into(), reach, goal.reached().into(), goal.figure()]
    }));
    markdown(&rows)
}

#[cfg(test)]
mod tests {
    use super::super::grid::SETTINGS;
    use super::super::point::tests::{alone, point};
    use super::*;

    fn mm2(nodes: usize, ours: f64, isend: f64, collective: f64) -> Point {
        point(MM2_704, nodes, &[("aurora-whole", ours), ("mpi-isend", isend), ("mpi-collective", collective)])
    }

    /// Whether a goal is reached, and by what.
    fn found(points: &[Point], what: &str) -> (&'static str, String) {
        let goals = goals(points, &[alone(MM2_704, 0.7)]);
        let goal = goals.iter().find(|goal| goal.what.starts_with(what)).unwrap_or_else(|| panic!("no goal {what}"));
        (goal.reached(), goal.figure())
    }

    #[test]
    fn a_goal_is_reached_where_each_figure_keeps_to_it() {
        let mut points = [mm2(16, 1.0, 4.0, 2.5), mm2(16, 1.0, 3.0, 1.25)];
        points[1].plan.flavour = Flavour::Mpich;
        let isend = found(&points, "mm2 704, sharing at 16");
        assert_eq!(isend, ("**no**", "Open MPI 0.250; MPICH 0.333".into()));
        for (what, reached) in [
            ("the same / Open MPI's", "yes"),
            ("the same / MPICH's", "**no**"),
            ("the same / the best tuned", "-"),
            ("psrs 8 M", "-"),
            ("mm2, modelled", "yes"),
        ] {
            assert_eq!(found(&points, what).0, reached, "{what}");
        }
    }

    #[test]
    fn who_polls_counts_too() {
        let mut points = [mm2(16, 1.0, 4.0, 4.0), mm2(16, 1.0, 2.0, 2.0)];
        points[1].plan.setting = SETTINGS[2];
        let isend = found(&points, "mm2 704, sharing at 16");
        assert_eq!(isend, ("**no**", "Open MPI 0.250; Open MPI, polling 0.500".into()));
    }

    #[test]
    fn the_best_tuned_counts_whoever_it_is() {
        let mut points = [mm2(16, 1.0, 3.0, 3.0), mm2(16, 1.04, 1.02, 1.3)];
        points[1].plan.setting = SETTINGS[1];
        let tuned = found(&points, "the same / the best tuned");
        assert_eq!(tuned, ("yes", "Open MPI, mpi-isend, tuned 1.020".into()));
    }

    #[test]
    fn one_number_of_nodes_at_which_mpi_is_faster_is_one_too_many() {
        let (reached, figure) = found(&[mm2(4, 1.2, 1.1, 1.1), mm2(16, 1.0, 2.0, 2.0)], "mm2, modelled");
        assert!(reached == "**no**" && figure.contains("least at mm2-704 dot, 4 nodes: 0.9"), "{figure}");
    }

    #[test]
    fn the_spread_is_that_of_every_number_of_nodes() {
        let mut points = [mm2(4, 1.0, 1.0, 1.0), mm2(8, 1.0, 1.0, 1.0)];
        points[1].runs[0].sharing_seconds.max *= 1.1;
        assert_eq!(found(&points, "spread of mm2"), ("**no**", "4 nodes: 1.000; 8 nodes: 1.100".into()));
    }

    #[test]
    fn a_table_says_what_was_not_measured() {
        assert!(table(&[], &[]).lines().skip(2).all(|line| line.ends_with("| - | not measured |")));
    }
}
