//! Routes between ranks.

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

/// A kind of connection between two ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Route {
    /// A queue between threads of one process.
    Local,
    /// Rings in memory shared by ranks of one node.
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

/// The transport configuration of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transport {
    /// The route; `None`: the best one to each rank, which is the first possible one in the order of [`Route`].
    pub route: Option<Route>,
    /// The silence after which a peer is lost ([`Handler::peer_lost`](crate::Handler::peer_lost)), counted while
    /// something waits for its acknowledgement.
    pub silence: Duration,
    /// The users of the network: this job alone, or others too.
    pub network: Network,
    /// The carrier of bulk data between nodes.
    pub bulk: Bulk,
    /// For tests: the shortest payload that MPI moves, if MPI was requested; `None`: where it pays.
    #[doc(hidden)]
    pub mpi_from: Option<usize>,
    /// The longest IP packet in bytes, within [`Transport::MTU`]; `None`: as the path permits. On the loopback
    /// interface, which carries all lengths, this is the length of full packets.
    pub mtu: Option<usize>,
    /// For tests: simulates nodes of this many ranks each on one machine.
    #[doc(hidden)]
    pub ranks_per_node: Option<usize>,
    /// The receive buffer to request, in bytes; `None`: as much as bulk data can use.
    pub receive_buffer: Option<usize>,
}

impl Transport {
    /// The possible values of `mtu`: from the longest header of a transfer to the limit of IP.
    pub const MTU: RangeInclusive<usize> = Config::MIN_MTU + HEADERS..=65_535;
}

impl Default for Transport {
    /// The best route, 5 s of silence, a dedicated network, packets and buffers as long as useful.
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

/// The addresses of a rank. Ranks exchange them when the job starts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Contact {
    /// The rank's queue; never leaves the process.
    #[serde(skip)]
    pub local: Option<LocalAddress>,
    pub udp: Option<UdpContact>,
    pub shm: Option<ShmContact>,
    /// The rank's leader, sent in the second exchange, after discovery.
    pub leader: Option<Rank>,
    /// The rank's plan for bulk data: MPI, UDP or a probe.
    pub bulk: Bulk,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct UdpContact {
    pub address: SocketAddr,
    /// The bytes that each sender may have in flight to this rank.
    pub window: u64,
    /// The longest datagram of the rank's interface, in bytes of UDP payload.
    pub mtu: usize,
}
