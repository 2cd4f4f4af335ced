//! A launcher's announcement of the ranks that it has started.

use super::BUILD_WITH_MPI;

/// The announcement that a launcher has left in the environment. Programs that the launcher has not started may inherit
/// it, for example in a shell inside an allocation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Announced {
    /// The number of ranks, if it is announced.
    pub size: Option<usize>,
    /// The environment variables that make up the announcement.
    pub variables: Vec<&'static str>,
}

impl Announced {
    /// The error message of a program that was built without MPI, and may be one of several processes.
    pub fn without_mpi(&self) -> String {
        let by_hand = match self.variables[..] {
            [] => "Start it without mpirun, and set AURORA_RANKS".into(),
            _ => format!("{}. For mpirun or srun, build it with MPI", self.unset()),
        };
        format!("{}, but it was built without MPI. {by_hand}. {BUILD_WITH_MPI}", self.claim())
    }

    /// The error message of a program to which its MPI, `library`, reports another number of ranks.
    #[cfg(feature = "mpi")]
    pub(super) fn other_size(&self, size: usize, library: &str) -> String {
        let here = match self.size {
            Some(_) => String::new(),
            None => ". If it is a job of one rank, set AURORA_RANKS=1".into(),
        };
        format!(
            "{}, but MPI sees {size}{here}. {}. This program was built for {library}; if another MPI's mpirun has \
             started it, start it with that MPI's mpirun, or build it again, in a target directory of its own, with \
             MPICC set to the other's mpicc",
            self.claim(),
            self.unset()
        )
    }

    fn claim(&self) -> String {
        let by = match self.variables[..] {
            [] if self.size.is_none() => return "the program asks for MPI".into(),
            [] => String::new(),
            [name] => format!("{name} says that "),
            [ref names @ .., last] => format!("{} and {last} say that ", names.join(", ")),
        };
        let ranks = self.size.map_or("an unknown number of".into(), |size| size.to_string());
        format!("{by}a launcher has started this program as one of {ranks} ranks")
    }

    fn unset(&self) -> String {
        if self.variables.is_empty() {
            return "Start it by the launcher of that MPI".into();
        }
        format!(
            "If no launcher has started it, as in a shell inside an allocation, run `unset {}`: then it starts \
             AURORA_RANKS ranks itself",
            self.variables.join(" ")
        )
    }
}
