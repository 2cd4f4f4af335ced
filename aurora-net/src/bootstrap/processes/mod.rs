//! Ranks that are processes of this machine, started by rank 0 from its own executable.
//!
//! # Who lives and dies with whom
//!
//! Rank 0 is the process that the user has started. It starts the others from the thread that calls `run` and listens
//! on an abstract unix socket, which leaves nothing behind. One thread of it, `aurora-control`, does all that follows:
//! it takes in the others' reports, prints their output, and watches them end (by pidfd) and stop (it looks twice a
//! second, which is all that an idle job does).
//!
//! | what happens | who notices | then |
//! |---|---|---|
//! | a body returns an error or panics | that rank reports it | |
//! | a process dies, or ends without leaving | rank 0, by its pidfd | cause: signal or exit code |
//! | `exit` inside the body | an `atexit` handler reports it | exit code 1, whatever was asked for |
//! | a process is stopped for 2 s | rank 0 | it is killed |
//! | rank 0 dies, by whatever | the kernel (`PR_SET_PDEATHSIG`), the socket's end | the others end at once |
//!
//! After a failure everyone is told and has [`Options::grace`](super::Options::grace) to return from its body. Started
//! processes never print the failure: they end with code 1. In rank 0 `run` returns it, for `main` to print; if rank
//! 0's body does not return in time, or has called `exit`, rank 0 prints it and ends with code 1. Either way: once.
//!
//! `PR_SET_PDEATHSIG` is sent when the *thread* ends that started the process: here the caller of `run`, which waits
//! until the others have ended. A process is covered from its own `run` on; one whose parent dies before that finds no
//! socket. A rank 0 that is *stopped* stops the job: its peers give up when the transport does, it learns of that when
//! it goes on.

//! # Who is let in
//!
//! Any process of the machine can connect to an abstract socket, and see its name. Rank 0 closes connections of other
//! users when it takes them in. One of this user is a stranger until its `Hello` proves that it knows the job's key,
//! which is in the environment of the started processes: until then it may send 256 bytes, and has 2 s; there are at
//! most 64 strangers, and fewer where few descriptors are allowed ([`Strangers`](crate::strangers::Strangers)). A
//! connection of a started process, which the kernel names, is neither hurried nor dropped, so a rank that is slow to
//! come is not lost. A process looks whose socket it has reached before it says anything, never says the key itself,
//! and believes only a rank 0 that proves the same about a number of the process's own.

mod child;
mod children;
mod frame;
mod output;
mod parent;
mod supervisor;
mod ticket;

pub(super) use child::run as join;
pub(super) use parent::run as start;

use super::coordinator::{Notice, Report};
use crate::Rank;
use crate::key::{JobKey, Nonce, Proof};
use serde::{Deserialize, Serialize};

/// The environment variable by which a started process knows its job.
pub const VARIABLE: &str = "AURORA_JOB";

/// What rank 0 proves to a started process, or that to rank 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    /// "I am this rank."
    Rank,
    /// "I am rank 0, and this is my answer to that rank."
    Root,
}

impl Claim {
    fn proof(self, key: &JobKey, rank: Rank, nonce: Nonce) -> Proof {
        let claim = match self {
            Claim::Rank => "control: rank",
            Claim::Root => "control: root",
        };
        key.prove(claim, &[rank.index() as u128, nonce])
    }
}

/// From a started process to rank 0.
#[derive(Debug, Serialize, Deserialize)]
enum Up {
    /// The first message: who this is, with a number of its own about which both sides prove that they know the job's
    /// key.
    Hello { rank: Rank, nonce: Nonce, proof: Proof },
    /// For the coordinator.
    Report(Report),
    /// The body has returned and been reported; the process is about to end.
    Left,
}

/// From rank 0 to a started process.
#[derive(Debug, Serialize, Deserialize)]
enum Down {
    /// The answer to `Hello`.
    Welcome { proof: Proof },
    /// From the coordinator.
    Notice(Notice),
}
