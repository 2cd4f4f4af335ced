//! What can go wrong before an endpoint stands.

use crate::bootstrap::{BUILD_WITH_MPI, Failure, Launcher};
use crate::{Bulk, Rank, Route, limits};
use rustix::io::Errno;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why a rank could not be connected to the others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job has failed in the meantime.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The system refused something that an endpoint cannot do without.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A descriptor could not be had: a socket, shared memory, a pipe, or one that another rank has sent.
    #[error(
        "cannot {doing}: this process may have {allowed} open files, and needs more; allow more before it starts \
         (`ulimit -n`, LimitNOFILE of a service)"
    )]
    OpenFiles {
        /// What was being done.
        doing: &'static str,
        /// How many files, sockets and the like this process may have open (`RLIMIT_NOFILE`).
        allowed: u64,
    },
    /// The memory to be shared is longer than files of this process may be.
    #[error(
        "cannot share memory of {len} bytes: files of this process may have {allowed} bytes, and shared memory counts \
         as a file; allow more before it starts (`ulimit -f`)"
    )]
    FileSize {
        /// Bytes asked for.
        len: usize,
        /// How long a file may be (`RLIMIT_FSIZE`).
        allowed: u64,
    },
    /// A file of the system cannot be read without which nobody knows who shares a machine.
    #[error("cannot read {path}: {source}{}", limits::about_proc(.source))]
    Proc {
        /// The file.
        path: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A socket could not be bound.
    #[error(
        "cannot bind a UDP socket to {address}: {source}; a port in use or an address of another machine? \
         Leave the port to the system, or choose another interface"
    )]
    Bind {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The route asked for does not exist between ranks that were started this way.
    #[error("the route `{route}` does not exist between ranks that the launcher `{launcher}` started; use `udp`")]
    NoRoute {
        /// The route asked for.
        route: Route,
        /// Who started the ranks.
        launcher: Launcher,
    },
    /// MPI is to move bulk data, but the ranks are not MPI's.
    #[error(
        "MPI is to move bulk data (AURORA_BULK=mpi), but the launcher `{launcher}` has started the ranks: start \
         the program with mpirun, or use `auto`. {BUILD_WITH_MPI}"
    )]
    NoMpi {
        /// Who started the ranks.
        launcher: Launcher,
    },
    /// Ranks were told differently what moves bulk data.
    #[error(
        "rank 0 is told that `{first}` moves bulk data, {rank} that `{other}` does: set AURORA_BULK alike for all ranks"
    )]
    BulkDiffers {
        /// What rank 0 is told.
        first: Bulk,
        /// The first rank that is told something else.
        rank: Rank,
        /// What it is told.
        other: Bulk,
    },
    /// A rank shares no memory with this one.
    #[error(
        "the route `shm` does not lead to {rank}: it runs on another machine or in another network namespace; use `auto`"
    )]
    OtherNode {
        /// The rank that cannot be reached.
        rank: Rank,
    },
    /// A rank offers nothing that this one could send to.
    #[error("{rank} offers no address for the route `{route}`: do all ranks ask for the same one?")]
    NoAddress {
        /// The rank that cannot be reached.
        rank: Rank,
        /// The route asked for.
        route: Route,
    },
    /// The system refuses memory that is to be shared.
    #[error("cannot share memory of {len} bytes: {source}")]
    Segment {
        /// Bytes asked for.
        len: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The rank that hands out shared memory on this node has ended, or closed its endpoint; or this one has.
    #[error("{rank} does not share memory any more: it has ended or failed")]
    NodePeerGone {
        /// The lowest rank of this node.
        rank: Rank,
    },
    /// Somebody else is at the place of the rank that hands out shared memory on this node.
    #[error(
        "who answers in the place of {rank} is no rank of this job: has that rank ended, and another process taken the \
         name of its socket?"
    )]
    Impostor {
        /// The lowest rank of this node.
        rank: Rank,
    },
    /// The rank that hands out shared memory on this node does not take connections.
    #[error(
        "{rank}, which shares memory on this machine, takes no connection for {seconds} s: is its process stopped, or \
         do others fill the queue of its unix socket?"
    )]
    NotLetIn {
        /// The lowest rank of this node.
        rank: Rank,
        /// How long this one has waited.
        seconds: u64,
    },
    /// The rank that hands out shared memory on this node has left out a piece that this one waits for.
    #[error("{leader} has shared memory number {next}, but not number {asked}, which this rank waits for")]
    ShareSkipped {
        /// The lowest rank of this node.
        leader: Rank,
        /// What this rank waits for.
        asked: u64,
        /// What has come instead.
        next: u64,
    },
    /// The longest packet asked for is impossible.
    #[error("packets of {asked} bytes are not possible: allow {least} to {most} (AURORA_MTU)")]
    MtuAllowed {
        /// Bytes of an IP packet, as asked for.
        asked: usize,
        /// What Aurora needs.
        least: usize,
        /// What IP permits.
        most: usize,
    },
    /// An interface carries only packets that are too short.
    #[error(
        "the network interface of {address} carries packets of {carried} bytes, but {least} are needed: raise its MTU, \
         or choose another interface (AURORA_INTERFACE)"
    )]
    MtuCarried {
        /// The address that was to be bound.
        address: IpAddr,
        /// Bytes of an IP packet.
        carried: usize,
        /// What Aurora needs.
        least: usize,
    },
    /// No network interface has the name asked for.
    #[error("no network interface is called `{name}`; there are: {known}")]
    NoInterface {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
}

impl Error {
    /// What it is for the job that `rank` could not be connected. That another rank is gone is only heard of: whoever
    /// it happened to says why.
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

    /// The system refuses memory of `len` bytes that is to be shared.
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
