//! The grouping of runs: by problem and place, and there by system.

use super::Report;
use super::circumstances::Circumstances;
use super::label::{KIND, KNOWN, MPI, NETWORK, PHASES, SETTING};
use super::machine;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// The computed problem: runs of one problem can be compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// The application or operation.
    pub name: String,
    /// Rows of a matrix, or keys; bytes of an operation.
    pub size: usize,
    /// Kernel, kind of input or of memory.
    pub variant: String,
    /// The other parameters.
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

/// Writes `number` with a narrow space between thousands.
pub fn grouped(number: usize) -> String {
    if number < 10_000 {
        return number.to_string();
    }
    let digits = number.to_string().into_bytes();
    let groups: Vec<_> = digits.rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("\u{202f}")
}

/// The place of the computation: figures of different places are never in one curve.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Setting {
    /// The machine, in one line.
    pub machine: String,
    /// The network between the ranks, if it is given.
    pub network: Option<String>,
    /// The number of ranks on each machine, if there are several of both.
    pub per_node: Option<usize>,
    /// True if computing and sharing are kept apart, which takes additional time.
    pub apart: bool,
}

impl Setting {
    fn of(circumstances: &Circumstances, ranks: usize) -> Self {
        let labels = &circumstances.labels;
        let network = labels.get(NETWORK).map(str::to_string);
        // Without a network there is only one machine. With a network, the ranks of a single machine do not use it.
        let nodes = labels.nodes().filter(|nodes| *nodes > 1 || network.is_some());
        let per_node = nodes.map(|nodes| ranks.div_ceil(nodes)).filter(|ranks| *ranks > 1);
        let apart = labels.get(PHASES) == Some("apart");
        Setting { machine: circumstances.machine().into(), network, per_node, apart }
    }

    /// Returns the number of ranks that can compute at the same time, as far as the machine's description says.
    pub fn cores(&self) -> Option<usize> {
        machine::cores_of(&self.machine)
    }

    /// Returns the network, the ranks that share machines, and whether phases are kept apart, in words.
    pub fn place(&self) -> String {
        let network = self.network.as_deref().unwrap_or("one machine");
        let shared = self.per_node.map(|ranks| format!(", {ranks} ranks on each machine")).unwrap_or_default();
        format!("{network}{shared}{}", if self.apart { ", phases apart" } else { "" })
    }
}

/// The problem and the place of a figure.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// The problem.
    pub problem: Problem,
    /// The place.
    pub setting: Setting,
}

impl Key {
    /// Makes the key of one implementation's run.
    pub fn of(circumstances: &Circumstances, run: &Report) -> Self {
        let (name, variant, asked) = (run.app.clone(), run.variant.clone(), run.asked());
        let problem = Problem { name, size: run.size, variant, asked };
        Key { problem, setting: Setting::of(circumstances, run.ranks) }
    }
}

/// The system that computes: one curve of a chart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Series {
    /// The kind of its figures, if they were not taken from a clock while the system did all its work.
    pub kind: Option<String>,
    /// The implementation.
    pub implementation: String,
    /// The MPI; none for an implementation that does not share by MPI, even if mpirun has started it.
    pub mpi: Option<String>,
    /// The settings of MPI.
    pub setting: Option<String>,
    /// The other labels, and the policy of a super-program.
    pub others: BTreeMap<String, String>,
}

/// The forms of this library as it is meant to be used.
const AURORA: [&str; 4] = ["aurora", "aurora-whole", "pages", "accumulate"];

impl Series {
    /// Makes the series of one implementation's run.
    pub fn of(circumstances: &Circumstances, run: &Report) -> Self {
        let (labels, implementation) = (&circumstances.labels, run.implementation.as_str());
        let of_mpi = |key: &str| labels.get(key).filter(|_| is_mpi(implementation)).map(str::to_string);
        let policy = run.policy.iter().map(|policy| ("policy", policy.as_str()));
        let others = labels.iter().filter(|(key, _)| !KNOWN.contains(key)).chain(policy);
        Series {
            kind: labels.get(KIND).filter(|kind| *kind != "measured").map(str::to_string),
            implementation: implementation.into(),
            mpi: of_mpi(MPI),
            setting: of_mpi(SETTING),
            others: others.map(|(key, value)| (key.into(), value.into())).collect(),
        }
    }

    /// Returns whether it is this library as it is meant to be used: with a behaviour, if need be with whole loads.
    pub fn is_aurora(&self) -> bool {
        self.preference().is_some()
    }

    /// Returns the place of a form of this library in the order of preference: of several forms, the one with the
    /// lowest number is compared with other systems. `None` for other systems.
    pub fn preference(&self) -> Option<usize> {
        AURORA.iter().position(|name| *name == self.implementation)
    }

    /// Returns whether it is another system to compare with. Not counted are Aurora in any form, including the slow
    /// form without behaviours, and one core alone.
    pub fn is_rival(&self) -> bool {
        !self.is_aurora() && !["naive", "sequential"].contains(&self.implementation.as_str())
    }

    /// Returns whether its figures were taken from a clock while it did all its work.
    pub fn is_measured(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns whether its figures are of computing without sharing, on a quiet machine, from which a model is made.
    pub fn is_alone(&self) -> bool {
        self.kind.as_deref() == Some("computing alone")
    }

    /// Returns whether MPI carries its data.
    pub fn is_mpi(&self) -> bool {
        is_mpi(&self.implementation)
    }

    /// Returns whether its ranks divide the work equally, and share data.
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
