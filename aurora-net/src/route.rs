//! How bytes get from one rank to another.

use crate::local::LocalAddress;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;

/// A way from one rank to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Route {
    /// A queue in memory: the ranks are threads of one process.
    Local,
    /// UDP datagrams.
    Udp,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Route::Local => "local",
            Route::Udp => "udp",
        })
    }
}

/// Where a rank can be reached; exchanged once, when the job starts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Contact {
    /// Its queue; does not leave the process.
    #[serde(skip)]
    pub local: Option<LocalAddress>,
    /// Its socket, with what a sender has to know about it.
    pub udp: Option<UdpContact>,
}

/// A socket and what a sender has to know about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct UdpContact {
    /// Where it is bound.
    pub address: SocketAddr,
    /// Bytes that each of the others may have in flight to it.
    pub window: u64,
}
