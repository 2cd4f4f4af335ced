//! Who carries something out: this library, or what it is compared with. And what that takes.

use aurora_core::prelude::*;
use aurora_core::{LaunchInfo, Launcher};
use thiserror::Error;

/// How an operation or a program is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Implementation {
    /// By this library.
    #[default]
    Aurora,
    /// By this library, each load whole before anything is computed with it.
    AuroraWhole,
    /// By those of MPI's collective operations that are made for it.
    MpiCollective,
    /// By MPI's nonblocking messages, all at once; a program computes with each as it comes.
    MpiIsend,
    /// The same, but nothing is computed before all are here: the paper's, literally.
    MpiIsendWhole,
    /// By MPI's nonblocking messages round a ring of ranks.
    MpiRing,
    /// By MPI's Alltoallv of batches that are made by hand.
    MpiAlltoallv,
    /// By this library without a behaviour: element by element.
    Naive,
    /// By this library with a Paged scope, where the first choice is a HaloCache.
    Pages,
    /// By this library's `treadmarks`, a shared memory of pages after TreadMarks.
    Treadmarks,
    /// By this library with an Accumulate, where the first choice is a ReleaseC.
    Accumulate,
    /// By the sequential program, on rank 0 alone.
    Sequential,
    /// By one TCP connection.
    Tcp,
    /// By threads of one rank, as many as there are ranks, with rayon.
    Rayon,
}

impl Implementation {
    /// Its name on the command line.
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

    /// Whether it is this library that shares, with or without a behaviour.
    pub fn is_ours(self) -> bool {
        use Implementation::{Accumulate, Aurora, AuroraWhole, Naive, Pages, Treadmarks};
        matches!(self, Aurora | AuroraWhole | Pages | Treadmarks | Accumulate | Naive)
    }

    /// Whether MPI carries it.
    pub fn is_mpi(self) -> bool {
        use Implementation::{MpiAlltoallv, MpiCollective, MpiIsend, MpiIsendWhole, MpiRing};
        matches!(self, MpiCollective | MpiIsend | MpiIsendWhole | MpiRing | MpiAlltoallv)
    }
}

/// What is known of a job.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// How many ranks, if that is known.
    pub ranks: Option<usize>,
    /// Whether mpirun starts them.
    pub under_mpirun: bool,
}

impl Conditions {
    /// Those of a job that runs.
    pub fn of(world: &World) -> Self {
        Conditions { ranks: Some(world.size()), under_mpirun: world.about().launcher == Launcher::Mpi }
    }

    /// Those of a job that is to be started. What is wrong with its configuration, the start will say. None for a rank
    /// of somebody else's job, who has looked.
    pub fn before(config: &Config) -> Option<Self> {
        let ranks = config.planned_ranks().ok().flatten();
        match config.launch_info() {
            LaunchInfo::Alone => Some(Conditions { ranks, under_mpirun: false }),
            LaunchInfo::Step { .. } => Some(Conditions { ranks, under_mpirun: true }),
            LaunchInfo::Rank => None,
        }
    }
}

/// Why an implementation cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Refusal {
    /// Built without MPI.
    #[error(
        "this `aurora` was built without MPI: build it with `cargo build --release --features mpi` and start it with \
         that MPI's mpirun"
    )]
    NotBuilt,
    /// No MPI launcher has started this.
    #[error("MPI's ranks are started by mpirun: `mpirun -n 4 aurora ...`")]
    NotStarted,
    /// There is no such thing.
    #[error("{what} is not written that way; allowed here: {}", names(.allowed))]
    Missing {
        /// Of what.
        what: &'static str,
        /// What there is.
        allowed: &'static [Implementation],
    },
    /// Named more than once.
    #[error("it is named more than once")]
    Twice,
    /// Too few to have somebody to send to.
    #[error("{what} takes at least {needed} ranks")]
    TooFewRanks {
        /// What.
        what: &'static str,
        /// How many there are.
        ranks: usize,
        /// How many it takes.
        needed: usize,
    },
}

/// What can carry out one thing.
pub trait Offer {
    /// The name of the thing.
    fn name(&self) -> &'static str;

    /// Who can.
    fn implementations(&self) -> &'static [Implementation];

    /// How many ranks it takes.
    fn least_ranks(&self, implementation: Implementation) -> usize;

    /// Whether all that are `wanted` can be had.
    ///
    /// # Errors
    /// The first that cannot, and why.
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

    /// Why `implementation` cannot be had under these conditions, if so.
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
    pub const ALL: [Program; 9] = [
        Program("mm2"),
        Program("psrs"),
        Program("histogram"),
        Program("wordcount"),
        Program("indexgather"),
        Program("diffusion"),
        Program("sor"),
        Program("sparse-mm"),
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
            "sparse-mm" => &[Aurora, Sequential],
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
}
