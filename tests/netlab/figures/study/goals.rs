//! What is to be reached on the emulated cluster, and whether it is.

use super::case::{CASES, MM2, MM2_704, PSRS, PSRS_8M, Program};
use super::grid::{NETWORKS, PAPERS};
use super::point::{Computing, Point, Run, spread};
use super::table::{least_ratio, numbers_of_nodes, of};
use aurora_suite::mpi::Flavour;
use std::fmt::Write;

/// One thing to be reached.
#[derive(Clone, PartialEq, Debug)]
pub struct Goal {
    pub what: String,
    pub reach: String,
    /// `None` where nothing was measured of it.
    pub reached: Option<bool>,
    /// The figures, each named.
    pub figure: String,
}

/// Figures of which each is to keep to a limit.
struct Found(Vec<(String, f64)>);

impl Found {
    fn at_most(self, what: impl Into<String>, most: f64) -> Goal {
        self.goal(what.into(), format!("<= {most:.2}"), |found| found <= most)
    }

    fn at_least(self, what: impl Into<String>, least: f64) -> Goal {
        self.goal(what.into(), format!(">= {least:.2}"), |found| found >= least)
    }

    fn goal(self, what: String, reach: String, keeps: impl Fn(f64) -> bool) -> Goal {
        let Found(found) = self;
        let reached = (!found.is_empty()).then(|| found.iter().all(|(_, figure)| keeps(*figure)));
        let words: Vec<_> = found.iter().map(|(name, figure)| format!("{name} {figure:.3}")).collect();
        Goal { what, reach, reached, figure: if words.is_empty() { "not measured".into() } else { words.join("; ") } }
    }
}

const NODES: usize = 16;

/// All that the study has to say something about.
pub fn goals(points: &[Point], computing: &[Computing]) -> Vec<Goal> {
    let mm2 = of(points, &PAPERS, MM2_704);
    let psrs = of(points, &PAPERS, PSRS_8M);
    let exchange = |run: &Run| run.phases(PSRS.bulk).median;
    let sharing = |run: &Run| run.sharing_seconds.median;
    let both = Flavour::BOTH;
    vec![
        beside(&mm2, &both, "mpi-isend", sharing)
            .at_most(format!("mm2 704, sharing at {NODES} nodes / MPI Isend, defaults"), 0.30),
        beside(&mm2, &both[..1], "mpi-collective", sharing).at_most("the same / Open MPI's collective, defaults", 0.50),
        beside(&mm2, &both[1..], "mpi-collective", sharing).at_most("the same / MPICH's collective, defaults", 0.75),
        beside_tuned(&mm2, sharing).at_most("the same / the best tuned", 1.03),
        beside(&psrs, &both, "mpi-collective", exchange)
            .at_most(format!("psrs 8 M, phase 3 at {NODES} nodes / MPI_Alltoallv, defaults"), 0.28),
        beside_tuned(&psrs, exchange).at_most("the same / the best tuned", 0.65),
        normalised(points, computing, &MM2)
            .at_least("mm2, modelled speed-up at every number of nodes / the best MPI", 1.0),
        normalised(points, computing, &PSRS).at_least("psrs, the same", 1.0),
        steady(&mm2, |run| spread(run.sharing_seconds)).at_most("spread of mm2 704 (sharing, max/min)", 1.05),
        steady(&psrs, |run| spread(run.phases(PSRS.bulk))).at_most("spread of psrs 8 M (phase 3, max/min)", 1.05),
    ]
}

/// Aurora over a form in the same job, as each MPI comes: whose ranks wait patiently, and whose poll.
fn beside(points: &[&Point], mpis: &[Flavour], form: &str, of: impl Fn(&Run) -> f64) -> Found {
    let jobs = points
        .iter()
        .filter(|point| point.plan.nodes == NODES && !point.plan.setting.tuned && mpis.contains(&point.plan.flavour));
    let ratio = |point: &&Point| {
        let (ours, theirs) = (point.aurora()?, point.form(form)?);
        let polling = if point.plan.setting.polling { ", polling" } else { "" };
        Some((format!("{}{polling}", point.plan.flavour.words()), of(ours) / of(theirs)))
    };
    Found(jobs.copied().filter_map(|point| ratio(&point)).collect())
}

/// Aurora over the fastest of all that is tuned, each in its own job.
fn beside_tuned(points: &[&Point], of: impl Fn(&Run) -> f64) -> Found {
    let jobs = points.iter().filter(|point| point.plan.nodes == NODES && point.plan.setting.tuned);
    let runs = jobs.flat_map(|point| point.others().filter_map(move |run| Some((point, run, point.aurora()?))));
    let fastest = runs.min_by(|(_, a, _), (_, b, _)| of(a).total_cmp(&of(b)));
    Found(Vec::from_iter(fastest.map(|(point, run, ours)| {
        let name = format!("{}, {}, {}", point.plan.flavour.words(), run.implementation, point.plan.setting.name);
        (name, of(ours) / of(run))
    })))
}

/// Aurora's modelled speed-up over that of the best MPI beside it, the least of each network.
fn normalised(points: &[Point], computing: &[Computing], program: &Program) -> Found {
    let mut found = Vec::new();
    for network in &NETWORKS {
        let cases = CASES.into_iter().filter(|case| case.program == program);
        let all = cases.flat_map(|case| {
            let points = of(points, network, case);
            let of_kernel = move |kernel: &Computing| ratios(&points, kernel);
            computing.iter().filter(move |kernel| kernel.case == case).flat_map(of_kernel)
        });
        let least = all.min_by(|(_, a), (_, b)| a.total_cmp(b));
        found.extend(least.map(|(at, ratio)| (format!("{}, least at {at}:", network.words), ratio)));
    }
    Found(found)
}

fn ratios(points: &[&Point], kernel: &Computing) -> Vec<(String, f64)> {
    let ratio = |nodes: usize| {
        let what = format!("{} {}, {nodes} nodes", kernel.case.name, kernel.kernel);
        Some((what, least_ratio(points, nodes, kernel)?))
    };
    // A node that is alone shares nothing.
    numbers_of_nodes(points).into_iter().filter(|nodes| *nodes > 1).filter_map(ratio).collect()
}

/// How far Aurora's repetitions are apart, the most for each number of nodes.
fn steady(points: &[&Point], of: impl Fn(&Run) -> f64) -> Found {
    let several = numbers_of_nodes(points).into_iter().filter(|nodes| *nodes > 1);
    let most = |nodes: usize| {
        let at = points.iter().filter(|point| point.plan.nodes == nodes);
        let most = at.filter_map(|point| point.aurora()).map(&of).max_by(f64::total_cmp)?;
        Some((format!("{nodes} nodes:"), most))
    };
    Found(several.filter_map(most).collect())
}

/// As Markdown.
pub fn table(goals: &[Goal]) -> String {
    let mut text = String::from("| what | reach | reached | figure |\n|---|---|---|---|\n");
    for Goal { what, reach, reached, figure } in goals {
        let reached = match reached {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "-",
        };
        let _ = writeln!(text, "| {what} | {reach} | {reached} | {figure} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::grid::SETTINGS;
    use super::super::point::tests::point;
    use super::*;

    fn mm2(nodes: usize, ours: f64, isend: f64, collective: f64) -> Point {
        let of = [("aurora-whole", ours), ("mpi-isend", isend), ("mpi-collective", collective)];
        point(MM2_704, nodes, &of)
    }

    fn computing() -> Computing {
        Computing { case: MM2_704, kernel: "dot", seconds: 0.7 }
    }

    fn goal(goals: &[Goal], what: &str) -> Goal {
        goals.iter().find(|goal| goal.what.starts_with(what)).cloned().unwrap_or_else(|| panic!("no goal {what}"))
    }

    #[test]
    fn a_goal_is_reached_where_each_figure_keeps_to_it() {
        let open = mm2(16, 1.0, 4.0, 2.5);
        let mut mpich = mm2(16, 1.0, 3.0, 1.25);
        mpich.plan.flavour = Flavour::Mpich;
        let goals = goals(&[open, mpich], &[computing()]);
        let isend = goal(&goals, "mm2 704, sharing at 16");
        assert_eq!((isend.reached, isend.figure.as_str()), (Some(false), "Open MPI 0.250; MPICH 0.333"));
        assert_eq!(goal(&goals, "the same / Open MPI's").reached, Some(true));
        assert_eq!(goal(&goals, "the same / MPICH's").reached, Some(false));
        assert_eq!(goal(&goals, "the same / the best tuned").reached, None);
        assert_eq!(goal(&goals, "psrs 8 M").reached, None);
        assert_eq!(goal(&goals, "mm2, modelled").reached, Some(true));
    }

    #[test]
    fn who_polls_counts_too() {
        let mut polling = mm2(16, 1.0, 2.0, 2.0);
        polling.plan.setting = SETTINGS[2];
        let isend = goal(&goals(&[mm2(16, 1.0, 4.0, 4.0), polling], &[]), "mm2 704, sharing at 16");
        assert_eq!((isend.reached, isend.figure.as_str()), (Some(false), "Open MPI 0.250; Open MPI, polling 0.500"));
    }

    #[test]
    fn the_best_tuned_counts_whoever_it_is() {
        let mut tuned = mm2(16, 1.04, 1.02, 1.3);
        tuned.plan.setting = SETTINGS[1];
        let found = goal(&goals(&[mm2(16, 1.0, 3.0, 3.0), tuned], &[]), "the same / the best tuned");
        assert_eq!((found.reached, found.figure.as_str()), (Some(true), "Open MPI, mpi-isend, tuned 1.020"));
    }

    #[test]
    fn one_number_of_nodes_at_which_mpi_is_faster_is_one_too_many() {
        let goals = goals(&[mm2(4, 1.2, 1.1, 1.1), mm2(16, 1.0, 2.0, 2.0)], &[computing()]);
        let found = goal(&goals, "mm2, modelled");
        assert_eq!(found.reached, Some(false));
        assert!(found.figure.contains("least at mm2-704 dot, 4 nodes: 0.9"), "{}", found.figure);
    }

    #[test]
    fn the_spread_is_that_of_every_number_of_nodes() {
        let mut loose = mm2(8, 1.0, 1.0, 1.0);
        loose.runs[0].sharing_seconds.max *= 1.1;
        let found = goal(&goals(&[mm2(4, 1.0, 1.0, 1.0), loose], &[]), "spread of mm2");
        assert_eq!((found.reached, found.figure.as_str()), (Some(false), "4 nodes: 1.000; 8 nodes: 1.100"));
    }

    #[test]
    fn a_table_says_what_was_not_measured() {
        assert!(table(&goals(&[], &[])).lines().skip(2).all(|line| line.ends_with("| - | not measured |")));
    }
}
