//! Ranks that are processes of this machine, started by rank 0 from its own executable.
//!
//! # How processes end
//!
//! Rank 0 is the process that the user has started. It starts the others from the thread that calls `run`, and listens
//! on an abstract unix socket, which leaves no file behind. Its thread `aurora-control` receives the reports of the
//! other ranks, prints their output, and detects when they end (by pidfd, where there is one) or are stopped (by
//! checking twice a second; an idle job does nothing else).
//!
//! | event | detected by | consequence |
//! |---|---|---|
//! | a body returns an error or panics | that rank, which reports it | |
//! | a process dies, or ends without leaving | rank 0, by its pidfd | cause: signal or exit code |
//! | `exit` inside the body | an `atexit` handler, which reports it | exit code 1 |
//! | a process is stopped for 2 s | rank 0 | it is killed |
//! | rank 0 dies | Linux (`PR_SET_PDEATHSIG`), the end of the socket | the others end at once |
//!
//! After a failure all ranks are notified and have [`Options::grace`](super::Options::grace) to return from their
//! bodies. The failure is printed once. Started processes do not print it; they end with code 1. On rank 0 `run`
//! returns it, for `main` to print. If rank 0's body does not return in time, or has called `exit`, rank 0 prints it
//! and ends with code 1.
//!
//! Programs that a rank starts inherit its environment, and so its [`VARIABLE`]. The ticket in it names the parent of
//! the rank's process; a process with another parent ignores it ([`is_inherited`]) and is a job of its own.
//!
//! Linux sends `PR_SET_PDEATHSIG` when the *thread* that started the process ends: here the caller of `run`, which
//! waits for the others. A process requests the signal when it calls `run`; if rank 0 dies earlier, the process finds
//! no socket. If rank 0 is *stopped*, the whole job stops: the other ranks report rank 0 as lost by its silence, and
//! rank 0 learns this when it continues.

//! # Authentication
//!
//! Any process of the machine can see an abstract socket's name and connect. Rank 0 closes connections of other users
//! when it accepts them. A connection of this user is a stranger until its `Hello` proves that it knows the job's key,
//! which started processes get in their environment. A stranger may send 256 bytes within 2 s. There are at most 64
//! strangers, fewer if few descriptors are permitted ([`Strangers`](crate::strangers::Strangers)). Connections from
//! started processes, which Linux identifies, have no time limit and are not dropped. A started process checks the user
//! of the socket before it sends anything. It never sends the key, and requires rank 0 to prove the same about the
//! process's own nonce.

mod child;
mod children;
mod frame;
mod output;
mod parent;
mod supervisor;
mod ticket;

pub(super) use child::run as join;
pub(super) use parent::run as start;
pub use ticket::is_inherited;

use super::coordinator::{Notice, Report};
use crate::Rank;
use crate::key::{JobKey, Nonce, Proof};
use serde::{Deserialize, Serialize};

/// The environment variable with a started process's ticket.
pub const VARIABLE: &str = "AURORA_JOB";

/// The statements that rank 0 and a started process prove to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    /// "I am this rank."
    Rank,
    /// "I am rank 0, in reply to that rank."
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

/// A message from a started process to rank 0.
#[derive(Debug, Serialize, Deserialize)]
enum Up {
    /// The first message: the rank, and a nonce that both sides' proofs refer to.
    Hello {
        rank: Rank,
        nonce: Nonce,
        proof: Proof,
    },
    Report(Report),
    /// The body has returned and its result has been reported; the process is about to end.
    Left,
}

/// A message from rank 0 to a started process.
#[derive(Debug, Serialize, Deserialize)]
enum Down {
    Welcome { proof: Proof },
    Notice(Notice),
}
