//! What the study consists of: data sets, networks, numbers of nodes, MPIs and their settings, and each combination
//! that is run.

use super::case::{CASES, Case};
use crate::row::{FAST, PAPER, SMALL};
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Shape;
use clap::Args;
use clap::builder::PossibleValuesParser;

/// A network, and how much of it two cores carry.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Network {
    /// For `--networks`.
    pub name: &'static str,
    /// For tables and labels.
    pub words: &'static str,
    pub shape: Shape,
    /// On 2 cores, which carry about 100 000 packets a second from node to node.
    most_nodes: usize,
    /// With all data sets, or the larger ones only.
    all_sizes: bool,
}

pub const PAPERS: Network =
    Network { name: "155-9000", words: "155 Mbit/s, MTU 9000", shape: PAPER, most_nodes: 16, all_sizes: true };
const SHORT: Network =
    Network { name: "155-1500", words: "155 Mbit/s, MTU 1500", shape: SMALL, most_nodes: 8, all_sizes: false };
const GIGABIT: Network =
    Network { name: "1000-9000", words: "1 Gbit/s, MTU 9000", shape: FAST, most_nodes: 4, all_sizes: false };
/// With 1 Gbit/s and MTU 1500 two nodes that both send fill it with 166 000 packets a second: none.
pub const NETWORKS: [Network; 3] = [PAPERS, SHORT, GIGABIT];

const NODES: [&str; 5] = ["1", "2", "4", "8", "16"];

/// How an MPI is set up and waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// For `--settings`, labels and tables.
    pub name: &'static str,
    pub tuned: bool,
    /// As it comes, instead of by `patient.c`.
    pub polling: bool,
}

pub const SETTINGS: [Setting; 4] = [
    Setting { name: "defaults", tuned: false, polling: false },
    Setting { name: "tuned", tuned: true, polling: false },
    Setting { name: "defaults-polling", tuned: false, polling: true },
    Setting { name: "tuned-polling", tuned: true, polling: true },
];

/// One job on a network: all implementations in turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plan {
    pub network: Network,
    pub case: Case,
    pub nodes: usize,
    pub flavour: Flavour,
    pub setting: Setting,
}

impl Plan {
    /// By which it is known in the file.
    pub fn key(&self) -> String {
        let Plan { network, case, nodes, flavour, setting } = self;
        format!("{}/{}/{nodes}/{flavour}/{}", network.name, case.name, setting.name)
    }

    /// Its MPI and how that is set up.
    pub fn mpi(&self) -> String {
        format!("{}, {}", self.flavour.words(), self.setting.name)
    }

    /// Seconds in which the payload of a phase of bulk comes into an average node at the rate of its link.
    pub fn bound(&self) -> f64 {
        8.0 * self.case.payload(self.nodes) / self.network.shape.bits_per_second()
    }

    /// Whether it is one of the study's.
    fn belongs(&self) -> bool {
        let Plan { network, case, nodes, setting, .. } = *self;
        // How ranks wait matters where there are more than cores; a node that is alone has nobody to wait for.
        let polls = network == PAPERS && case.is_larger && nodes == 16;
        nodes <= network.most_nodes
            && (network.all_sizes || case.is_larger)
            && (!setting.polling || polls)
            && (nodes > 1 || (network == PAPERS && setting == SETTINGS[0]))
    }
}

/// What is asked for; nothing stands for all.
#[derive(Args, Clone, Debug, Default)]
pub struct Filter {
    /// Only these data sets
    #[arg(long, value_name = "NAME,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(CASES.map(|case| case.name)))]
    rows: Vec<String>,
    /// Only these networks
    #[arg(long, value_name = "NAME,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(NETWORKS.map(|network| network.name)))]
    networks: Vec<String>,
    /// Only these numbers of nodes
    #[arg(long, value_name = "N,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(NODES))]
    nodes: Vec<String>,
    /// Only beside these
    #[arg(long, value_name = "NAME,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(["openmpi", "mpich"]))]
    mpis: Vec<String>,
    /// Only in these settings
    #[arg(long, value_name = "NAME,...", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(SETTINGS.map(|setting| setting.name)))]
    settings: Vec<String>,
}

fn asked(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|asked| asked == name)
}

impl Filter {
    pub fn is_all(&self) -> bool {
        [&self.rows, &self.networks, &self.nodes, &self.mpis, &self.settings].iter().all(|names| names.is_empty())
    }

    /// The data sets that are asked for.
    pub fn cases(&self) -> impl Iterator<Item = Case> {
        CASES.into_iter().filter(|case| asked(&self.rows, case.name))
    }

    /// All jobs that are asked for, one data set after the other.
    ///
    /// # Errors
    /// That there are none.
    pub fn plans(&self) -> Result<Vec<Plan>, String> {
        let mut plans = Vec::new();
        for network in NETWORKS {
            for case in CASES {
                for nodes in [1, 2, 4, 8, 16] {
                    for flavour in Flavour::BOTH {
                        plans.extend(SETTINGS.map(|setting| Plan { network, case, nodes, flavour, setting }));
                    }
                }
            }
        }
        plans.retain(|plan| {
            plan.belongs()
                && asked(&self.networks, plan.network.name)
                && asked(&self.rows, plan.case.name)
                && asked(&self.nodes, &plan.nodes.to_string())
                && asked(&self.mpis, &plan.flavour.to_string())
                && asked(&self.settings, plan.setting.name)
        });
        let none = "the study has no such combination; what it consists of: tests/netlab/figures/study/README.md";
        if plans.is_empty() { Err(none.into()) } else { Ok(plans) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::{MM2_704, PSRS_8M};
    use super::*;
    use clap::Parser;
    use std::collections::BTreeSet;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        filter: Filter,
    }

    fn plans(line: &str) -> Result<Vec<Plan>, String> {
        let words = std::iter::once("study").chain(line.split_whitespace());
        Line::try_parse_from(words).map_err(|error| error.to_string())?.filter.plans()
    }

    #[test]
    fn each_job_is_known_by_a_key_of_its_own() {
        let plans = plans("").expect("plans");
        let keys: BTreeSet<_> = plans.iter().map(Plan::key).collect();
        assert_eq!(keys.len(), plans.len());
        assert!(keys.contains("155-9000/mm2-704/16/mpich/tuned"));
        assert!(keys.contains("155-9000/psrs-8M/16/openmpi/defaults-polling"));
    }

    #[test]
    fn no_network_has_more_nodes_than_the_machine_carries() {
        let plans = plans("").expect("plans");
        let most = |name| plans.iter().filter(|plan| plan.network.name == name).map(|plan| plan.nodes).max();
        assert_eq!(NETWORKS.map(|network| most(network.name)), [Some(16), Some(8), Some(4)]);
    }

    #[test]
    fn a_filter_takes_what_there_is_and_refuses_what_there_is_not() {
        let some = "--networks 155-9000 --rows mm2-704 --nodes 4,16 --mpis openmpi --settings defaults";
        assert_eq!(plans(some).expect("plans").len(), 2);
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
        let bound =
            |case, nodes| Plan { network: PAPERS, case, nodes, flavour: Flavour::Open, setting: SETTINGS[0] }.bound();
        assert!((bound(MM2_704, 4) - 0.076_74).abs() < 1e-5);
        assert!((bound(PSRS_8M, 16) - 32e6 / 16.0 * 15.0 / 16.0 * 8.0 / 155e6).abs() < 1e-9);
        assert_eq!(bound(MM2_704, 1), 0.0);
    }
}
