//! The section of `benches/RESULTS.md`: separate tables of measured values and of modelled values.

use super::case::{CASES, Case, MM2_704};
use super::goals;
use super::grid::{NETWORKS, Network, Plan};
use super::point::{Point, Run, full, spread};
use super::record::Record;
use aurora_suite::mpi::Flavour;
use aurora_suite::{machine, markdown};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The whole section: jobs that share, jobs that compute alone, and jobs without valid figures.
pub fn section(points: &[Point], alone: &[Point], refused: &[String], reps: u32, took: &str) -> String {
    let [openmpi, mpich] = Flavour::BOTH.map(Flavour::version);
    let commits: BTreeSet<_> = points.iter().filter_map(|point| point.record.study["commit"].as_str()).collect();
    let commits = commits.into_iter().collect::<Vec<_>>().join(", ");
    let (machine, today, goals) = (machine::description(), machine::today(), goals::table(points, alone));
    let refused: String = refused.iter().map(|refused| format!("{refused}\n\n")).collect();
    let mut text = format!(
        "Written by `tests/netlab/study`; how it is measured: \
         [the study](../tests/netlab/figures/study/README.md).\n\n\
         - Machine: {machine}.\n- Open MPI {openmpi}, MPICH {mpich}, TCP with cubic; each as it comes (`defaults`) and \
         as well as we know (`tuned`); MPI's ranks\n  wait without taking the cores from each other, but where \
         `polling` stands.\n\
         - Commit {commits}, {today}; {took}.\n\
         - **Measured**: sharing, on the emulated network: {reps} repetitions after one that does not count, \
         all implementations of a job in turns on\n  the same data, every element of every result verified; from a \
         barrier to the last rank's data, nobody computes meanwhile.\n\
         - **Modelled**: speed-up = computing alone / (computing alone / nodes + measured sharing). Nodes that \
         share cores cannot be timed computing.\n\
         - Cores busy: of this machine, while the implementation shared; above 90 % (`full`) a figure tells of the \
         cores, not of the network.\n\
         - Aurora takes turns with each MPI in each setting. Of its medians the slowest is shown; compared is \
         within a job, and the job that is worst for Aurora counts.\n\n\
         ## Figures to reach\n\n{goals}\n{refused}## Computing alone (measured)\n\n{}\n",
        computing(alone),
    );
    for network in &NETWORKS {
        for case in CASES {
            text += &part(points, alone, network, case);
        }
    }
    text
}

fn computing(alone: &[Point]) -> String {
    let cells = |alone: &Point| {
        let kernel = alone.plan.kernel.unwrap_or_default();
        [alone.plan.case.words.into(), kernel.into(), format!("{:.2}", alone.alone() * 1e3)]
    };
    let columns = "program|kernel or keys|sequential program, one process (ms, median)";
    markdown::table(columns, alone.iter().map(cells))
}

/// One data set on one network: the measured values, then the modelled values; empty without points.
fn part(points: &[Point], alone: &[Point], network: &Network, case: Case) -> String {
    let points = of(points, network, case);
    if points.is_empty() {
        return String::new();
    }
    let place = format!("{}, {}", case.words, network.words);
    let figure_6 = if case == MM2_704 { " (Figure 6)" } else { "" };
    let (table, seen) = (measured(&points, case), conditions(&points));
    let mut text = format!("## Sharing{figure_6}, measured: {place}\n\n{table}\n{seen}\n");
    let _ = writeln!(text, "## Speed-up (Figure {}), modelled: {place}\n", case.figure);
    for alone in alone.iter().filter(|alone| alone.plan.case == case) {
        let _ = writeln!(text, "{}", modelled(&points, alone));
    }
    text
}

/// The points of one data set on one network.
pub fn of<'p>(points: &'p [Point], network: &Network, case: Case) -> Vec<&'p Point> {
    points.iter().filter(|point| point.plan.network == *network && point.plan.case == case).collect()
}

/// The points with this number of nodes.
pub fn at<'p>(points: &[&'p Point], nodes: usize) -> impl Iterator<Item = &'p Point> {
    points.iter().copied().filter(move |point| point.plan.nodes == nodes)
}

pub fn numbers_of_nodes(points: &[&Point]) -> BTreeSet<usize> {
    points.iter().map(|point| point.plan.nodes).collect()
}

/// The measured values; for mm2 these are Figure 6.
fn measured(points: &[&Point], case: Case) -> String {
    let stages: Vec<_> = case.program.stages.iter().map(|(name, _)| *name).collect();
    let head = "nodes|beside|implementation|sharing, min|median|max (ms)|max/min|bulk / bound";
    let head = format!("{head}|{} (ms, medians)|cores busy", stages.join("|"));
    let rows = points.iter().flat_map(|point| point.runs.iter().map(|run| cells(&point.plan, run)));
    markdown::table(&head, rows)
}

fn cells(plan: &Plan, run: &Run) -> Vec<String> {
    let (program, sharing) = (plan.case.program, run.sharing_seconds);
    let millis = |seconds: f64| format!("{:.2}", seconds * 1e3);
    let shares = |text: String| if plan.nodes > 1 { text } else { "-".into() };
    let bulk = run.phases(program.bulk).median / (plan.bound() * program.bulk.len() as f64);
    let mut cells = vec![plan.nodes.to_string(), plan.mpi(), run.implementation.clone()];
    cells.extend([sharing.min, sharing.median, sharing.max].map(millis));
    cells.extend([shares(format!("{:.2}", spread(sharing))), shares(format!("{bulk:.3}"))]);
    cells.extend(program.stages.iter().map(|(_, phases)| millis(run.phases(phases).median)));
    cells.push(run.cores_busy.map_or("-".into(), |busy| format!("{:.0} %{}", busy * 100.0, full(run))));
    cells
}

/// Aurora's run that counts for a number of nodes. There is one run for each MPI in each setting, and the run with the
/// slowest median counts.
fn slowest<'p>(points: &[&'p Point], nodes: usize) -> Option<&'p Run> {
    let ours = at(points, nodes).filter_map(Point::aurora);
    ours.max_by(|a, b| a.sharing_seconds.median.total_cmp(&b.sharing_seconds.median))
}

/// Aurora's modelled speed-up divided by that of the best form of MPI in the same job: the minimum of all jobs. Only
/// implementations that took turns are compared.
pub fn least_ratio(points: &[&Point], nodes: usize, alone: &Point) -> Option<f64> {
    let pairs = at(points, nodes).filter_map(|point| Some((point.aurora()?, point.best()?)));
    let ratios = pairs.map(|(ours, theirs)| alone.speed_up(nodes, ours) / alone.speed_up(nodes, theirs));
    ratios.min_by(f64::total_cmp)
}

/// The modelled values: the speed-up, and Aurora's speed-up divided by that of the best MPI.
fn modelled(points: &[&Point], alone: &Point) -> String {
    let numbers = numbers_of_nodes(points);
    let row = |name: String, cell: &dyn Fn(usize) -> Option<String>| {
        let cells = numbers.iter().map(|nodes| cell(*nodes).unwrap_or("-".into()));
        [name].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let shown = |nodes, run: &Run| format!("{:.3}{}", alone.speed_up(nodes, run), full(run));
    let head = format!("modelled speed-up, {}", alone.plan.kernel.unwrap_or_default());
    let head = row(head, &|nodes| Some(nodes.to_string()));
    let mut rows = vec![row("Aurora".into(), &|nodes| slowest(points, nodes).map(|run| shown(nodes, run)))];
    // Each row has an implementation of an MPI in a setting, for all numbers of nodes.
    for point in points {
        let Plan { flavour, setting, .. } = point.plan;
        for Run { implementation, .. } in point.others() {
            let who = format!("{}, {implementation}, {setting}", flavour.words());
            if rows.iter().any(|row| row[0] == who) {
                continue;
            }
            rows.push(row(who, &|nodes| {
                let mut at = at(points, nodes).filter(|at| (at.plan.flavour, at.plan.setting) == (flavour, setting));
                at.find_map(|at| at.form(implementation)).map(|run| shown(nodes, run))
            }));
        }
    }
    rows.push(row("**Aurora / the best MPI beside it**".into(), &|nodes| {
        least_ratio(points, nodes, alone).map(|ratio| format!("**{ratio:.3}**"))
    }));
    markdown::table(&head.join("|"), rows)
}

/// The measurements of the jobs from outside.
fn conditions(points: &[&Point]) -> String {
    let line = |Point { plan, record: Record { study, seen, .. }, .. }: &&Point| {
        format!(
            "- {} nodes, {}{}\n",
            plan.nodes,
            plan.mpi(),
            seen.words(study["variables"].as_str().unwrap_or_default())
        )
    };
    points.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::case::MM2_704 as CASE;
    use super::super::grid::SETTINGS;
    use super::super::point::tests::{alone, point};
    use super::*;
    use aurora_apps::report::Spread;

    fn points() -> Vec<Point> {
        let of = |nodes, ours, isend| {
            point(CASE, nodes, &[("aurora-whole", ours), ("mpi-isend", isend), ("mpi-collective", 2.0)])
        };
        let mut tuned = of(16, 1.25, 1.5);
        (tuned.plan.flavour, tuned.plan.setting) = (Flavour::Mpich, SETTINGS[1]);
        vec![of(4, 1.0, 3.0), of(16, 1.0, 3.0), tuned]
    }

    #[test]
    fn the_slowest_of_ours_counts_and_the_job_that_is_worst_for_us() {
        let (points, alone) = (points(), alone(CASE, 0.7));
        let points: Vec<_> = points.iter().collect();
        let bound = 2.0 * points[1].plan.bound();
        assert_eq!(slowest(&points, 16).map(|run| run.sharing_seconds), Some(Spread::exactly(1.25 * bound)));
        assert!(slowest(&points, 2).is_none() && least_ratio(&points, 2, &alone).is_none());
        // 0.7 / (0.7 / 16 + times x 2 x the bound); in another job MPI is twice as slow.
        let ratio = |ours: f64, theirs: f64| (0.7 / 16.0 + theirs * bound) / (0.7 / 16.0 + ours * bound);
        let least = |points: &[&Point]| least_ratio(points, 16, &alone).expect("a pair");
        assert!((least(&points) - ratio(1.25, 1.5)).abs() < 1e-9);
        // In one job Aurora is 1.8 times as fast, in the other only 1.15 times, although by more seconds.
        let [near, far] = [(1.0, 2.0), (10.0, 11.5)]
            .map(|(ours, theirs)| point(CASE, 16, &[("aurora-whole", ours), ("mpi-isend", theirs)]));
        assert!((least(&[&near, &far]) - ratio(10.0, 11.5)).abs() < 1e-9);
    }

    #[test]
    fn a_modelled_table_has_a_row_for_each_and_the_ratio_below() {
        let points = points();
        let text = modelled(&points.iter().collect::<Vec<_>>(), &alone(CASE, 0.7));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..2], ["| modelled speed-up, dot | 4 | 16 |", "|---|---|---|"]);
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
