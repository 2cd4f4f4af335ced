//! The tables, as Markdown: what was measured, and what the model makes of it, never in one table.

use super::case::Case;
use super::grid::{Network, Plan};
use super::point::{Computing, Point, Run, full, spread};
use aurora_apps::report::Spread;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The points of one data set on one network.
pub fn of<'p>(points: &'p [Point], network: &Network, case: Case) -> Vec<&'p Point> {
    points.iter().filter(|point| point.plan.network == *network && point.plan.case == case).collect()
}

/// What was measured: of mm2 Figure 6.
pub fn measured(points: &[&Point], case: Case) -> String {
    let heads: Vec<_> = case.program.stages.iter().map(|(head, _)| *head).collect();
    let mut text = format!(
        "| nodes | beside | implementation | sharing, min | median | max (ms) | max/min | bulk / bound | \
         {} (ms, medians) | cores busy |\n|---|---|---|---|---|---|---|---|{}---|\n",
        heads.join(" | "),
        "---|".repeat(heads.len()),
    );
    for point in points {
        for run in &point.runs {
            let _ = writeln!(text, "{}", measured_row(&point.plan, run));
        }
    }
    text
}

fn measured_row(plan: &Plan, run: &Run) -> String {
    let Spread { min, median, max } = run.sharing_seconds;
    let millis = |seconds: f64| format!("{:.2}", seconds * 1e3);
    let stages = plan.case.program.stages.iter().map(|(_, phases)| millis(run.phases(phases).median));
    let shares = |text: String| if plan.nodes > 1 { text } else { "-".into() };
    let bulk = plan.case.program.bulk;
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        plan.nodes,
        plan.mpi(),
        run.implementation,
        millis(min),
        millis(median),
        millis(max),
        shares(format!("{:.2}", spread(run.sharing_seconds))),
        shares(format!("{:.3}", run.phases(bulk).median / (plan.bound() * bulk.len() as f64))),
        stages.collect::<Vec<_>>().join(" | "),
        run.cores_busy.map_or("-".into(), |busy| format!("{:.0} %{}", busy * 100.0, full(run))),
    )
}

/// Aurora's run that counts for a number of nodes: it has one beside each MPI in each setting, and the slowest median
/// counts.
fn slowest<'p>(points: &[&'p Point], nodes: usize) -> Option<&'p Run> {
    let at = points.iter().filter(|point| point.plan.nodes == nodes);
    at.filter_map(|point| point.aurora()).max_by(|a, b| a.sharing_seconds.median.total_cmp(&b.sharing_seconds.median))
}

/// Aurora's modelled speed-up over that of the best form of MPI in the same job, the least of all jobs: those who took
/// turns are compared.
pub fn least_ratio(points: &[&Point], nodes: usize, computing: &Computing) -> Option<f64> {
    let at = points.iter().filter(|point| point.plan.nodes == nodes);
    let pairs = at.filter_map(|point| Some((point.aurora()?, point.best()?)));
    let ratios = pairs.map(|(ours, theirs)| computing.speed_up(nodes, ours) / computing.speed_up(nodes, theirs));
    ratios.min_by(f64::total_cmp)
}

pub fn numbers_of_nodes(points: &[&Point]) -> BTreeSet<usize> {
    points.iter().map(|point| point.plan.nodes).collect()
}

/// What the model makes of it: the speed-up, and Aurora's over that of the best MPI.
pub fn modelled(points: &[&Point], computing: &Computing) -> String {
    let nodes = numbers_of_nodes(points);
    let heads: Vec<_> = nodes.iter().map(usize::to_string).collect();
    let columns = "---|".repeat(heads.len());
    let mut text = format!("| modelled speed-up, {} | {} |\n|---|{columns}\n", computing.kernel, heads.join(" | "));
    let mut row = |name: &str, cell: &dyn Fn(usize) -> Option<String>| {
        let cells: Vec<_> = nodes.iter().map(|nodes| cell(*nodes).unwrap_or("-".into())).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    let shown = |nodes, run: &Run| format!("{:.3}{}", computing.speed_up(nodes, run), full(run));
    row("Aurora", &|nodes| slowest(points, nodes).map(|run| shown(nodes, run)));
    // Who is compared over all numbers of nodes: an implementation over an MPI in a setting.
    let mut others: Vec<(String, Vec<(usize, &Run)>)> = Vec::new();
    for point in points {
        let Plan { nodes, flavour, setting, .. } = point.plan;
        for run in point.others() {
            let who = format!("{}, {}, {}", flavour.words(), run.implementation, setting.name);
            match others.iter_mut().find(|(known, _)| *known == who) {
                Some((_, runs)) => runs.push((nodes, run)),
                None => others.push((who, vec![(nodes, run)])),
            }
        }
    }
    for (who, runs) in &others {
        row(who, &|nodes| runs.iter().find(|(at, _)| *at == nodes).map(|(_, run)| shown(nodes, run)));
    }
    row("**Aurora / the best MPI beside it**", &|nodes| {
        least_ratio(points, nodes, computing).map(|ratio| format!("**{ratio:.3}**"))
    });
    text
}

/// What was seen of the jobs from outside.
pub fn conditions(points: &[&Point]) -> String {
    let line = |Point { plan, study, .. }: &&Point| {
        format!("- {} nodes, {}{}\n", plan.nodes, plan.mpi(), study.seen.words(&study.variables))
    };
    points.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::case::MM2_704 as CASE;
    use super::super::grid::SETTINGS;
    use super::super::point::tests::point;
    use super::*;
    use aurora_suite::mpi::Flavour;

    const COMPUTING: Computing = Computing { case: CASE, kernel: "dot", seconds: 0.7 };

    fn points() -> Vec<Point> {
        let defaults =
            |nodes, ours| point(CASE, nodes, &[("aurora-whole", ours), ("mpi-isend", 3.0), ("mpi-collective", 2.0)]);
        let mut tuned = point(CASE, 16, &[("aurora-whole", 1.25), ("mpi-isend", 1.5), ("mpi-collective", 2.0)]);
        (tuned.plan.flavour, tuned.plan.setting) = (Flavour::Mpich, SETTINGS[1]);
        vec![defaults(4, 1.0), defaults(16, 1.0), tuned]
    }

    #[test]
    fn the_slowest_of_ours_counts_and_the_job_that_is_worst_for_us() {
        let points = points();
        let points: Vec<_> = points.iter().collect();
        let bound = 2.0 * points[1].plan.bound();
        assert_eq!(slowest(&points, 16).map(|run| run.sharing_seconds), Some(Spread::exactly(1.25 * bound)));
        assert!(slowest(&points, 2).is_none() && least_ratio(&points, 2, &COMPUTING).is_none());
        // 0.7 / (0.7 / 16 + times x 2 x the bound): beside another job in which MPI is twice as slow.
        let ratio = |ours: f64, theirs: f64| (0.7 / 16.0 + theirs * bound) / (0.7 / 16.0 + ours * bound);
        let least = |points: &[&Point]| least_ratio(points, 16, &COMPUTING).expect("a pair");
        assert!((least(&points) - ratio(1.25, 1.5)).abs() < 1e-9);
        // 1.8 times as fast, by less than another job in which it is 1.15 times.
        let [near, far] = [(1.0, 2.0), (10.0, 11.5)]
            .map(|(ours, theirs)| point(CASE, 16, &[("aurora-whole", ours), ("mpi-isend", theirs)]));
        assert!((least(&[&near, &far]) - ratio(10.0, 11.5)).abs() < 1e-9);
    }

    #[test]
    fn a_modelled_table_has_a_row_for_each_and_the_ratio_below() {
        let points = points();
        let text = modelled(&points.iter().collect::<Vec<_>>(), &COMPUTING);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "| modelled speed-up, dot | 4 | 16 |");
        assert!(lines.contains(&"| MPICH, mpi-isend, tuned | - | 2.111 |"), "{text}");
        // 0.7 / (0.7 / 16 + 2 x 1.25 x 0.0959) over the same with 1.5.
        assert!(lines[lines.len() - 1].ends_with("| **1.169** |"), "{text}");
        assert!(text.contains("modelled") && !text.contains("measured"));
    }

    #[test]
    fn a_measured_table_has_times_their_spread_and_how_busy_the_cores_were() {
        let mut points = points();
        points[1].runs[0].cores_busy = Some(0.93);
        points[1].runs[0].sharing_seconds.max *= 1.5;
        let text = measured(&points.iter().collect::<Vec<_>>(), CASE);
        assert_eq!(text.lines().count(), 2 + 9);
        let expected = "| 16 | Open MPI, defaults | aurora-whole | 191.85 | 191.85 | 287.78 | 1.50 | 1.000 \
                        | 95.93 | 95.93 | 93 % (full) |";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("model"));
    }
}
