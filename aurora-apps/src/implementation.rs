//! The implementations that can be compared, this library and others, and the conditions under which each can run.

use aurora_core::prelude::*;
use aurora_core::{LaunchInfo, Launcher};
use clap::ValueEnum;
use thiserror::Error;

/// The way in which an operation or a program is carried out.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Implementation {
    /// This library.
    #[default]
    Aurora,
    /// This library, without computing during a load.
    AuroraWhole,
    /// Collective operations of MPI.
    MpiCollective,
    /// Isend and Irecv of MPI. Programs compute with data as it arrives.
    MpiIsend,
    /// Isend and Irecv of MPI, without computing during a load.
    ///
    /// The programs of the paper are of this form.
    MpiIsendWhole,
    /// Isend and Irecv of MPI around a ring of ranks.
    MpiRing,
    /// Batches for each owner, made by hand, and MPI's Alltoallv.
    MpiAlltoallv,
    /// This library without a behaviour, element by element.
    Naive,
    /// Pages that are copied when they are touched, and syncs.
    ///
    /// The program has a Paged scope. Its first choice is a HaloCache.
    Pages,
    /// Pages as in TreadMarks: a request for each page and rank that has written it.
    Treadmarks,
    /// Partial sums of each rank, merged at the end.
    ///
    /// The program has an Accumulate. Its first choice is a ReleaseC.
    Accumulate,
    /// The sequential program, on rank 0 alone.
    Sequential,
    /// One TCP connection.
    Tcp,
    /// As many threads as there are ranks, all of rank 0, with rayon.
    Rayon,
}

impl Implementation {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Implementation::Aurora => "aurora",
            Implementation::AuroraWhole => "aurora-whole",
            Implementation::MpiCollective => "mpi-collective",
            Implementation::MpiIsend => "mpi-isend",
            Implementation::MpiIsendWhole => "mpi-isend-whole",
            Implementation::MpiRing => "mpi-ring",
            Implementation::MpiAlltoallv => "mpi-alltoallv",
            Implementation::Naive => "naive",
            Implementation::Pages => "pages",
            Implementation::Treadmarks => "treadmarks",
            Implementation::Accumulate => "accumulate",
            Implementation::Sequential => "sequential",
            Implementation::Tcp => "tcp",
            Implementation::Rayon => "rayon",
        }
    }

    /// Returns whether this library shares the data, with or without a behaviour.
    pub fn is_ours(self) -> bool {
        use Implementation::{Accumulate, Aurora, AuroraWhole, Naive, Pages, Treadmarks};
        matches!(self, Aurora | AuroraWhole | Pages | Treadmarks | Accumulate | Naive)
    }

    /// Returns whether the data is sent by MPI.
    pub fn is_mpi(self) -> bool {
        use Implementation::{MpiAlltoallv, MpiCollective, MpiIsend, MpiIsendWhole, MpiRing};
        matches!(self, MpiCollective | MpiIsend | MpiIsendWhole | MpiRing | MpiAlltoallv)
    }
}

/// The facts about a job that decide which implementations it can run.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// The number of ranks, if it is known.
    pub ranks: Option<usize>,
    /// True if mpirun starts the ranks.
    pub under_mpirun: bool,
}

impl Conditions {
    /// Returns the conditions of a running job.
    pub fn of(world: &World) -> Self {
        Conditions { ranks: Some(world.size()), under_mpirun: world.about().launcher == Launcher::Mpi }
    }

    /// Returns the conditions of a job that is to be started. Errors in its configuration are left for the start to
    /// report. Returns `None` for a rank of a running job, because the process that started the job has checked them
    /// already.
    pub fn before(config: &Config) -> Option<Self> {
        let ranks = config.planned_ranks().ok().flatten();
        match config.launch_info() {
            LaunchInfo::Alone => Some(Conditions { ranks, under_mpirun: false }),
            LaunchInfo::Step { .. } => Some(Conditions { ranks, under_mpirun: true }),
            LaunchInfo::Rank => None,
        }
    }
}

/// The reason why an implementation cannot run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// This program was built without MPI.
    #[error(
        "this `aurora` was built without MPI: build it with `cargo build --release --features mpi` and start it with \
         that MPI's mpirun"
    )]
    NotBuilt,
    /// The ranks were not started by an MPI launcher.
    #[error("MPI's ranks are started by mpirun: `mpirun -n 4 aurora ...`")]
    NotStarted,
    /// The operation or program has no such implementation.
    #[error("{what} is not written that way; allowed here: {}", names(.allowed))]
    Missing {
        /// The name of the operation or program.
        what: &'static str,
        /// The implementations that exist.
        allowed: &'static [Implementation],
    },
    /// The implementation is named more than once.
    #[error("it is named more than once")]
    Twice,
    /// There are too few ranks, for example no rank to send to.
    #[error("{what} takes at least {needed} ranks")]
    TooFewRanks {
        /// The name of the operation or program.
        what: &'static str,
        /// The number of ranks of the job.
        ranks: usize,
        /// The minimum number of ranks.
        needed: usize,
    },
}

/// An operation or a program, with its implementations.
pub trait Offer {
    /// Returns the name of the operation or program.
    fn name(&self) -> &'static str;

    /// Returns the implementations that exist.
    fn implementations(&self) -> &'static [Implementation];

    /// Returns the minimum number of ranks.
    fn least_ranks(&self, implementation: Implementation) -> usize;

    /// Checks that all `wanted` implementations can run.
    ///
    /// # Errors
    /// The first implementation that cannot run, and the reason.
    fn check(&self, wanted: &[Implementation], conditions: Conditions) -> Result<(), (Implementation, Refusal)> {
        for (number, &implementation) in wanted.iter().enumerate() {
            let twice = wanted[..number].contains(&implementation);
            let refusal = if twice { Some(Refusal::Twice) } else { self.refusal(implementation, conditions) };
            if let Some(refusal) = refusal {
                return Err((implementation, refusal));
            }
        }
        Ok(())
    }

    /// Returns the reason why `implementation` cannot run under these conditions, or `None` if it can.
    fn refusal(&self, implementation: Implementation, conditions: Conditions) -> Option<Refusal> {
        let (what, allowed) = (self.name(), self.implementations());
        if !allowed.contains(&implementation) {
            return Some(Refusal::Missing { what, allowed });
        }
        if implementation.is_mpi() && !cfg!(feature = "mpi") {
            return Some(Refusal::NotBuilt);
        }
        if implementation.is_mpi() && !conditions.under_mpirun {
            return Some(Refusal::NotStarted);
        }
        let needed = self.least_ranks(implementation);
        let ranks = conditions.ranks.filter(|ranks| *ranks < needed)?;
        Some(Refusal::TooFewRanks { what, ranks, needed })
    }
}

/// A program: by this library, by MPI, by one rank, or, if it is the sort, by threads.
#[derive(Clone, Copy, Debug)]
pub struct Program(pub &'static str);

impl Program {
    /// All of them.
    pub const ALL: [Program; 10] = [
        Program("mm2"),
        Program("psrs"),
        Program("histogram"),
        Program("wordcount"),
        Program("indexgather"),
        Program("diffusion"),
        Program("sor"),
        Program("sparse-mm"),
        Program("cholesky"),
        Program("tsp"),
    ];
}

impl Offer for Program {
    fn name(&self) -> &'static str {
        self.0
    }

    fn implementations(&self) -> &'static [Implementation] {
        use Implementation::{
            Accumulate, Aurora, AuroraWhole, MpiCollective, MpiIsend, MpiIsendWhole, MpiRing, Naive, Pages, Rayon,
            Sequential, Treadmarks,
        };
        match self.0 {
            "mm2" => &[Aurora, AuroraWhole, MpiIsend, MpiIsendWhole, MpiRing, MpiCollective, Sequential, Naive],
            "psrs" => &[Aurora, MpiIsend, MpiCollective, Sequential, Naive, Rayon],
            "diffusion" | "tsp" => &[Aurora, MpiIsend, MpiCollective, Sequential, Naive],
            "wordcount" => &[Aurora, MpiCollective, Sequential, Naive],
            "histogram" => &[Aurora, Accumulate, MpiIsend, MpiCollective, Sequential, Naive],
            "sor" => &[Aurora, Pages, Treadmarks, Naive, Sequential],
            "sparse-mm" | "cholesky" => &[Aurora, Sequential],
            _ => &[Aurora, Naive, Sequential],
        }
    }

    fn least_ranks(&self, _: Implementation) -> usize {
        1
    }
}

fn names(of: &[Implementation]) -> String {
    of.iter().map(|implementation| implementation.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Conditions = Conditions { ranks: Some(1), under_mpirun: false };

    #[test]
    fn a_refusal_names_what_is_allowed() {
        let refusal = Program("mm2").refusal(Implementation::Tcp, ALONE).expect("refused");
        assert_eq!(
            refusal.to_string(),
            "mm2 is not written that way; allowed here: aurora, aurora-whole, mpi-isend, mpi-isend-whole, mpi-ring, \
             mpi-collective, sequential, naive"
        );
    }

    #[test]
    fn mpi_is_for_mpirun() {
        let text = Program("mm2").refusal(Implementation::MpiCollective, ALONE).expect("refused").to_string();
        assert!(text.contains(if cfg!(feature = "mpi") { "mpirun -n" } else { "--features mpi" }), "{text}");
    }

    #[test]
    fn an_implementation_is_named_once() {
        let wanted = [Implementation::Aurora; 2];
        assert_eq!(Program("mm2").check(&wanted[..1], ALONE), Ok(()));
        assert_eq!(Program("mm2").check(&wanted, ALONE), Err((Implementation::Aurora, Refusal::Twice)));
    }

    #[test]
    fn the_names_are_those_of_the_command_line() {
        fn check<E: ValueEnum + Copy>(name: fn(E) -> &'static str) {
            for value in E::value_variants() {
                let shown = value.to_possible_value().expect("it is not hidden");
                assert_eq!(shown.get_name(), name(*value));
            }
        }
        check(Implementation::name);
        check(crate::mm2::Kernel::name);
        check(crate::psrs::Input::name);
        check(crate::tsp::Named::name);
    }
}
