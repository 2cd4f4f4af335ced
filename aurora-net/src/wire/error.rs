//! The reasons for dropping a datagram.

use crate::Rank;
use thiserror::Error;

/// A datagram that was counted and dropped. Never fatal: any process may send datagrams, and networks damage packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DatagramError {
    /// The datagram is too short for a packet.
    #[error("a datagram of {len} bytes is too short to be a packet")]
    Truncated {
        /// The length in bytes.
        len: usize,
    },
    /// The datagram does not carry this job's key.
    #[error("a datagram without this job's key")]
    ForeignKey,
    /// The datagram does not come from the address of the rank that it names.
    #[error("a packet of {claimed} from an address that is not its own")]
    ForeignAddress {
        /// The rank that the packet names.
        claimed: Rank,
    },
    /// The checksum is wrong: the datagram is damaged, or is for another rank.
    #[error("a packet with a wrong checksum")]
    Corrupt,
    /// The datagram is intact, but not from this connection's peer.
    #[error("a packet of {claimed} on the connection to {peer}")]
    ForeignRank {
        /// The rank that the packet names.
        claimed: Rank,
        /// The connection's peer.
        peer: Rank,
    },
    /// The datagram is intact, but has a malformed frame.
    #[error("a packet with a malformed {frame} frame")]
    Malformed {
        /// The kind of frame.
        frame: &'static str,
    },
    /// The packet would take more memory than the granted window permits. The sender will repeat its data.
    #[error("a packet beyond the limit of {limit} {what}")]
    Excess {
        /// The limited items, in words.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The connection's peer is lost.
    #[error("a packet of a peer that has been given up as lost")]
    Lost,
}
