//! The configuration of a connection: its job, its peer and its path.

use crate::Rank;
use std::time::Duration;

/// The users of the network between the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Network {
    /// The job alone. The rate is unknown and switches may have short queues; a little loss counts as damage.
    #[default]
    Dedicated,
    /// The job and other users: any loss counts as congestion.
    Shared,
}

/// The competitors of a connection, as its rank sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crowd {
    /// The number of peers that this rank has bulk data for: they share its interface.
    pub destinations: u32,
    /// The number of peers that send bulk data to this rank: they share its switch port.
    pub sources: u32,
}

/// The configuration of one end of a connection.
#[derive(Clone, Debug)]
pub struct Config {
    /// The job's random key. Datagrams without it are dropped.
    pub key: u64,
    /// The rank at this end.
    pub me: Rank,
    /// The rank at the other end.
    pub peer: Rank,
    /// The longest datagram at first, in bytes of UDP payload; at least [`Config::MIN_MTU`]. Longer arriving datagrams
    /// are accepted.
    pub mtu: usize,
    /// The longest datagram to probe for: the one that the interfaces at both ends carry. Not above `mtu`: no probes.
    pub mtu_limit: usize,
    /// The bytes that the peer may have in flight to this rank, in Linux's accounting of receive buffers.
    /// Acknowledgements carry the peer's own value; until the first one, this value is used for both directions.
    pub window: u64,
    /// The network in between; `None` if both ends are on one machine, where only the receive buffer can overflow.
    pub network: Option<Network>,
    /// The number of ranks that can send to the peer.
    pub peers: usize,
    /// The silence after which the peer is lost, counted while something waits for its acknowledgement.
    pub silence: Duration,
}

impl Config {
    /// The smallest `mtu`: room for the longest header of a transfer.
    pub const MIN_MTU: usize = 1200;

    /// The defaults: datagrams for Ethernet (1472 bytes), a window of 256 KiB, silence of 10 s.
    pub fn new(key: u64, me: Rank, peer: Rank) -> Self {
        let mtu = 1472;
        Config {
            key,
            me,
            peer,
            mtu,
            mtu_limit: mtu,
            window: 256 * 1024,
            network: Some(Network::default()),
            peers: 1,
            silence: Duration::from_secs(10),
        }
    }
}
