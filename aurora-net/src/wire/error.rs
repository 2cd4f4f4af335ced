//! Why a datagram was dropped.

use crate::Rank;
use thiserror::Error;

/// A datagram that was counted and dropped. Never fatal: any process may send datagrams, and networks damage packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DatagramError {
    /// Too short for a packet.
    #[error("a datagram of {len} bytes is too short to be a packet")]
    Truncated {
        /// Its length.
        len: usize,
    },
    /// Without this job's key.
    #[error("a datagram without this job's key")]
    ForeignKey,
    /// Not from the address of the rank that it names.
    #[error("a packet of {claimed} from an address that is not its own")]
    ForeignAddress {
        /// The rank that the packet names.
        claimed: Rank,
    },
    /// The checksum is wrong: damaged, or for another rank.
    #[error("a packet with a wrong checksum")]
    Corrupt,
    /// Intact, but not from this connection's peer.
    #[error("a packet of {claimed} on the connection to {peer}")]
    ForeignRank {
        /// The rank that the packet names.
        claimed: Rank,
        /// The connection's peer.
        peer: Rank,
    },
    /// Intact, but with a malformed frame.
    #[error("a packet with a malformed {frame} frame")]
    Malformed {
        /// The kind of frame.
        frame: &'static str,
    },
    /// It would take more memory than the granted window permits. The sender will repeat it.
    #[error("a packet beyond the limit of {limit} {what}")]
    Excess {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The connection's peer is lost.
    #[error("a packet of a peer that has been given up as lost")]
    Lost,
}
