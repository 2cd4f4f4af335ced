//! Starts the ranks of a job, lets them find each other, and ends them together.
//!
//! [`run`] takes a body and calls it once per rank with a [`Seat`]. The rules do not depend on how ranks are started:
//!
//! - A rank leaves by returning from the body. An error, a panic, death, or `exit` inside the body is a [`Failure`] of
//!   the job; the job reports the first one.
//! - After a failure the other ranks are notified ([`Seat::on_failure`]) and have [`Options::grace`] to return.

mod announced;
#[cfg(any(feature = "mpi", test))]
#[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "under mpirun alone a failure is announced"))]
mod announcer;
mod control_client;
mod coordinator;
mod exit;
mod failure;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(not(feature = "mpi"))]
#[path = "no_mpi.rs"]
mod mpi;
mod panic;
mod probe;
mod processes;
mod seat;
mod threads;

pub use announced::Announced;
pub use failure::Failure;
pub use panic::capture;
pub use processes::{VARIABLE, is_inherited};
pub(crate) use seat::Job;
pub use seat::Seat;

use crate::key::JobKey;
use crate::udp::address::on_one_machine;
use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// Advice for a program that needs MPI and was built without it.
pub const BUILD_WITH_MPI: &str = "To build it with MPI, write `features = [\"mpi\"]` for aurora-spmd in its \
     Cargo.toml, or build it by `cargo build --features aurora-spmd/mpi` (a program of Aurora's own workspace: \
     `--features mpi`); that needs an MPI with its compiler wrapper, and libclang";

/// The way in which the ranks are started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Launch {
    /// This many threads of this process. Rank 0 is the calling thread; its value is returned.
    Threads(usize),
    /// This many processes of this machine. This process is rank 0 and starts the others, which run `main` from its
    /// start. Rank 0's value is returned.
    Processes(usize),
    /// A process started by [`Launch::Processes`], with the contents of [`VARIABLE`], unless [`is_inherited`]. [`run`]
    /// ends the process; it returns only if there is no such job.
    Child(String),
    /// Processes started by an MPI launcher. Each rank returns its own value. An error if MPI reports another size than
    /// the launcher has announced in the environment, or one rank where the announcement names no size: then the
    /// launcher belongs to another MPI, or has not started this process.
    Mpi(Announced),
}

/// The launcher that has started the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// The ranks are threads of this process.
    Threads,
    /// The ranks are processes; rank 0 has started the others on this machine.
    Processes,
    /// An MPI launcher, or a compatible one, has started the ranks.
    Mpi,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Launcher::Threads => "threads",
            Launcher::Processes => "processes",
            Launcher::Mpi => "mpi",
        })
    }
}

/// Options for a job's start and end.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time within which the ranks must return from their bodies after a failure.
    pub grace: Duration,
    /// The network interface. Default: loopback if all ranks run on one machine, otherwise one in a common network.
    pub interface: Option<String>,
    /// The command line for [`Launch::Processes`]. Default: the command line of this process.
    pub arguments: Option<Vec<OsString>>,
}

impl Default for Options {
    fn default() -> Self {
        Options { grace: Duration::from_secs(2), interface: None, arguments: None }
    }
}

/// Starts a job, or joins the job that this process belongs to, and runs `body` on each of its ranks.
///
/// Returns when every rank has left its body. [`Launch`] tells which rank's value is returned.
///
/// # Errors
/// The first failure of any rank, or the reason why the job could not start.
pub fn run<R: Send>(
    launch: Launch,
    options: Options,
    body: impl Fn(Seat) -> Result<R, Failure> + Sync,
) -> Result<R, Failure> {
    match launch {
        Launch::Threads(0) | Launch::Processes(0) => Err(Failure::start("a job has at least one rank")),
        Launch::Threads(size) => threads::run(size, &options, body),
        Launch::Processes(size) => processes::start(size, options, body),
        Launch::Mpi(announced) => mpi::run(&announced, &options, body),
        Launch::Child(ticket) => processes::join(&ticket, options, body),
    }
}

fn no_random(error: getrandom::Error) -> Failure {
    Failure::start(format_args!("no random numbers: {error}"))
}

fn new_key() -> Result<JobKey, Failure> {
    JobKey::random().map_err(no_random)
}

fn address_here(options: &Options) -> Result<IpAddr, Failure> {
    on_one_machine(options.interface.as_deref()).map_err(Failure::start)
}
