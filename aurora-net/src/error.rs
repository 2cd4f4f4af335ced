//! The errors of connecting a rank.

use crate::bootstrap::{BUILD_WITH_MPI, Failure, Launcher};
use crate::{Bulk, Rank, Route, limits};
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The reasons why a rank could not connect to the others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job has failed meanwhile.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The system refused a necessary call.
    #[error("cannot {doing}: {source}{}", limits::of_refusing(.source))]
    System {
        /// The refused action, in words.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused a process or a thread.
    #[error("cannot {doing}: {source}{}", limits::of_starting(.source))]
    Starting {
        /// The refused action, in words.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A descriptor was refused: for a socket, shared memory, a pipe, or one sent by another rank.
    #[error(
        "cannot {doing}: this process may have {allowed} open files, and needs more; allow more before it starts \
         (`ulimit -n`, LimitNOFILE of a service)"
    )]
    OpenFiles {
        /// The refused action, in words.
        doing: &'static str,
        /// The limit of open files of this process (`RLIMIT_NOFILE`).
        allowed: u64,
    },
    /// The shared memory would exceed the limit of the file size.
    #[error(
        "cannot share memory of {len} bytes: files of this process may have {allowed} bytes, and shared memory counts \
         as a file; allow more before it starts (`ulimit -f`)"
    )]
    FileSize {
        /// Requested length in bytes.
        len: usize,
        /// The limit of the file size (`RLIMIT_FSIZE`).
        allowed: u64,
    },
    /// A system file that tells machines apart cannot be read.
    #[error("cannot read {path}: {source}{}", limits::about_proc(.source))]
    Proc {
        /// The file.
        path: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The UDP socket could not be bound.
    #[error(
        "cannot bind a UDP socket to {address}: {source}; a port in use or an address of another machine? \
         Leave the port to the system, or choose another interface"
    )]
    Bind {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The requested route does not exist between ranks started in this way.
    #[error("the route `{route}` does not exist between ranks that the launcher `{launcher}` started; use `udp`")]
    NoRoute {
        /// The requested route.
        route: Route,
        /// The launcher that has started the ranks.
        launcher: Launcher,
    },
    /// MPI was requested for bulk data, but has not started the ranks.
    #[error(
        "MPI is to move bulk data (AURORA_BULK=mpi), but the launcher `{launcher}` has started the ranks: start \
         the program with mpirun, or use `auto`. {BUILD_WITH_MPI}"
    )]
    NoMpi {
        /// The launcher that has started the ranks.
        launcher: Launcher,
    },
    /// Ranks have different settings for bulk data.
    #[error(
        "rank 0 is set to move bulk data by `{first}`, {rank} by `{other}`: set AURORA_BULK to one value for all ranks"
    )]
    BulkDiffers {
        /// The setting of rank 0.
        first: Bulk,
        /// The first rank with another setting.
        rank: Rank,
        /// The setting of that rank.
        other: Bulk,
    },
    /// A rank shares no memory with this one.
    #[error(
        "the route `shm` does not lead to {rank}: it runs on another machine or in another network namespace; use \
         `auto`"
    )]
    OtherNode {
        /// The rank that cannot be reached.
        rank: Rank,
    },
    /// A rank has no address on a permitted route.
    #[error("{rank} offers no address for the route `{route}`: do all ranks use the same route?")]
    NoAddress {
        /// The rank that cannot be reached.
        rank: Rank,
        /// The requested route.
        route: Route,
    },
    /// The system refused shared memory.
    #[error("cannot share memory of {len} bytes: {source}{}", limits::of_sharing(.source))]
    Segment {
        /// Requested length in bytes.
        len: usize,
        /// The system's error.
        source: io::Error,
    },
    /// The leader of this node has ended or closed its endpoint, or this rank has closed its own.
    #[error("{rank} no longer shares memory: it has ended or failed")]
    NodePeerGone {
        /// The lowest rank of this node.
        rank: Rank,
    },
    /// The process at the leader's socket does not belong to the job.
    #[error(
        "the process at the socket of {rank} does not belong to this job: has that rank ended, and another process \
         taken its socket's name?"
    )]
    Impostor {
        /// The lowest rank of this node.
        rank: Rank,
    },
    /// The leader of this node does not accept connections.
    #[error(
        "{rank}, the leader of this node, has accepted no connection for {seconds} s: is its process stopped, or do \
         other processes fill the queue of its unix socket?"
    )]
    NotLetIn {
        /// The lowest rank of this node.
        rank: Rank,
        /// The time that this rank has waited, in seconds.
        seconds: u64,
    },
    /// The leader of this node has skipped a call that this rank has made.
    #[error("{leader} has shared memory with id {next}, but skipped id {asked}, which this rank waits for")]
    ShareSkipped {
        /// The lowest rank of this node.
        leader: Rank,
        /// The id of this rank's call.
        asked: u64,
        /// The id of the leader's next call.
        next: u64,
    },
    /// The requested packet length is not possible.
    #[error("packets of {asked} bytes are not valid: set AURORA_MTU to a number from {least} to {most}")]
    MtuAllowed {
        /// Requested length of an IP packet in bytes.
        asked: usize,
        /// The minimum length that Aurora needs.
        least: usize,
        /// The maximum length that IP permits.
        most: usize,
    },
    /// The interface's packets are too short.
    #[error(
        "the network interface of {address} carries packets of {carried} bytes, but {least} are needed: raise its MTU, \
         or choose another interface (AURORA_INTERFACE)"
    )]
    MtuCarried {
        /// The address to bind.
        address: IpAddr,
        /// The longest IP packet of the interface, in bytes.
        carried: usize,
        /// The minimum length that Aurora needs.
        least: usize,
    },
    /// No network interface has the requested name.
    #[error("no network interface is called `{name}`; there are: {known}")]
    NoInterface {
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
    },
}

impl Error {
    /// The failure of a job whose `rank` could not connect. If a node peer is gone, the peer's failure is the origin.
    pub fn into_failure(self, rank: Rank) -> Failure {
        match self {
            Error::Failed(failure) => failure,
            gone @ Error::NodePeerGone { .. } => Failure::of(rank, gone).heard(),
            error => Failure::of(rank, error),
        }
    }

    /// For `map_err` after a system call.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Error {
        move |source| {
            let source = source.into();
            match limits::open_files(&source) {
                Some(allowed) => Error::OpenFiles { doing, allowed },
                None => Error::System { doing, source },
            }
        }
    }

    /// For `map_err` after starting a process or a thread.
    pub(crate) fn starting(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| match limits::open_files(&source) {
            Some(allowed) => Error::OpenFiles { doing, allowed },
            None => Error::Starting { doing, source },
        }
    }

    /// For `map_err` after creating or mapping shared memory of `len` bytes.
    pub(crate) fn segment(len: usize) -> impl FnOnce(io::Error) -> Error {
        move |source| {
            let too_long = source.raw_os_error() == Some(Errno::FBIG.raw_os_error());
            match (limits::open_files(&source), limits::file_size(len).filter(|_| too_long)) {
                (Some(allowed), _) => Error::OpenFiles { doing: "share memory", allowed },
                (None, Some(allowed)) => Error::FileSize { len, allowed },
                (None, None) => Error::Segment { len, source },
            }
        }
    }
}
