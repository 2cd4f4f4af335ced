//! What a connection is told about its job, its peer and its path.

use crate::Rank;
use std::time::Duration;

/// Who uses the network between the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Network {
    /// This job alone. Its rate is unknown and its switches may have short queues; a little loss counts as damage.
    #[default]
    Dedicated,
    /// Others too: any loss counts as congestion, and we back off.
    Shared,
}

/// Who competes with a connection, as its rank sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crowd {
    /// Peers that we have bulk data for: they share our interface.
    pub destinations: u32,
    /// Peers that are sending us bulk data: they share our port of the switch.
    pub sources: u32,
}

/// One end of the path to one peer, as plain data.
#[derive(Clone, Debug)]
pub struct Config {
    /// The job's random key: a datagram without it is not looked at any further.
    pub key: u64,
    /// The rank at this end.
    pub me: Rank,
    /// The rank at the other end.
    pub peer: Rank,
    /// Longest datagram to send at first, in bytes of UDP payload; at least [`Config::MIN_MTU`]. Longer ones are
    /// understood.
    pub mtu: usize,
    /// Longest datagram that may be tried once there is much to send: what the interfaces at both ends carry. Where
    /// this is not more than `mtu`, nothing is tried.
    pub mtu_limit: usize,
    /// Bytes that the peer may have in flight to us, as a receiving kernel counts them. The peer says the same
    /// of itself in each acknowledgement; until the first one arrives, this value stands for both.
    pub window: u64,
    /// What lies between the two; `None`: nothing, both are on one machine, where only the receiver's buffer can
    /// overflow.
    pub network: Option<Network>,
    /// How many ranks can send to the peer.
    pub peers: usize,
    /// How long the peer may be silent, while something waits for its acknowledgement, before it counts as lost.
    pub silence: Duration,
}

impl Config {
    /// The smallest `mtu`: a packet has room for the longest header of a transfer.
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
