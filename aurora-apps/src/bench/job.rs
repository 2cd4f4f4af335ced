//! What can be asked for: an operation, and implementations of it to compare.

use std::time::Duration;
use thiserror::Error;

/// An operation between ranks. Every rank must ask for the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Every rank gets all of a vector.
    ReadCache {
        /// Its size.
        bytes: usize,
        /// How much after the others the last rank begins.
        late: Option<Duration>,
    },
    /// Every rank has a range of 32-bit keys for each, and gets those for itself from all.
    Exchange {
        /// How many keys all ranks have together.
        keys: usize,
    },
    /// Every other rank's bytes reach rank 0.
    Gather {
        /// So many from each.
        bytes: usize,
        /// Who acts.
        by: By,
    },
    /// Rank 0 reads 8 bytes of rank 1's.
    Get {
        /// What rank 1 does meanwhile.
        target: Target,
    },
    /// Rank 0 writes 8 bytes of rank 1's, and knows that they are there.
    Put {
        /// What rank 1 does meanwhile.
        target: Target,
    },
    /// All ranks wait for each other.
    Barrier,
    /// Bytes go from rank 0 to rank 1.
    Stream {
        /// How many.
        bytes: usize,
    },
}

/// Who acts in a gather.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum By {
    /// Each sender writes into rank 0's memory.
    #[default]
    Push,
    /// Rank 0 reads from all of them.
    Pull,
}

/// What the target of a get or put does meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Target {
    /// Sleeps.
    #[default]
    Idle,
    /// Computes.
    Computing,
}

/// How an operation is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Implementation {
    /// By this library.
    #[default]
    Aurora,
    /// By the one of MPI's collective operations that is made for it.
    MpiCollective,
    /// By MPI's nonblocking messages, all at once.
    MpiIsend,
    /// By one TCP connection.
    Tcp,
}

impl Implementation {
    /// Every implementation.
    pub const ALL: [Implementation; 4] =
        [Implementation::Aurora, Implementation::MpiCollective, Implementation::MpiIsend, Implementation::Tcp];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Implementation::Aurora => "aurora",
            Implementation::MpiCollective => "mpi-collective",
            Implementation::MpiIsend => "mpi-isend",
            Implementation::Tcp => "tcp",
        }
    }

    /// Whether MPI carries it.
    pub fn is_mpi(self) -> bool {
        matches!(self, Implementation::MpiCollective | Implementation::MpiIsend)
    }
}

impl Operation {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Operation::ReadCache { .. } => "read-cache",
            Operation::Exchange { .. } => "exchange",
            Operation::Gather { .. } => "gather",
            Operation::Get { .. } => "get",
            Operation::Put { .. } => "put",
            Operation::Barrier => "barrier",
            Operation::Stream { .. } => "stream",
        }
    }

    /// What was chosen beside its size, if it is not the usual.
    pub fn variant(self) -> String {
        match self {
            Operation::ReadCache { late: Some(late), .. } => format!("late-rank-ms={}", late.as_millis()),
            Operation::Gather { by: By::Pull, .. } => "pull".into(),
            Operation::Get { target: Target::Computing } | Operation::Put { target: Target::Computing } => {
                "target=computing".into()
            }
            _ => String::new(),
        }
    }

    /// The size that is reported: of the whole vector; of all keys; from each rank that sends.
    pub fn bytes(self) -> usize {
        match self {
            Operation::ReadCache { bytes, .. } | Operation::Gather { bytes, .. } | Operation::Stream { bytes } => bytes,
            Operation::Exchange { keys } => keys.saturating_mul(size_of::<u32>()),
            Operation::Get { .. } | Operation::Put { .. } => size_of::<u64>(),
            Operation::Barrier => 0,
        }
    }

    /// Whether it is so short that a repetition has many of it.
    pub fn is_short(self) -> bool {
        matches!(self, Operation::Get { .. } | Operation::Put { .. } | Operation::Barrier)
    }

    /// What carries it out.
    pub fn implementations(self) -> &'static [Implementation] {
        use Implementation::{Aurora, MpiCollective, MpiIsend, Tcp};
        match self {
            Operation::ReadCache { .. } | Operation::Exchange { .. } | Operation::Gather { .. } => {
                &[Aurora, MpiCollective, MpiIsend]
            }
            Operation::Get { .. } | Operation::Put { .. } => &[Aurora, MpiIsend],
            Operation::Barrier => &[Aurora, MpiCollective],
            Operation::Stream { .. } => &[Aurora, MpiIsend, Tcp],
        }
    }

    /// How many ranks it takes.
    fn least_ranks(self, implementation: Implementation) -> usize {
        match self {
            Operation::Gather { .. } | Operation::Stream { .. } => 2,
            // Aurora's own part is read and written like any other; a message to oneself is none.
            Operation::Get { .. } | Operation::Put { .. } if implementation.is_mpi() => 2,
            _ => 1,
        }
    }
}

/// What is known of a job before it starts.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// How many ranks, if that is known.
    pub ranks: Option<usize>,
    /// Whether mpirun starts them.
    pub under_mpirun: bool,
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
    #[error("{} {}; allowed here: {}", .operation.name(), lack(*.operation, *.implementation), names(.operation.implementations()))]
    Missing {
        /// Of what.
        operation: Operation,
        /// What is missing.
        implementation: Implementation,
    },
    /// Named more than once.
    #[error("it is named more than once")]
    Twice,
    /// Too few to have somebody to send to.
    #[error("{} takes at least {needed} ranks", .operation.name())]
    TooFewRanks {
        /// What.
        operation: Operation,
        /// How many there are.
        ranks: usize,
        /// How many it takes.
        needed: usize,
    },
}

impl Refusal {
    /// Whether `implementation` can carry out `operation` under these conditions.
    ///
    /// # Errors
    /// Why not.
    pub fn check(operation: Operation, implementation: Implementation, conditions: Conditions) -> Result<(), Refusal> {
        if !operation.implementations().contains(&implementation) {
            return Err(Refusal::Missing { operation, implementation });
        }
        if implementation.is_mpi() && !cfg!(feature = "mpi") {
            return Err(Refusal::NotBuilt);
        }
        if implementation.is_mpi() && !conditions.under_mpirun {
            return Err(Refusal::NotStarted);
        }
        let needed = operation.least_ranks(implementation);
        match conditions.ranks {
            Some(ranks) if ranks < needed => Err(Refusal::TooFewRanks { operation, ranks, needed }),
            _ => Ok(()),
        }
    }
}

fn lack(operation: Operation, implementation: Implementation) -> &'static str {
    match (operation, implementation) {
        (_, Implementation::Tcp) => "is not what one connection can do",
        (Operation::Get { .. } | Operation::Put { .. }, _) => "takes two ranks, and MPI's collectives take all",
        (Operation::Stream { .. }, _) => "goes from one rank to one, and MPI's collectives take all",
        (Operation::Barrier, _) => "is one of MPI's collectives, and nobody would make it of messages",
        _ => "has no such implementation",
    }
}

fn names(of: &[Implementation]) -> String {
    of.iter().map(|implementation| implementation.name()).collect::<Vec<_>>().join(", ")
}

/// What to run. Every rank must ask for the same.
#[derive(Clone, Debug)]
pub struct Job {
    /// Which operation.
    pub operation: Operation,
    /// Who carries it out, in turns.
    pub implementations: Vec<Implementation>,
    /// How often each, each time with new data.
    pub reps: usize,
    /// What the data is made from; `None` draws a new seed.
    pub seed: Option<u64>,
    /// Damages the data at its source, to show that the verification can fail.
    pub damage: bool,
}

impl Job {
    /// Whether it can be run, and if not, which implementation is in the way.
    ///
    /// # Errors
    /// The first implementation that cannot be had, and why.
    pub fn check(&self, conditions: Conditions) -> Result<(), (Implementation, Refusal)> {
        for (number, &implementation) in self.implementations.iter().enumerate() {
            if self.implementations[..number].contains(&implementation) {
                return Err((implementation, Refusal::Twice));
            }
            Refusal::check(self.operation, implementation, conditions).map_err(|refusal| (implementation, refusal))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Conditions = Conditions { ranks: Some(2), under_mpirun: false };
    const ALONE: Conditions = Conditions { ranks: Some(1), under_mpirun: false };

    fn text(operation: Operation, implementation: Implementation) -> String {
        Refusal::check(operation, implementation, HERE).unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_names_what_is_allowed() {
        let get = Operation::Get { target: Target::Idle };
        let text = text(get, Implementation::MpiCollective);
        assert_eq!(text, "get takes two ranks, and MPI's collectives take all; allowed here: aurora, mpi-isend");
    }

    #[test]
    fn mpi_is_for_mpirun() {
        let exchange = Operation::Exchange { keys: 10 };
        let text = text(exchange, Implementation::MpiIsend);
        assert!(text.contains(if cfg!(feature = "mpi") { "mpirun -n" } else { "--features mpi" }), "{text}");
    }

    #[test]
    fn one_rank_has_nobody_to_send_to() {
        let check = |operation| Refusal::check(operation, Implementation::Aurora, ALONE);
        assert!(check(Operation::Get { target: Target::Idle }).is_ok());
        let stream = Operation::Stream { bytes: 1 };
        assert_eq!(check(stream), Err(Refusal::TooFewRanks { operation: stream, ranks: 1, needed: 2 }));
    }

    #[test]
    fn an_implementation_is_named_once() {
        let implementations = vec![Implementation::Aurora; 2];
        let job = Job { operation: Operation::Barrier, implementations, reps: 1, seed: None, damage: false };
        assert_eq!(job.check(HERE), Err((Implementation::Aurora, Refusal::Twice)));
    }
}
