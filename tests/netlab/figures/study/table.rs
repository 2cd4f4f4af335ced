//! The tables, as Markdown: what was measured, and what the model makes of it, never in one table.

use super::case::Case;
use super::grid::{Network, Plan, mpi};
use super::model;
use super::point::{Computing, Point, Run, is_full, spread};
use aurora_apps::report::Spread;
use std::collections::BTreeSet;
use std::fmt::Write;

/// How the phases of sharing are called together.
fn stages(case: Case) -> &'static [(&'static str, &'static [&'static str])] {
    match case {
        Case::Mm2(_) => &[("stage 1", &["load R"]), ("stage 2", &["load P"])],
        Case::Psrs(_) => &[
            ("phase 1", &["gather samples"]),
            ("phase 2", &["read pivots", "exchange cuts"]),
            ("phase 3", &["fetch partitions"]),
            ("phase 4", &["move keys"]),
        ],
    }
}

/// The points of one data set on one network.
pub fn of<'p>(points: &'p [Point], network: &Network, case: Case) -> Vec<&'p Point> {
    points.iter().filter(|point| point.plan.network == *network && point.plan.case == case).collect()
}

/// What was measured: of mm2 Figure 6.
pub fn measured(points: &[&Point], case: Case) -> String {
    let heads: Vec<_> = stages(case).iter().map(|(head, _)| *head).collect();
    let mut text = format!(
        "| nodes | beside | implementation | sharing, min | median | max (ms) | max/min | bulk / bound | {} (ms, medians) | cores busy |\n\
         |---|---|---|---|---|---|---|---|{}---|\n",
        heads.join(" | "),
        "---|".repeat(heads.len()),
    );
    for point in points {
        for run in &point.runs {
            let _ = writeln!(text, "{}", measured_row(point, run));
        }
    }
    text
}

fn measured_row(point: &Point, run: &Run) -> String {
    let Plan { case, nodes, flavour, setting, .. } = point.plan;
    let Spread { min, median, max } = run.sharing_seconds;
    let stages: Vec<_> = stages(case).iter().map(|(_, phases)| millis(run.phases(phases).median)).collect();
    let bulk = case.bulk(nodes).0;
    let bound = point.plan.bound() * bulk.len() as f64;
    let of_bound = if bound > 0.0 { format!("{:.3}", run.phases(bulk).median / bound) } else { "-".into() };
    let apart = if nodes > 1 { format!("{:.2}", spread(run.sharing_seconds)) } else { "-".into() };
    format!(
        "| {nodes} | {}, {} | {} | {} | {} | {} | {apart} | {of_bound} | {} | {} |",
        mpi(flavour),
        setting.name(),
        run.implementation,
        millis(min),
        millis(median),
        millis(max),
        stages.join(" | "),
        busy(run),
    )
}

fn millis(seconds: f64) -> String {
    format!("{:.2}", seconds * 1e3)
}

fn busy(run: &Run) -> String {
    let full = if is_full(run) { " (full)" } else { "" };
    run.cores_busy.map_or("-".into(), |busy| format!("{:.0} %{full}", busy * 100.0))
}

/// Who is compared over all numbers of nodes: Aurora, or one implementation over one MPI in one setting.
type Who = String;

fn who(point: &Point, run: &Run) -> Who {
    match run.is_aurora() {
        true => run.implementation.clone(),
        false => format!("{}, {}, {}", mpi(point.plan.flavour), run.implementation, point.plan.setting.name()),
    }
}

/// Aurora's run that counts for a number of nodes: it has one beside each MPI in each setting, and the slowest median
/// counts.
pub fn slowest<'p>(points: &[&'p Point], nodes: usize) -> Option<&'p Run> {
    let at = points.iter().filter(|point| point.plan.nodes == nodes);
    at.filter_map(|point| point.aurora()).max_by(|a, b| a.sharing_seconds.median.total_cmp(&b.sharing_seconds.median))
}

/// Aurora's sharing and MPI's in the job in which our modelled speed-up over theirs is the least: those who took turns
/// are compared.
pub fn closest<'p>(points: &[&'p Point], nodes: usize, computing: f64) -> Option<(&'p Run, &'p Run)> {
    let at = points.iter().filter(|point| point.plan.nodes == nodes);
    let pairs = at.filter_map(|point| Some((point.aurora()?, point.best()?)));
    let speed_up = |run: &Run| model::speed_up(computing, nodes, run.sharing_seconds.median);
    let ratio = |(ours, theirs): &(&Run, &Run)| model::normalised(speed_up(ours), speed_up(theirs));
    pairs.min_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

pub fn numbers_of_nodes(points: &[&Point]) -> Vec<usize> {
    points.iter().map(|point| point.plan.nodes).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What the model makes of it: the speed-up, and Aurora's over that of the best MPI.
pub fn modelled(points: &[&Point], computing: &Computing) -> String {
    let nodes = numbers_of_nodes(points);
    let heads: Vec<_> = nodes.iter().map(usize::to_string).collect();
    let mut text = format!(
        "| modelled speed-up, {} | {} |\n|---|{}\n",
        computing.kernel,
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    let mut row = |name: &str, cell: &dyn Fn(usize) -> Option<String>| {
        let cells: Vec<_> = nodes.iter().map(|nodes| cell(*nodes).unwrap_or("-".into())).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    let speed_up = |nodes, run: &Run| model::speed_up(computing.seconds, nodes, run.sharing_seconds.median);
    let shown = |nodes, run: &Run| {
        let full = if is_full(run) { " (full)" } else { "" };
        format!("{:.3}{full}", speed_up(nodes, run))
    };
    row("Aurora", &|nodes| slowest(points, nodes).map(|run| shown(nodes, run)));
    let mut others: Vec<Who> = Vec::new();
    for point in points {
        for name in point.others().map(|run| who(point, run)) {
            if !others.contains(&name) {
                others.push(name);
            }
        }
    }
    for other in &others {
        row(other, &|nodes| {
            let at = points.iter().filter(|point| point.plan.nodes == nodes);
            let run =
                at.flat_map(|point| point.others().map(move |run| (who(point, run), run))).find(|(w, _)| w == other);
            run.map(|(_, run)| shown(nodes, run))
        });
    }
    row("**Aurora / the best MPI beside it**", &|nodes| {
        let (ours, theirs) = closest(points, nodes, computing.seconds)?;
        let ratio = model::normalised(speed_up(nodes, ours), speed_up(nodes, theirs));
        Some(format!("**{ratio:.3}**"))
    });
    text
}

/// What was seen of the jobs from outside.
pub fn conditions(points: &[&Point]) -> String {
    let mut text = String::new();
    for Point { plan, seen, .. } in points {
        let _ = write!(text, "- {} nodes, {}, {}", plan.nodes, mpi(plan.flavour), plan.setting.name());
        if !seen.variables.is_empty() {
            let _ = write!(text, " (`{}`)", seen.variables);
        }
        let _ = write!(text, ": cores {:.0} % busy in the whole job", seen.busy.unwrap_or(f64::NAN) * 100.0);
        if let Some(network) = seen.network {
            let _ = write!(
                text,
                ", {} packets dropped by full queues, {} sent again by TCP",
                network.overflowed, network.tcp_resent
            );
        }
        for remark in &seen.remarks {
            let _ = write!(text, "; {remark}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::grid::SETTINGS;
    use super::super::point::tests::point;
    use super::*;
    use aurora_suite::mpi::Flavour;

    const CASE: Case = Case::Mm2(704);

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
        let (ours, theirs) = closest(&points, 16, 0.7).expect("a pair");
        assert_eq!(
            (ours.sharing_seconds, theirs.sharing_seconds),
            (Spread::exactly(1.25 * bound), Spread::exactly(1.5 * bound))
        );
        assert!(slowest(&points, 2).is_none() && closest(&points, 2, 0.7).is_none());
        // 1.8 times as fast, by less than another job in which it is 1.15 times.
        let [near, far] = [(1.0, 2.0), (10.0, 11.5)]
            .map(|(ours, theirs)| point(CASE, 16, &[("aurora-whole", ours), ("mpi-isend", theirs)]));
        let (ours, _) = closest(&[&near, &far], 16, 0.7).expect("a pair");
        assert_eq!(ours.sharing_seconds, Spread::exactly(10.0 * bound));
    }

    #[test]
    fn a_modelled_table_has_a_row_for_each_and_the_ratio_below() {
        let points = points();
        let computing = Computing { case: CASE, kernel: "dot", seconds: 0.7 };
        let text = modelled(&points.iter().collect::<Vec<_>>(), &computing);
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
        let expected = "| 16 | Open MPI, defaults | aurora-whole | 191.85 | 191.85 | 287.78 | 1.50 | 1.000 | 95.93 | 95.93 | 93 % (full) |";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("model"));
    }
}
