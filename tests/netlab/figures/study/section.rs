//! The section of `benches/RESULTS.md`.

use super::Found;
use super::case::{CASES, Case, MM2_704};
use super::goals;
use super::grid::{NETWORKS, Network};
use super::table;
use aurora_suite::machine;
use aurora_suite::mpi::Flavour;
use std::collections::BTreeSet;
use std::fmt::Write;

/// All of it.
pub fn section(found: &Found, reps: u32, took: &str) -> String {
    let [openmpi, mpich] = Flavour::BOTH.map(Flavour::version);
    let commits: BTreeSet<_> = found.points.iter().map(|point| point.study.commit.as_str()).collect();
    let mut text = format!(
        "Written by `tests/netlab/study`; how it is measured: \
         [the study](../tests/netlab/figures/study/README.md).\n\n\
         - Machine: {}.\n- Open MPI {openmpi}, MPICH {mpich}, TCP with cubic; each as it comes (`defaults`) and \
         as well as we know (`tuned`); MPI's ranks\n  wait without taking the cores from each other, but where \
         `polling` stands.\n\
         - Commit {}, {}; {took}.\n\
         - **Measured**: sharing, on the emulated network: {reps} repetitions after one that does not count, \
         all implementations of a job in turns on\n  the same data, every element of every result verified; from a \
         barrier to the last rank's data, nobody computes meanwhile.\n\
         - **Modelled**: speed-up = computing alone / (computing alone / nodes + measured sharing). Nodes that \
         share cores cannot be timed computing.\n\
         - Cores busy: of this machine, while the implementation shared; above 90 % (`full`) a figure tells of the \
         cores, not of the network.\n\
         - Aurora takes turns with each MPI in each setting. Of its medians the slowest is shown; compared is \
         within a job, and the job that is worst for Aurora counts.\n\n",
        machine::description(),
        commits.into_iter().collect::<Vec<_>>().join(", "),
        machine::today(),
    );
    let _ = writeln!(text, "## Figures to reach\n\n{}", goals::table(&goals::goals(&found.points, &found.computing)));
    for refused in &found.refused {
        let _ = writeln!(text, "{refused}\n");
    }
    let _ = writeln!(text, "## Computing alone (measured)\n\n{}", alone(found));
    for network in &NETWORKS {
        for case in CASES {
            text += &part(found, network, case).unwrap_or_default();
        }
    }
    text
}

/// What the README says of it.
pub fn short(found: &Found) -> String {
    format!(
        "By `tests/netlab/study` on {}, {}: nodes, links and the switch are the kernel's, and share these cores. \
         Ratios of medians of one job, in which Aurora and MPI take turns; below 1 Aurora is faster, of speed-ups \
         above 1.\n\n{}\n\
         All networks, sizes, numbers of nodes and both MPIs' settings: [RESULTS.md](benches/RESULTS.md).\n",
        machine::description(),
        machine::today(),
        goals::table(&goals::goals(&found.points, &found.computing)),
    )
}

fn alone(found: &Found) -> String {
    let mut text =
        String::from("| program | kernel or keys | sequential program, one process (ms, median) |\n|---|---|---|\n");
    for computing in &found.computing {
        let _ = writeln!(text, "| {} | {} | {:.2} |", computing.case.words, computing.kernel, computing.seconds * 1e3);
    }
    text
}

/// One data set on one network: what was measured, then what the model makes of it.
fn part(found: &Found, network: &Network, case: Case) -> Option<String> {
    let points = table::of(&found.points, network, case);
    if points.is_empty() {
        return None;
    }
    let place = format!("{}, {}", case.words, network.words);
    let title = if case == MM2_704 { "Sharing (Figure 6), measured" } else { "Sharing, measured" };
    let mut text = format!("## {title}: {place}\n\n{}\n", table::measured(&points, case));
    let _ = writeln!(text, "{}", table::conditions(&points));
    let _ = writeln!(text, "## Speed-up ({}), modelled: {place}\n", case.figure);
    for computing in found.computing.iter().filter(|computing| computing.case == case) {
        let _ = writeln!(text, "{}", table::modelled(&points, computing));
    }
    Some(text)
}
