//! A program with its data, and what of it is measured.

use aurora_apps::bench::Operation;
use aurora_apps::implementation::{Offer, Program};

/// A program with its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// Rows and columns.
    Mm2(usize),
    /// Keys.
    Psrs(usize),
}

pub const CASES: [Case; 4] = [Case::Mm2(512), Case::Mm2(704), Case::Psrs(6_000_000), Case::Psrs(8_000_000)];

impl Case {
    /// For `--rows`.
    pub fn name(self) -> String {
        match self {
            Case::Mm2(size) => format!("mm2-{size}"),
            Case::Psrs(keys) => format!("psrs-{}M", keys / 1_000_000),
        }
    }

    pub fn words(self) -> String {
        match self {
            Case::Mm2(size) => format!("mm2, {size} x {size}"),
            Case::Psrs(keys) => format!("psrs, {} million keys", keys / 1_000_000),
        }
    }

    /// Which figure of the paper shows its speed-up.
    pub fn figure(self) -> &'static str {
        match self {
            Case::Mm2(512) => "Figure 4",
            Case::Mm2(_) => "Figure 5",
            Case::Psrs(6_000_000) => "Figure 7",
            Case::Psrs(_) => "Figure 8",
        }
    }

    pub fn program(self) -> &'static str {
        match self {
            Case::Mm2(_) => "mm2",
            Case::Psrs(_) => "psrs",
        }
    }

    pub fn size(self) -> usize {
        match self {
            Case::Mm2(size) | Case::Psrs(size) => size,
        }
    }

    /// What follows `aurora`.
    pub fn arguments(self) -> Vec<String> {
        match self {
            Case::Mm2(size) => vec!["mm2".into(), format!("--size={size}")],
            Case::Psrs(keys) => vec!["psrs".into(), format!("--keys={keys}")],
        }
    }

    /// Kernels whose computing is measured, as arguments; the first is the paper's.
    pub fn kernels(self) -> &'static [&'static str] {
        match self {
            Case::Mm2(_) => &["dot", "tiled"],
            Case::Psrs(_) => &["uniform"],
        }
    }

    /// Who shares, as far as they are written; Aurora first. Of mm2 those that have all of the matrix before they
    /// compute: what of a load is hidden behind computing is no sharing.
    pub fn implementations(self) -> Vec<&'static str> {
        let offered = Program(self.program()).implementations();
        let first = |wanted: &[&str]| {
            let named = |name: &&str| offered.iter().find(|offered| offered.name() == *name);
            wanted.iter().find_map(named).map(|implementation| implementation.name())
        };
        let isend = first(&["mpi-isend-whole", "mpi-isend"]);
        [first(&["aurora-whole", "aurora"]), isend, first(&["mpi-collective"])].into_iter().flatten().collect()
    }

    /// The phases of sharing with most to carry, and the bytes that come into a node in each: those of an average node.
    pub fn bulk(self, nodes: usize) -> (&'static [&'static str], f64) {
        let others = (nodes - 1) as f64 / nodes as f64;
        match self {
            Case::Mm2(size) => (&["load R", "load P"], (4 * size * size) as f64 * others),
            Case::Psrs(keys) => (&["fetch partitions"], (4 * keys / nodes) as f64 * others),
        }
    }

    /// What it is for an MPI that is to be tuned for it.
    pub fn operation(self) -> Operation {
        match self {
            Case::Mm2(size) => Operation::ReadCache { bytes: 4 * size * size, late: None },
            Case::Psrs(keys) => Operation::Exchange { keys },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aurora_comes_first_and_each_form_once() {
        for case in CASES {
            let names = case.implementations();
            assert!(names[0].starts_with("aurora") && names.contains(&"mpi-collective"), "{names:?}");
            assert!(names.iter().filter(|name| name.starts_with("mpi-isend")).count() <= 1, "{names:?}");
        }
        assert_eq!((CASES[0].implementations()[0], CASES[2].implementations()[0]), ("aurora-whole", "aurora"));
    }
}
