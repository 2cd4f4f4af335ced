//! What the study consists of: data sets, networks, numbers of nodes, MPIs and their settings, and each combination
//! that is run.

use super::case::{CASES, Case};
use crate::row::{FAST, PAPER, SMALL};
use crate::tuning::{Tuning, Wishes};
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Shape;

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
/// Two nodes that both send fill it with 166 000 packets a second: none.
pub const NETWORKS: [Network; 3] = [PAPERS, SHORT, GIGABIT];

pub const NODES: [usize; 5] = [1, 2, 4, 8, 16];

/// How an MPI is set up and waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    pub tuned: bool,
    /// As it comes, instead of by `patient.c`.
    pub polling: bool,
}

pub const SETTINGS: [Setting; 4] = [
    Setting { tuned: false, polling: false },
    Setting { tuned: true, polling: false },
    Setting { tuned: false, polling: true },
    Setting { tuned: true, polling: true },
];

impl Setting {
    /// For `--settings`, labels and tables.
    pub fn name(self) -> &'static str {
        match (self.tuned, self.polling) {
            (false, false) => "defaults",
            (true, false) => "tuned",
            (false, true) => "defaults-polling",
            (true, true) => "tuned-polling",
        }
    }
}

pub fn mpi(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Open => "Open MPI",
        Flavour::Mpich => "MPICH",
    }
}

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
        format!("{}/{}/{nodes}/{flavour}/{}", network.name, case.name(), setting.name())
    }

    pub fn tuning(&self, wishes: &Wishes) -> Tuning {
        match self.setting.tuned {
            true => Tuning::best(self.flavour, self.case.operation(), wishes),
            false => Tuning::defaults(),
        }
    }

    /// Seconds in which the payload of a phase of bulk comes into an average node at the rate of its link.
    pub fn bound(&self) -> f64 {
        8.0 * self.case.bulk(self.nodes).1 / self.network.shape.bits_per_second()
    }

    /// Whether it is one of the study's.
    fn belongs(&self) -> bool {
        let Plan { network, case, nodes, setting, .. } = *self;
        let larger = case.name() == "mm2-704" || case.name() == "psrs-8M";
        // How ranks wait matters where there are more than cores; a node that is alone has nobody to wait for.
        let polls = network == PAPERS && larger && nodes == 16;
        nodes <= network.most_nodes
            && (network.all_sizes || larger)
            && (!setting.polling || polls)
            && (nodes > 1 || (network == PAPERS && setting == SETTINGS[0]))
    }
}

/// What is asked for; nothing stands for all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub networks: Vec<String>,
    pub rows: Vec<String>,
    pub nodes: Vec<usize>,
    pub mpis: Vec<String>,
    pub settings: Vec<String>,
}

impl Filter {
    pub fn is_all(&self) -> bool {
        self.networks.is_empty()
            && self.rows.is_empty()
            && self.nodes.is_empty()
            && self.mpis.is_empty()
            && self.settings.is_empty()
    }

    /// The data sets that are asked for.
    pub fn cases(&self) -> Vec<Case> {
        CASES.into_iter().filter(|case| asked(&self.rows, &case.name())).collect()
    }

    /// All jobs that are asked for, one data set after the other.
    ///
    /// # Errors
    /// A name that is none, with those that are.
    pub fn plans(&self) -> Result<Vec<Plan>, String> {
        known("row", &self.rows, &CASES.map(Case::name))?;
        known("network", &self.networks, &NETWORKS.map(|network| network.name.to_string()))?;
        known("number of nodes", &self.nodes, &NODES)?;
        known("MPI", &self.mpis, &[Flavour::Open, Flavour::Mpich].map(|flavour| flavour.to_string()))?;
        known("setting", &self.settings, &SETTINGS.map(|setting| setting.name().to_string()))?;
        let mut plans = Vec::new();
        for network in NETWORKS.into_iter().filter(|network| asked(&self.networks, network.name)) {
            for case in self.cases() {
                for nodes in NODES.into_iter().filter(|nodes| self.nodes.is_empty() || self.nodes.contains(nodes)) {
                    for flavour in [Flavour::Open, Flavour::Mpich] {
                        let plans_of = SETTINGS.map(|setting| Plan { network, case, nodes, flavour, setting });
                        plans.extend(plans_of.into_iter().filter(|plan| self.wants(plan)));
                    }
                }
            }
        }
        match plans.is_empty() {
            true => {
                Err("the study has no such combination; what it consists of: tests/netlab/figures/study/README.md"
                    .into())
            }
            false => Ok(plans),
        }
    }

    fn wants(&self, plan: &Plan) -> bool {
        plan.belongs() && asked(&self.mpis, &plan.flavour.to_string()) && asked(&self.settings, plan.setting.name())
    }
}

fn asked(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|asked| asked == name)
}

fn known<T: PartialEq + ToString>(what: &str, asked: &[T], all: &[T]) -> Result<(), String> {
    let unknown = asked.iter().find(|asked| !all.contains(asked));
    let list = || all.iter().map(T::to_string).collect::<Vec<_>>().join(", ");
    unknown
        .map_or(Ok(()), |unknown| Err(format!("there is no {what} `{}`; there are: {}", unknown.to_string(), list())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_job_is_known_by_a_key_of_its_own() {
        let plans = Filter::default().plans().expect("plans");
        let keys: BTreeSet<_> = plans.iter().map(Plan::key).collect();
        assert_eq!(keys.len(), plans.len());
        assert!(
            keys.contains("155-9000/mm2-704/16/mpich/tuned")
                && keys.contains("155-9000/psrs-8M/16/openmpi/defaults-polling")
        );
    }

    #[test]
    fn no_network_has_more_nodes_than_the_machine_carries() {
        let plans = Filter::default().plans().expect("plans");
        let most = |name| plans.iter().filter(|plan| plan.network.name == name).map(|plan| plan.nodes).max();
        assert_eq!((most("155-9000"), most("155-1500"), most("1000-9000")), (Some(16), Some(8), Some(4)));
    }

    #[test]
    fn a_filter_takes_what_there_is_and_refuses_what_there_is_not() {
        let filter = Filter {
            networks: vec!["155-9000".into()],
            rows: vec!["mm2-704".into()],
            nodes: vec![4, 16],
            mpis: vec!["openmpi".into()],
            settings: vec!["defaults".into()],
        };
        assert_eq!(filter.plans().expect("plans").len(), 2);
        let wrong = Filter { rows: vec!["mm2-700".into()], ..Filter::default() }.plans().expect_err("refused");
        assert!(wrong.contains("mm2-704"), "{wrong}");
        let none = Filter { nodes: vec![16], networks: vec!["1000-9000".into()], ..Filter::default() };
        assert!(none.plans().is_err());
    }

    #[test]
    fn the_bound_is_the_payload_into_a_node() {
        let plan = |case, nodes| {
            let (network, setting) = (PAPERS, SETTINGS[0]);
            Plan { network, case, nodes, flavour: Flavour::Open, setting }.bound()
        };
        assert!((plan(Case::Mm2(704), 4) - 0.076_74).abs() < 1e-5);
        assert!((plan(Case::Psrs(8_000_000), 16) - 32e6 / 16.0 * 15.0 / 16.0 * 8.0 / 155e6).abs() < 1e-9);
        assert_eq!(plan(Case::Mm2(704), 1), 0.0);
    }
}
