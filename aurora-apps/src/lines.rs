//! How long the programs are: lines of code of the Aurora version and of each MPI version of an application.
//!
//! What both versions have is in neither: sequential parts, repetitions, verification. Nor is [`mpi_ranks`](crate::mpi_ranks), the helpers that all MPI
//! versions share, which is in their favour.

use serde::Serialize;

/// One version of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Version {
    /// Which application.
    pub app: &'static str,
    /// Which implementation, by its name on the command line.
    #[serde(rename = "impl")]
    pub implementation: &'static str,
    /// Lines with code: not those that are empty, comments, documentation or tests.
    pub lines: usize,
}

/// Source texts of a version.
macro_rules! sources {
    ($($path:literal),*) => { &[$(include_str!($path)),*] };
}

type Sources = &'static [&'static str];

const VERSIONS: [(&str, &str, Sources); 6] = [
    ("mm2", "aurora", sources!("mm2/parallel.rs")),
    ("mm2", "mpi-collective", sources!("mm2/mpi.rs")),
    ("psrs", "aurora", sources!("psrs/sorter.rs")),
    ("psrs", "mpi-collective", sources!("psrs/mpi.rs")),
    ("diffusion", "aurora", sources!("diffusion/parallel.rs")),
    ("diffusion", "mpi-sendrecv", sources!("diffusion/mpi.rs")),
];

/// All versions.
pub fn versions() -> Vec<Version> {
    let version = |(app, implementation, sources): (_, _, Sources)| {
        let lines = sources.iter().map(|source| code_lines(source)).sum();
        Version { app, implementation, lines }
    };
    VERSIONS.into_iter().map(version).collect()
}

/// Lines with code of a source text in this project's form: comments have lines of their own, and tests come last.
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
        for (app, mpi) in [("mm2", "mpi-collective"), ("psrs", "mpi-collective"), ("diffusion", "mpi-sendrecv")] {
            assert!(lines(app, "aurora") > 10 && lines(app, mpi) > 10, "{versions:?}");
        }
    }
}
