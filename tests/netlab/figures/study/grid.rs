//! The parts of the study: data sets, networks, numbers of nodes, MPIs and their settings, and each job.

use super::case::{CASES, Case, LARGER};
use crate::mpis::Mpis;
use crate::row::{FAST, PAPER, SMALL};
use aurora_suite::figures::job::{DEFAULTS, Run, Stage};
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Shape;
use clap::Args;
use serde_json::{Value, json};
use std::path::Path;

/// A network, and the jobs on it. Two cores carry about 100 000 packets a second from node to node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Network {
    /// The name for `--networks`.
    pub name: &'static str,
    /// The name for tables and labels.
    pub words: &'static str,
    pub shape: Shape,
    nodes: &'static [usize],
    cases: &'static [Case],
}

pub const PAPERS: Network =
    Network { name: "155-9000", words: "155 Mbit/s, MTU 9000", shape: PAPER, nodes: &[1, 2, 4, 8, 16], cases: &CASES };
const SHORT: Network =
    Network { name: "155-1500", words: "155 Mbit/s, MTU 1500", shape: SMALL, nodes: &[2, 4, 8], cases: &LARGER };
const GIGABIT: Network =
    Network { name: "1000-9000", words: "1 Gbit/s, MTU 9000", shape: FAST, nodes: &[2, 4], cases: &LARGER };
/// There is none with 1 Gbit/s and MTU 1500: two nodes that both send fill it with 166 000 packets a second.
pub const NETWORKS: [Network; 3] = [PAPERS, SHORT, GIGABIT];

/// The setting of an MPI, and its way to wait: its own (`polling`), or that of `patient.c`.
pub const SETTINGS: [&str; 4] = [DEFAULTS, "tuned", "defaults-polling", "tuned-polling"];

/// A job of the study.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    pub case: Case,
    /// The kernel of the sequential program, which is then the only running process of this machine. None: all
    /// implementations share in turns on a network.
    pub kernel: Option<&'static str>,
    pub network: Network,
    pub nodes: usize,
    pub flavour: Flavour,
    /// One of [`SETTINGS`].
    pub setting: &'static str,
}

impl Plan {
    /// All implementations on one node of the paper's network, with the defaults of Open MPI.
    pub fn of(case: Case) -> Plan {
        Plan { case, kernel: None, network: PAPERS, nodes: 1, flavour: Flavour::Open, setting: DEFAULTS }
    }

    pub fn is_tuned(&self) -> bool {
        self.setting.starts_with("tuned")
    }

    pub fn polls(&self) -> bool {
        self.setting.ends_with("polling")
    }

    /// The values of `--networks`, `--rows`, `--nodes`, `--mpis` and `--settings` that select it.
    fn names(&self) -> [String; 5] {
        let Plan { case, network, nodes, flavour, setting, .. } = self;
        [network.name.into(), case.name.into(), nodes.to_string(), flavour.to_string(), (*setting).into()]
    }

    /// The key of its record in the file.
    pub fn key(&self) -> String {
        self.kernel.map_or_else(|| self.names().join("/"), |kernel| format!("alone/{}/{kernel}", self.case.name))
    }

    /// Its MPI and the MPI's setting.
    pub fn mpi(&self) -> String {
        format!("{}, {}", self.flavour.words(), self.setting)
    }

    /// The implementations that take turns in it.
    pub fn implementations(&self) -> &'static [&'static str] {
        if self.kernel.is_some() { &["aurora"] } else { &self.case.program.implementations }
    }

    /// The job of the plan. `patient` makes MPI's ranks wait instead of polling.
    pub fn run(&self, mpis: &Mpis, patient: &Path, reps: usize) -> Run {
        let Plan { case, network, nodes, flavour, setting, .. } = *self;
        let words = format!("{} {}={}", case.program.name, case.program.size, case.size);
        let impls = format!("--impl={}", self.implementations().join(","));
        if let Some(kernel) = self.kernel {
            let option = if case.program.kernels.len() > 1 { format!(" --kernel={kernel}") } else { String::new() };
            return Run::new(Stage::Alone(None), nodes, &format!("{words}{option} {impls}"), reps);
        }
        let variables = if self.is_tuned() { mpis.best(flavour, case.program.name) } else { String::new() };
        let preload = (!self.polls()).then(|| patient.to_owned());
        let run = Run::new(Stage::Lab(network.shape), nodes, &format!("{words} --apart {impls}"), reps);
        Run { flavour, setting, variables, preload, ..run }
    }

    /// The labels for `aurora report`.
    pub fn labels(&self) -> Value {
        let Plan { network, nodes, flavour, setting, .. } = self;
        let nodes = nodes.to_string();
        match self.kernel {
            Some(kernel) => json!({ "kind": "computing alone", "nodes": nodes, "kernel": kernel }),
            None => json!({
                "network": network.words, "mpi": format!("{} {}", flavour.words(), flavour.version()),
                "setting": setting, "nodes": nodes, "kind": "measured", "phases": "apart",
            }),
        }
    }

    /// The seconds that an average node takes to receive the payload of a phase of `bulk` at the rate of its link.
    pub fn bound(&self) -> f64 {
        8.0 * self.case.payload(self.nodes) / self.network.shape.bits_per_second()
    }

    /// True if its setting matters. The way to wait matters if there are more ranks than cores, and a single node has
    /// no other rank to wait for.
    fn matters(&self) -> bool {
        match self.nodes {
            1 => self.setting == DEFAULTS,
            16 => !self.polls() || LARGER.contains(&self.case),
            _ => !self.polls(),
        }
    }
}

/// The requested jobs. An empty list selects all.
#[derive(Args, Clone, Debug, Default)]
pub struct Filter {
    /// Only these data sets
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = CASES.map(|case| case.name))]
    rows: Vec<String>,
    /// Only these networks
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = NETWORKS.map(|network| network.name))]
    networks: Vec<String>,
    /// Only these numbers of nodes
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = ["1", "2", "4", "8", "16"])]
    nodes: Vec<String>,
    /// Only with these MPIs
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = ["openmpi", "mpich"])]
    mpis: Vec<String>,
    /// Only in these settings
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = SETTINGS)]
    settings: Vec<String>,
}

impl Filter {
    /// The lists in the order of a plan's names.
    fn asked(&self) -> [&Vec<String>; 5] {
        [&self.networks, &self.rows, &self.nodes, &self.mpis, &self.settings]
    }

    pub fn is_all(&self) -> bool {
        self.asked().iter().all(|names| names.is_empty())
    }

    /// All requested jobs, one data set after the other: first computing alone, then sharing.
    pub fn plans(&self) -> Result<Vec<Plan>, String> {
        let is_asked = |plan: &Plan| {
            let mut names = self.asked().into_iter().zip(plan.names());
            names.all(|(asked, name)| asked.is_empty() || asked.contains(&name))
        };
        let mut shared = Vec::new();
        for network in NETWORKS {
            for plan in network.cases.iter().map(|case| Plan { network, ..Plan::of(*case) }) {
                for nodes in network.nodes.iter().copied() {
                    for flavour in Flavour::BOTH {
                        let plans = SETTINGS.map(|setting| Plan { nodes, flavour, setting, ..plan });
                        shared.extend(plans.into_iter().filter(|plan| plan.matters() && is_asked(plan)));
                    }
                }
            }
        }
        let none = "the study has no such combination; what it consists of: tests/netlab/figures/study/README.md";
        if shared.is_empty() {
            return Err(none.into());
        }
        let cases =
            CASES.into_iter().filter(|case| self.rows.is_empty() || self.rows.iter().any(|row| row == case.name));
        let alone = cases.flat_map(|case| {
            case.program.kernels.iter().map(move |kernel| Plan { kernel: Some(kernel), ..Plan::of(case) })
        });
        Ok(alone.chain(shared).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::{MM2_704, PSRS_8M};
    use super::*;
    use clap::{Command, FromArgMatches};
    use std::collections::BTreeSet;

    fn plans(line: &str) -> Result<Vec<Plan>, String> {
        let study = Filter::augment_args(Command::new("study").no_binary_name(true));
        let words =
            study.try_get_matches_from(line.split_whitespace()).and_then(|words| Filter::from_arg_matches(&words));
        words.map_err(|error| error.to_string())?.plans()
    }

    #[test]
    fn each_job_is_known_by_a_key_and_no_network_has_more_nodes_than_the_machine_carries() {
        let plans = plans("").expect("plans");
        let keys: BTreeSet<_> = plans.iter().map(Plan::key).collect();
        assert_eq!(keys.len(), plans.len());
        for key in
            ["155-9000/mm2-704/16/mpich/tuned", "155-9000/psrs-8M/16/openmpi/defaults-polling", "alone/mm2-512/dot"]
        {
            assert!(keys.contains(key), "{key}");
        }
        let most = |name| plans.iter().filter(|plan| plan.network.name == name).map(|plan| plan.nodes).max();
        assert_eq!(NETWORKS.map(|network| most(network.name)), [Some(16), Some(8), Some(4)]);
    }

    #[test]
    fn a_filter_takes_what_there_is_and_refuses_what_there_is_not() {
        let some = plans("--networks 155-9000 --rows mm2-704 --nodes 4,16 --mpis openmpi --settings defaults");
        let keys: Vec<_> = some.expect("plans").iter().map(Plan::key).collect();
        let of = |nodes| format!("155-9000/mm2-704/{nodes}/openmpi/defaults");
        assert_eq!(keys, ["alone/mm2-704/dot".into(), "alone/mm2-704/tiled".into(), of(4), of(16)]);
        for (line, expected) in [
            ("--rows mm2-700", "mm2-704"),
            ("--networks 155", "155-1500"),
            ("--nodes 3", "1, 2, 4, 8, 16"),
            ("--mpis intel", "openmpi, mpich"),
            ("--settings best", "tuned-polling"),
            ("--nodes 16 --networks 1000-9000", "no such combination"),
        ] {
            let refused = plans(line).expect_err(line);
            assert!(refused.contains(expected), "{line}: {refused}");
        }
    }

    #[test]
    fn the_bound_is_the_payload_into_a_node() {
        let bound = |case, nodes| Plan { nodes, ..Plan::of(case) }.bound();
        assert!((bound(MM2_704, 4) - 0.076_74).abs() < 1e-5);
        assert!((bound(PSRS_8M, 16) - 32e6 / 16.0 * 15.0 / 16.0 * 8.0 / 155e6).abs() < 1e-9);
        assert_eq!(bound(MM2_704, 1), 0.0);
    }
}
