//! How bytes get from one rank to another.

use crate::Rank;
use crate::bulk::Bulk;
use crate::charge::HEADERS;
use crate::local::LocalAddress;
use crate::proto::{Config, Network};
use crate::shm::ShmContact;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

/// A way from one rank to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Route {
    /// A queue in memory: the ranks are threads of one process.
    Local,
    /// Rings in shared memory: the ranks run on one node.
    Shm,
    /// UDP datagrams.
    Udp,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Route::Local => "local",
            Route::Shm => "shm",
            Route::Udp => "udp",
        })
    }
}

/// How a rank talks to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transport {
    /// By which way; `None`: the best one that reaches each, which is the first that does, in the order of [`Route`]s.
    pub route: Option<Route>,
    /// How long a peer may be silent, while something waits for its acknowledgement, before
    /// [`Handler::peer_lost`](crate::Handler::peer_lost) is said of it.
    pub silence: Duration,
    /// Who uses the network.
    pub network: Network,
    /// What moves the bulk of the data between nodes.
    pub bulk: Bulk,
    /// For tests: from how many bytes on MPI moves a transfer where it is told to; where it pays, if not said.
    #[doc(hidden)]
    pub mpi_from: Option<usize>,
    /// The longest IP packet to send, in bytes, one of [`Transport::MTU`]; `None`: as long as the path is found to
    /// carry. On the loopback interface, which carries all of them, the length of full packets.
    pub mtu: Option<usize>,
    /// For tests of jobs on several machines: takes ranks of this one for those of several, so many on each.
    #[doc(hidden)]
    pub ranks_per_node: Option<usize>,
    /// Receive buffer to ask the system for, in bytes; `None`: as much as bulk data can use.
    pub receive_buffer: Option<usize>,
}

impl Transport {
    /// What `mtu` may be: room for the longest header of a transfer, up to what IP itself permits.
    pub const MTU: RangeInclusive<usize> = Config::MIN_MTU + HEADERS..=65_535;
}

impl Default for Transport {
    /// The best route, 5 s, a network of our own, packets and buffers as large as useful.
    fn default() -> Self {
        Transport {
            route: None,
            silence: Duration::from_secs(5),
            network: Network::default(),
            bulk: Bulk::default(),
            mpi_from: None,
            mtu: None,
            ranks_per_node: None,
            receive_buffer: None,
        }
    }
}

/// Where a rank can be reached; exchanged when the job starts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Contact {
    /// Its queue; does not leave the process.
    #[serde(skip)]
    pub local: Option<LocalAddress>,
    /// Its socket, with what a sender has to know about it.
    pub udp: Option<UdpContact>,
    /// How the ranks of its node find it.
    pub shm: Option<ShmContact>,
    /// The lowest rank of its node; told in a second exchange, where anybody can be found in the first.
    pub leader: Option<Rank>,
    /// Whether it will let MPI move bulk data, or probe that.
    pub bulk: Bulk,
}

/// A socket and what a sender has to know about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct UdpContact {
    /// Where it is bound.
    pub address: SocketAddr,
    /// Bytes that each of the others may have in flight to it.
    pub window: u64,
    /// Longest datagram that its interface carries, in bytes of UDP payload.
    pub mtu: usize,
}
