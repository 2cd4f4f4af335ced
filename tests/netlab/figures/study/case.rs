//! A program with its data, and the measured phases.

/// A program.
#[derive(PartialEq, Eq, Debug)]
pub struct Program {
    pub name: &'static str,
    /// The program's option for the size of its data.
    pub size: &'static str,
    /// The implementations that share data, Aurora first. For mm2 only those that have the whole matrix before they
    /// compute: a load that overlaps with computing is not measured as sharing.
    pub implementations: [&'static str; 3],
    /// The variants of its computing: kernels, or keys. The first one is the paper's.
    pub kernels: &'static [&'static str],
    /// The phases of sharing with the largest volume of data.
    pub bulk: &'static [&'static str],
    /// The names for groups of phases.
    pub stages: &'static [(&'static str, &'static [&'static str])],
}

pub const MM2: Program = Program {
    name: "mm2",
    size: "--size",
    implementations: ["aurora-whole", "mpi-isend-whole", "mpi-collective"],
    kernels: &["dot", "tiled"],
    bulk: &["load R", "load P"],
    stages: &[("stage 1", &["load R"]), ("stage 2", &["load P"])],
};

pub const PSRS: Program = Program {
    name: "psrs",
    size: "--keys",
    implementations: ["aurora", "mpi-isend", "mpi-collective"],
    kernels: &["uniform"],
    bulk: &["fetch partitions"],
    stages: &[
        ("phase 1", &["gather samples"]),
        ("phase 2", &["read pivots", "exchange cuts"]),
        ("phase 3", &["fetch partitions"]),
        ("phase 4", &["move keys"]),
    ],
};

/// A program with its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The name for `--rows`.
    pub name: &'static str,
    pub words: &'static str,
    /// The number of the paper's figure that shows its speed-up.
    pub figure: u32,
    pub program: &'static Program,
    /// Rows and columns of a matrix, or keys.
    pub size: usize,
}

const MM2_512: Case = Case { name: "mm2-512", words: "mm2, 512 x 512", figure: 4, program: &MM2, size: 512 };
pub const MM2_704: Case = Case { name: "mm2-704", words: "mm2, 704 x 704", figure: 5, program: &MM2, size: 704 };
const PSRS_6M: Case =
    Case { name: "psrs-6M", words: "psrs, 6 million keys", figure: 7, program: &PSRS, size: 6_000_000 };
pub const PSRS_8M: Case =
    Case { name: "psrs-8M", words: "psrs, 8 million keys", figure: 8, program: &PSRS, size: 8_000_000 };
pub const CASES: [Case; 4] = [MM2_512, MM2_704, PSRS_6M, PSRS_8M];

/// The larger data set of each program.
pub const LARGER: [Case; 2] = [MM2_704, PSRS_8M];

impl Case {
    /// The bytes that an average node receives in each phase of `bulk`.
    pub fn payload(self, nodes: usize) -> f64 {
        let bytes = if self.program == &MM2 { 4 * self.size * self.size } else { 4 * self.size / nodes };
        bytes as f64 * (nodes - 1) as f64 / nodes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aurora_apps::implementation::{self, Offer};

    #[test]
    fn each_form_is_offered_and_aurora_comes_first() {
        for Program { name, implementations, .. } in [MM2, PSRS] {
            let offered = implementation::Program(name).implementations();
            let offered = |name: &str| offered.iter().any(|offered| offered.name() == name);
            assert!(implementations.iter().all(|name| offered(name)), "{implementations:?}");
            assert!(implementations[0].starts_with("aurora"), "{implementations:?}");
        }
    }
}
