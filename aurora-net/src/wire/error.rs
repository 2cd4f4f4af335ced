//! Why a datagram was not used.

use crate::Rank;
use thiserror::Error;

/// A datagram that is counted and dropped. Never fatal: anybody can send us anything, and networks damage packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DatagramError {
    /// Too short to be ours.
    #[error("a datagram of {len} bytes is too short to be a packet")]
    Truncated {
        /// Its length.
        len: usize,
    },
    /// Not of this job.
    #[error("a datagram without this job's key")]
    ForeignKey,
    /// Of this job, but not from where the rank that it names is.
    #[error("a packet of {claimed} from an address that is not its own")]
    ForeignAddress {
        /// Who the packet says it is from.
        claimed: Rank,
    },
    /// The checksum is wrong: damaged on the way, or meant for another rank.
    #[error("a packet with a wrong checksum")]
    Corrupt,
    /// Intact, but not from this connection's peer.
    #[error("a packet of {claimed} on the connection to {peer}")]
    ForeignRank {
        /// Who the packet says it is from.
        claimed: Rank,
        /// Who it should have been.
        peer: Rank,
    },
    /// Intact, but its frames make no sense.
    #[error("a packet with a malformed {frame} frame")]
    Malformed {
        /// Which.
        frame: &'static str,
    },
    /// Would take more memory than the granted window allows for; the sender tries again.
    #[error("a packet beyond the limit of {limit} {what}")]
    Excess {
        /// Of what there would be too much.
        what: &'static str,
        /// How much there may be.
        limit: usize,
    },
    /// The connection has given its peer up.
    #[error("a packet of a peer that has been given up as lost")]
    Lost,
}
