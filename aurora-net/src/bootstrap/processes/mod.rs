//! Ranks that are processes of this machine, started by rank 0 from its own executable.
//!
//! # Who lives and dies with whom
//!
//! Rank 0 is the process that the user has started. It starts the others from the thread that calls `run` and listens on
//! an abstract unix socket, which leaves nothing behind. One thread of it, `aurora-control`, does all that follows: it
//! takes in the others' reports, prints their output, and watches them end (by pidfd) and stop (it looks twice a second,
//! which is all that an idle job does).
//!
//! | what happens | who notices | then |
//! |---|---|---|
//! | a body returns an error or panics | that rank reports it | |
//! | a process dies, or ends without leaving | rank 0, by its pidfd | cause: signal or exit code |
//! | `exit` inside the body | an `atexit` handler reports it | exit code 1, whatever was asked for |
//! | a process is stopped for 2 s | rank 0 | it is killed |
//! | rank 0 dies, by whatever | the kernel (`PR_SET_PDEATHSIG`), the socket's end | the others end at once |
//!
//! After a failure everyone is told and has [`Options::grace`](super::Options::grace) to return from its body. Started processes never print the
//! failure: they end with code 1. In rank 0 `run` returns it, for `main` to print; if rank 0's body does not return in
//! time, or has called `exit`, rank 0 prints it and ends with code 1. Either way: once.
//!
//! `PR_SET_PDEATHSIG` is sent when the *thread* ends that started the process: here the caller of `run`, which waits until
//! the others have ended. A process is covered from its own `run` on; one whose parent dies before that finds no socket.
//! A rank 0 that is *stopped* stops the job: its peers give up when the transport does, it learns of that when it goes on.

mod child;
mod frame;
mod output;
mod parent;
mod supervisor;
mod ticket;

pub(super) use child::run as join;
pub(super) use parent::run as start;

use super::hub::{Notice, Report};
use crate::Rank;
use serde::{Deserialize, Serialize};

/// The environment variable by which a started process knows its job.
pub const VARIABLE: &str = "AURORA_JOB";

/// From a started process to rank 0.
#[derive(Debug, Serialize, Deserialize)]
enum Up {
    /// The first message: who this is, and the key that proves it.
    Hello { key: u64, rank: Rank },
    /// For the hub.
    Report(Report),
    /// The body has returned and been reported; the process is about to end.
    Left,
}

/// From rank 0 to a started process.
#[derive(Debug, Serialize, Deserialize)]
enum Down {
    /// The answer to `Hello`.
    Welcome,
    /// From the hub.
    Notice(Notice),
}
