//! What can go wrong before an endpoint stands.

use crate::bootstrap::{BUILD_WITH_MPI, Failure, Launcher};
use crate::{Bulk, Rank, Route};
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
    MateGone {
        /// The lowest rank of this node.
        rank: Rank,
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
    /// For `map_err` after a system call.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Error {
        move |source| Error::System { doing, source: source.into() }
    }
}
