//! What belongs together: which runs are of one problem in one place, and which are of one system there.

use super::Report;
use super::circumstances::Circumstances;
use super::label::{KIND, KNOWN, MPI, NETWORK, PHASES, SETTING};
use super::machine;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// What is computed: runs of one can be compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Which application or operation.
    pub name: String,
    /// Rows of a matrix, or keys; bytes of an operation.
    pub size: usize,
    /// Kernel, kind of input or of memory.
    pub variant: String,
    /// What else was asked for.
    pub asked: BTreeMap<String, usize>,
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, grouped(self.size))?;
        if !self.variant.is_empty() {
            write!(f, ", {}", self.variant)?;
        }
        self.asked.iter().try_for_each(|(name, value)| write!(f, ", {name} {}", grouped(*value)))
    }
}

/// `number` with a narrow space between thousands.
pub fn grouped(number: usize) -> String {
    if number < 10_000 {
        return number.to_string();
    }
    let digits = number.to_string().into_bytes();
    let groups: Vec<_> = digits.rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("\u{202f}")
}

/// Where it is computed: figures of two such places are never in one curve.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Setting {
    /// The machine, in one line.
    pub machine: String,
    /// The network between the ranks, if that was said.
    pub network: Option<String>,
    /// Ranks on each machine, where there are several of both.
    pub per_node: Option<usize>,
    /// Whether computing and sharing are kept apart, which takes time of its own.
    pub apart: bool,
}

impl Setting {
    fn of(circumstances: &Circumstances, ranks: usize) -> Self {
        let labels = &circumstances.labels;
        let network = labels.get(NETWORK).map(str::to_string);
        // Without a network one machine is all that there is. With one its ranks do not go over it.
        let nodes = labels.nodes().filter(|nodes| *nodes > 1 || network.is_some());
        let per_node = nodes.map(|nodes| ranks.div_ceil(nodes)).filter(|ranks| *ranks > 1);
        let apart = labels.get(PHASES) == Some("apart");
        Setting { machine: circumstances.machine().into(), network, per_node, apart }
    }

    /// How many ranks can compute at the same time, as far as the machine's description says.
    pub fn cores(&self) -> Option<usize> {
        machine::cores_of(&self.machine)
    }

    /// The network, ranks that share machines, and phases that do not overlap.
    pub fn place(&self) -> String {
        let network = self.network.as_deref().unwrap_or("one machine");
        let shared = self.per_node.map(|ranks| format!(", {ranks} ranks on each machine")).unwrap_or_default();
        format!("{network}{shared}{}", if self.apart { ", phases apart" } else { "" })
    }
}

/// Where a figure belongs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// What.
    pub problem: Problem,
    /// Where.
    pub setting: Setting,
}

impl Key {
    /// Of what one implementation took.
    pub fn of(circumstances: &Circumstances, run: &Report) -> Self {
        let (name, variant, asked) = (run.app.clone(), run.variant.clone(), run.asked());
        let problem = Problem { name, size: run.size, variant, asked };
        Key { problem, setting: Setting::of(circumstances, run.ranks) }
    }
}

/// Who computes: one curve of a chart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Series {
    /// What its figures are, if they were not taken from a clock while it did all its work.
    pub kind: Option<String>,
    /// Which implementation.
    pub implementation: String,
    /// Which MPI; none of what does not share by MPI, whoever has started it.
    pub mpi: Option<String>,
    /// How that is set.
    pub setting: Option<String>,
    /// Labels that are not known.
    pub others: BTreeMap<String, String>,
}

/// This library as it is meant to be used.
const AURORA: [&str; 4] = ["aurora", "aurora-whole", "pages", "accumulate"];

impl Series {
    /// Of one implementation.
    pub fn of(circumstances: &Circumstances, implementation: &str) -> Self {
        let labels = &circumstances.labels;
        let of_mpi = |key: &str| labels.get(key).filter(|_| is_mpi(implementation)).map(str::to_string);
        let others = labels.iter().filter(|(key, _)| !KNOWN.contains(key));
        Series {
            kind: labels.get(KIND).filter(|kind| *kind != "measured").map(str::to_string),
            implementation: implementation.into(),
            mpi: of_mpi(MPI),
            setting: of_mpi(SETTING),
            others: others.map(|(key, value)| (key.into(), value.into())).collect(),
        }
    }

    /// Whether it is this library as it is meant to be used: with a behaviour, if need be with whole loads.
    pub fn is_aurora(&self) -> bool {
        self.preference().is_some()
    }

    /// Of those that are, which one is compared with others where there are several: the least.
    pub fn preference(&self) -> Option<usize> {
        AURORA.iter().position(|name| *name == self.implementation)
    }

    /// Whether it is another system to compare with: neither Aurora in any form, its slow one without behaviours
    /// included, nor one core alone.
    pub fn is_rival(&self) -> bool {
        !self.is_aurora() && !["naive", "sequential"].contains(&self.implementation.as_str())
    }

    /// Whether its figures were taken from a clock while it did all its work.
    pub fn is_measured(&self) -> bool {
        self.kind.is_none()
    }

    /// Whether they are of computing without sharing, on a quiet machine: what a model is made from.
    pub fn is_alone(&self) -> bool {
        self.kind.as_deref() == Some("computing alone")
    }

    /// Whether MPI carries its data.
    pub fn is_mpi(&self) -> bool {
        is_mpi(&self.implementation)
    }

    /// Whether its ranks have the work of a p-th each, and share.
    pub fn is_parallel(&self) -> bool {
        !["sequential", "rayon"].contains(&self.implementation.as_str())
    }
}

fn is_mpi(implementation: &str) -> bool {
    implementation.starts_with("mpi-")
}

impl Display for Series {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let others = self.others.iter().map(|(key, value)| format!("{key} {value}"));
        let parts = [&self.mpi, &self.setting].into_iter().flatten().cloned().chain(others).chain(self.kind.clone());
        f.write_str(&self.implementation)?;
        parts.into_iter().try_for_each(|part| write!(f, ", {part}"))
    }
}
