//! What belongs together: which runs are of one problem in one place, and which are of one system there.

use super::circumstances::Circumstances;
use super::figures::Figures;
use super::label::{KIND, MPI, NETWORK, NODES, PHASES, SETTING};
use super::machine;
use super::recorded::Program;
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
    pub asked: BTreeMap<String, u64>,
}

impl Problem {
    /// Of an application.
    pub fn of(run: &Program) -> Self {
        let (name, variant) = (run.app.clone(), run.variant.clone());
        Problem { name, size: run.size, variant, asked: run.asked() }
    }

    /// Of an operation.
    pub fn of_bench(run: &Figures) -> Self {
        let parts = [Some(&run.variant), run.memory.as_ref(), run.access.as_ref()];
        let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).cloned().collect();
        Problem { name: run.bench.clone(), size: run.bytes, variant: parts.join(" "), asked: BTreeMap::new() }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, grouped(self.size as u64))?;
        if !self.variant.is_empty() {
            write!(f, ", {}", self.variant)?;
        }
        self.asked.iter().try_for_each(|(name, value)| write!(f, ", {name} {}", grouped(*value)))
    }
}

/// `number` with a narrow space between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
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
        let Circumstances { machine, labels, .. } = circumstances;
        let machine = if machine.is_empty() { "an unknown machine".into() } else { machine.clone() };
        // Without a network one machine is all that there is. With one its ranks do not go over it.
        let nodes = labels.nodes().filter(|nodes| *nodes > 1 || labels.get(NETWORK).is_some());
        let per_node = nodes.map(|nodes| ranks.div_ceil(nodes));
        let per_node = per_node.filter(|ranks| *ranks > 1);
        let apart = labels.get(PHASES) == Some("apart");
        Setting { machine, network: labels.get(NETWORK).map(str::to_string), per_node, apart }
    }

    /// How many ranks can compute at the same time, as far as the machine's description says.
    pub fn cores(&self) -> Option<usize> {
        machine::cores_of(&self.machine)
    }

    /// The network, ranks that share machines, and phases that do not overlap.
    pub fn place(&self) -> String {
        let mut place = self.network.clone().unwrap_or_else(|| "one machine".into());
        if let Some(ranks) = self.per_node {
            place += &format!(", {ranks} ranks on each machine");
        }
        if self.apart {
            place += ", phases apart";
        }
        place
    }
}

/// What the figures are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Taken from a clock.
    Measured,
    /// Of computing without sharing, on a quiet machine: what a model is made from.
    ComputingAlone,
    /// Something else that the user names.
    Other(String),
}

impl Kind {
    fn of(circumstances: &Circumstances) -> Self {
        match circumstances.labels.get(KIND) {
            None | Some("measured") => Kind::Measured,
            Some("computing alone") => Kind::ComputingAlone,
            Some(other) => Kind::Other(other.into()),
        }
    }
}

/// Who computes: one curve of a chart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Series {
    /// What its figures are.
    pub kind: Kind,
    /// Which implementation.
    pub implementation: String,
    /// Which MPI; none of what does not share by MPI, whoever has started it.
    pub mpi: Option<String>,
    /// How that is set.
    pub setting: Option<String>,
    /// Labels that are not known.
    pub others: BTreeMap<String, String>,
}

impl Series {
    fn of(circumstances: &Circumstances, implementation: &str) -> Self {
        let labels = &circumstances.labels;
        let of_mpi = |key: &str| labels.get(key).filter(|_| is_mpi(implementation)).map(str::to_string);
        let known = [NETWORK, MPI, SETTING, NODES, KIND, PHASES];
        let others = labels.iter().filter(|(key, _)| !known.contains(key));
        Series {
            kind: Kind::of(circumstances),
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
        self.kind == Kind::Measured
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

/// This library as it is meant to be used.
const AURORA: [&str; 3] = ["aurora", "aurora-whole", "accumulate"];

fn is_mpi(implementation: &str) -> bool {
    implementation.starts_with("mpi-")
}

impl Display for Series {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.implementation)?;
        for part in [&self.mpi, &self.setting].into_iter().flatten() {
            write!(f, ", {part}")?;
        }
        self.others.iter().try_for_each(|(key, value)| write!(f, ", {key} {value}"))?;
        match &self.kind {
            Kind::Measured => Ok(()),
            Kind::ComputingAlone => f.write_str(", computing alone"),
            Kind::Other(kind) => write!(f, ", {kind}"),
        }
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

/// Where one implementation's figures belong.
pub fn keys(circumstances: &Circumstances, problem: Problem, ranks: usize, implementation: &str) -> (Key, Series) {
    (Key { problem, setting: Setting::of(circumstances, ranks) }, Series::of(circumstances, implementation))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{labelled, program, read};
    use super::super::recorded::What;
    use super::*;

    fn keys_of(run: serde_json::Value) -> Vec<(Key, Series)> {
        let runs = read(&[run]);
        let What::Program(results) = &runs[0].what else { panic!("a program") };
        let of = |run: &Program| keys(&runs[0].circumstances, Problem::of(run), run.ranks, &run.implementation);
        results.iter().map(of).collect()
    }

    #[test]
    fn only_what_mpi_carries_is_told_apart_by_it() {
        let run = program("mm2", 704, 4, &[("aurora", 1.0), ("mpi-isend", 2.0)]);
        let keys = keys_of(labelled(labelled(run, "mpi", "MPICH 4"), "setting", "tuned"));
        assert_eq!(keys[0].1.to_string(), "aurora");
        assert_eq!(keys[1].1.to_string(), "mpi-isend, MPICH 4, tuned");
        assert_eq!(keys[0].0, keys[1].0);
    }

    #[test]
    fn networks_and_crowded_machines_are_places_of_their_own() {
        let run = || program("mm2", 704, 4, &[("aurora", 1.0)]);
        let place = |run| keys_of(run)[0].0.setting.place();
        assert_eq!(place(run()), "one machine");
        assert_eq!(place(labelled(run(), "nodes", "1")), "one machine");
        let run = || labelled(run(), "network", "155 Mbit/s");
        assert_eq!(place(labelled(run(), "nodes", "4")), "155 Mbit/s");
        assert_eq!(place(labelled(run(), "nodes", "1")), "155 Mbit/s, 4 ranks on each machine");
        assert_eq!(place(labelled(run(), "phases", "apart")), "155 Mbit/s, phases apart");
        assert_eq!(place(labelled(run(), "nodes", "2")), "155 Mbit/s, 2 ranks on each machine");
    }

    #[test]
    fn what_was_asked_for_tells_problems_apart_and_what_was_found_does_not() {
        let mut run = program("tsp", 20, 4, &[("aurora", 1.0)]);
        for (name, value) in [("length", 2707), ("speedup", 2), ("updates", 40000)] {
            run["results"][0][name] = value.into();
        }
        assert_eq!(keys_of(run)[0].0.problem.to_string(), "tsp 20, tiled, updates 40\u{202f}000");
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(9999), "9999");
    }

    #[test]
    fn what_is_not_measured_says_so() {
        let run = |kind| labelled(program("mm2", 704, 4, &[("aurora", 1.0)]), "kind", kind);
        assert_eq!(keys_of(run("measured"))[0].1.to_string(), "aurora");
        assert_eq!(keys_of(run("modelled"))[0].1.to_string(), "aurora, modelled");
        assert_eq!(keys_of(run("computing alone"))[0].1.kind, Kind::ComputingAlone);
    }
}
