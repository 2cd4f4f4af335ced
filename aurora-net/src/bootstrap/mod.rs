//! How the ranks of a job come to be, find each other, and end together.
//!
//! [`run`] takes a body and calls it once per rank with a [`Seat`]. Whoever starts the ranks, the rules are the same:
//!
//! - A rank leaves by returning from the body. An error, a panic, death, or `exit` inside the body is a [`Failure`] of
//!   the job; the first one is the job's.
//! - The others are told ([`Seat::on_failure`]) and have [`Options::grace`] to return from their bodies.

#[cfg(any(feature = "mpi", test))]
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

pub use failure::Failure;
pub use panic::capture;
pub use processes::VARIABLE;
pub(crate) use seat::Job;
pub use seat::Seat;

use crate::key::JobKey;
use crate::udp::address::on_one_machine;
use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// What to do with a program that was built without MPI and needs it.
pub const BUILD_WITH_MPI: &str = "To build it with MPI, write `features = [\"mpi\"]` beside aurora-core in its Cargo.toml, or build it by \
     `cargo build --features aurora-core/mpi` (a program of Aurora's own workspace: `--features mpi`); that needs an MPI with its compiler \
     wrapper, and libclang";

/// Who starts the ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Launch {
    /// So many threads of this process; rank 0 is the calling one, and its value is returned.
    Threads(usize),
    /// So many processes of this machine: this one is rank 0, its value is returned, and it starts the others. They
    /// run `main` again from its start.
    Processes(usize),
    /// A process that another one's [`Launch::Processes`] has started, with the contents of [`VARIABLE`]. [`run`] ends
    /// the process; it returns only if there is no such job.
    Child(String),
    /// Processes that an MPI launcher has started; each rank's value is its own. Where MPI sees another size than that
    /// launcher has announced in the environment, it is another MPI's.
    Mpi {
        /// How many ranks the launcher says that there are.
        announced_size: Option<usize>,
    },
}

/// Who has started the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Launcher {
    /// They are threads of this process.
    Threads,
    /// Rank 0 started the others on this machine.
    Processes,
    /// MPI, or what speaks its start-up protocol.
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

/// What can be chosen about a job's start and end.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long the ranks have to return from their bodies after one has failed.
    pub grace: Duration,
    /// The network interface to use. Where none is given: the loopback interface if all ranks run on one machine, else
    /// one whose network all of them share.
    pub interface: Option<String>,
    /// The command line of the processes that [`Launch::Processes`] starts; this process's own where none is given.
    pub arguments: Option<Vec<OsString>>,
}

impl Default for Options {
    fn default() -> Self {
        Options { grace: Duration::from_secs(2), interface: None, arguments: None }
    }
}

/// Starts a job, or joins the one that this process belongs to, and runs `body` on each of its ranks.
///
/// Returns when every rank has left its body; see [`Launch`] for whose value.
///
/// # Errors
/// The first failure of any rank, or why the job could not start.
pub fn run<R: Send>(
    launch: Launch,
    options: Options,
    body: impl Fn(Seat) -> Result<R, Failure> + Sync,
) -> Result<R, Failure> {
    match launch {
        Launch::Threads(0) | Launch::Processes(0) => Err(Failure::start("a job has at least one rank")),
        Launch::Threads(size) => threads::run(size, &options, body),
        Launch::Processes(size) => processes::start(size, options, body),
        Launch::Mpi { announced_size } => mpi::run(announced_size, &options, body),
        Launch::Child(ticket) => processes::join(&ticket, options, body),
    }
}

fn no_random(error: getrandom::Error) -> Failure {
    Failure::start(format_args!("no random numbers: {error}"))
}

fn new_key() -> Result<JobKey, Failure> {
    JobKey::random().map_err(no_random)
}

/// Where to bind the sockets of ranks that all run on this machine.
fn address_here(options: &Options) -> Result<IpAddr, Failure> {
    on_one_machine(options.interface.as_deref()).map_err(Failure::start)
}
