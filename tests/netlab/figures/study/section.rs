//! The section of `benches/RESULTS.md`.

use super::case::{CASES, Case, MM2_704};
use super::goals;
use super::grid::{NETWORKS, Network};
use super::point::Point;
use super::table::{self, markdown};
use aurora_suite::machine;
use aurora_suite::mpi::Flavour;
use std::collections::BTreeSet;
use std::fmt::Write;

/// All of it: of the jobs that share and of those that compute alone, and of what is no row.
pub fn section(points: &[Point], alone: &[Point], refused: &[String], reps: u32, took: &str) -> String {
    let [openmpi, mpich] = Flavour::BOTH.map(Flavour::version);
    let commits: BTreeSet<_> = points.iter().map(|point| point.record.study.of.commit.as_str()).collect();
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

/// What the README says of it.
pub fn short(points: &[Point], alone: &[Point]) -> String {
    format!(
        "By `tests/netlab/study` on {}, {}: nodes, links and the switch are the kernel's, and share these cores. \
         Ratios of medians of one job, in which Aurora and MPI take turns; below 1 Aurora is faster, of speed-ups \
         above 1.\n\n{}\n\
         All networks, sizes, numbers of nodes and both MPIs' settings: [RESULTS.md](benches/RESULTS.md).\n",
        machine::description(),
        machine::today(),
        goals::table(points, alone),
    )
}

fn computing(alone: &[Point]) -> String {
    let mut rows =
        vec![["program", "kernel or keys", "sequential program, one process (ms, median)"].map(String::from)];
    rows.extend(alone.iter().map(|alone| {
        let kernel = alone.plan.kernel.unwrap_or_default();
        [alone.plan.case.words.into(), kernel.into(), format!("{:.2}", alone.alone() * 1e3)]
    }));
    markdown(&rows)
}

/// One data set on one network: what was measured, then what the model makes of it; nothing where there is none.
fn part(points: &[Point], alone: &[Point], network: &Network, case: Case) -> String {
    let points = table::of(points, network, case);
    if points.is_empty() {
        return String::new();
    }
    let place = format!("{}, {}", case.words, network.words);
    let figure_6 = if case == MM2_704 { " (Figure 6)" } else { "" };
    let (measured, conditions) = (table::measured(&points, case), table::conditions(&points));
    let mut text = format!("## Sharing{figure_6}, measured: {place}\n\n{measured}\n{conditions}\n");
    let _ = writeln!(text, "## Speed-up (Figure {}), modelled: {place}\n", case.figure);
    for alone in alone.iter().filter(|alone| alone.plan.case == case) {
        let _ = writeln!(text, "{}", table::modelled(&points, alone));
    }
    text
}
