//! The loss of a peer, and the known part of the network in it.

use crate::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The loss of a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// The time of the peer's silence while something waited for its acknowledgement; zero if the peer has died.
    pub silent_for: Duration,
    /// The cause in the network, if this rank knows one.
    pub trouble: Option<UdpTrouble>,
}

impl Loss {
    /// The peer has died.
    pub const DEATH: Loss = Loss::silent_for(Duration::ZERO);

    /// The peer has been silent.
    pub const fn silent_for(silent_for: Duration) -> Self {
        Loss { silent_for, trouble: None }
    }
}

/// The reason why UDP does not reach a peer, as far as a rank can see. Its text includes advice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UdpTrouble {
    /// The system refuses to send to the peer, or to receive.
    Refused {
        /// The rank whose calls the system refuses.
        rank: Rank,
        /// The network interface of the rank, and its address.
        interface: String,
        /// The address of the peer; `None` if the system refuses to receive.
        to: Option<SocketAddr>,
        /// The number of calls that have failed since the last one that succeeded.
        calls: u64,
        /// The number of the system's error.
        errno: i32,
    },
    /// No datagram of the peer has ever arrived.
    NeverHeard {
        /// The rank that has received nothing from the peer.
        rank: Rank,
        /// The network interface of this rank and its address.
        interface: String,
        /// The address of the peer.
        to: SocketAddr,
    },
}

impl fmt::Display for UdpTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UdpTrouble::Refused { rank, interface, to, calls, errno } => {
                let error = io::Error::from_raw_os_error(*errno);
                match to {
                    Some(to) => write!(f, "{rank} cannot send UDP datagrams to {to}")?,
                    None => write!(f, "{rank} cannot receive UDP datagrams")?,
                }
                write!(f, " by {interface}: {calls} calls in a row have failed, with `{error}`; ")?;
                f.write_str("allow UDP in the firewall of its machine, bring the interface up")?;
            }
            UdpTrouble::NeverHeard { rank, interface, to } => {
                write!(f, "no UDP datagram has ever come to {rank} from {to} by {interface}; ")?;
                f.write_str("if its process is not stopped, allow UDP in the firewalls of both machines")?;
            }
        }
        f.write_str(", or choose another interface (AURORA_INTERFACE)")
    }
}
