//! The length of the programs: lines of code of the Aurora version and of each MPI version of an application.
//!
//! Code that both versions share is not counted: sequential parts, repetitions, verification. The lines that make the
//! vectors in the Aurora versions of `mm2`, `diffusion`, `sor` and `histogram`, one for each vector, stand with the
//! repetitions and are not counted either. The Aurora version of `mm2` contains both ways of loading. The helpers that
//! all MPI versions share, [`mpi_ranks`](crate::mpi_ranks), are not counted, which favours MPI.

use crate::report::page::Version;

/// The source texts of a version.
macro_rules! sources {
    ($($path:literal),*) => { &[$(include_str!($path)),*] };
}

type Sources = &'static [&'static str];

const VERSIONS: [(&str, &str, Sources); 24] = [
    ("mm2", "aurora", sources!("mm2/parallel.rs")),
    ("mm2", "mpi-isend", sources!("mm2/mpi/program.rs", "mm2/mpi/isend.rs")),
    ("mm2", "mpi-isend-whole", sources!("mm2/mpi/program.rs", "mm2/mpi/isend_whole.rs")),
    ("mm2", "mpi-ring", sources!("mm2/mpi/program.rs", "mm2/mpi/ring.rs")),
    ("mm2", "mpi-collective", sources!("mm2/mpi/program.rs", "mm2/mpi/collective.rs")),
    ("psrs", "aurora", sources!("psrs/sorter.rs")),
    ("psrs", "mpi-isend", sources!("psrs/mpi/program.rs", "psrs/mpi/isend.rs", "psrs/mpi/merging.rs")),
    ("psrs", "mpi-collective", sources!("psrs/mpi/program.rs", "psrs/mpi/collective.rs", "psrs/mpi/merging.rs")),
    ("diffusion", "aurora", sources!("diffusion/parallel.rs")),
    ("diffusion", "mpi-isend", sources!("diffusion/mpi/rows.rs", "diffusion/mpi/isend.rs")),
    ("diffusion", "mpi-collective", sources!("diffusion/mpi/rows.rs", "diffusion/mpi/collective.rs")),
    ("sor", "aurora", sources!("sor/parallel.rs")),
    ("sor", "pages", sources!("sor/pages.rs")),
    ("sor", "treadmarks", sources!("sor/treadmarks.rs")),
    ("tsp", "aurora", sources!("tsp/parallel.rs")),
    ("tsp", "mpi-isend", sources!("tsp/mpi/record.rs", "tsp/mpi/isend.rs")),
    ("tsp", "mpi-collective", sources!("tsp/mpi/record.rs", "tsp/mpi/collective.rs")),
    ("histogram", "aurora", sources!("histogram/parallel.rs")),
    ("histogram", "mpi-isend", sources!("histogram/mpi/counters.rs", "histogram/mpi/isend.rs")),
    ("histogram", "mpi-collective", sources!("histogram/mpi/counters.rs", "histogram/mpi/collective.rs")),
    ("wordcount", "aurora", sources!("wordcount/parallel.rs")),
    ("wordcount", "mpi-collective", sources!("wordcount/mpi/collective.rs")),
    ("sparse-mm", "aurora", sources!("sparse_mm/program.rs")),
    ("cholesky", "aurora", sources!("cholesky/program.rs")),
];

/// Returns all versions.
pub fn versions() -> Vec<Version> {
    let version = |(app, implementation, sources): (_, _, Sources)| {
        let lines = sources.iter().map(|source| code_lines(source)).sum();
        Version { app, implementation, lines }
    };
    VERSIONS.into_iter().map(version).collect()
}

/// Returns the number of lines with code of a source text in this project's form: comments have lines of their own, and
/// tests come last.
fn code_lines(source: &str) -> usize {
    let program = source.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    program.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_empty_lines_and_tests_are_no_code() {
        let source = "//! A\n\n/// B\nfn a() {\n    // c\n    b();\n}\n\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(code_lines(source), 3);
    }

    #[test]
    fn each_application_has_its_versions() {
        let versions = versions();
        let lines = |app: &str, of: &str| {
            versions.iter().find(|v| v.app == app && v.implementation == of).map(|v| v.lines).expect("a version")
        };
        for app in ["mm2", "psrs", "diffusion", "tsp", "histogram"] {
            for version in ["aurora", "mpi-isend", "mpi-collective"] {
                assert!(lines(app, version) > 10, "{versions:?}");
            }
        }
        assert!(lines("wordcount", "aurora") > 5 && lines("wordcount", "mpi-collective") > 10, "{versions:?}");
    }
}
