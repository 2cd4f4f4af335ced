//! Datagrams in and out: one non-blocking socket per rank, in batches where the kernel offers it.
//!
//! Sending goes through GSO (one call, many datagrams of one size) and receiving through `recvmmsg` and GRO where there
//! is such a thing; `quinn-udp` finds out and falls back by itself. Nothing here is reliable: what the system does not
//! take is lost, as it might be on the wire, except that a full send buffer makes us wait; that wait is what clocks
//! bulk data to the rate of the network interface.

pub(crate) mod address;
mod buffers;
mod mtu;
mod port;
#[cfg(test)]
mod tests;

pub(crate) use port::{Full, UdpPort};

use std::fmt;
use std::net::SocketAddr;

/// What an endpoint's socket has got from the system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpInfo {
    /// Where it is bound.
    pub address: SocketAddr,
    /// Its receive buffer in bytes, as the kernel counts: with what a datagram costs beside its contents.
    pub receive_buffer: usize,
    /// What was asked for.
    pub receive_buffer_wanted: usize,
    /// Its send buffer in bytes.
    pub send_buffer: usize,
    /// Longest datagram that it sends at first, in bytes.
    pub mtu: usize,
    /// Longest datagram that its interface carries: as long as they get where the path is found to carry them.
    pub mtu_limit: usize,
    /// Datagrams that one call can send.
    pub gso_segments: usize,
    /// Whether the kernel joins arriving datagrams.
    pub gro: bool,
}

impl UdpInfo {
    /// What to do about a receive buffer smaller than we asked for, if it is.
    pub fn advice(&self) -> Option<String> {
        (self.receive_buffer < self.receive_buffer_wanted).then(|| {
            format!(
                "the system grants UDP sockets a receive buffer of {} KiB only; bulk transfers are faster with \
                 `sysctl -w net.core.rmem_max={}`",
                self.receive_buffer >> 10,
                // The kernel doubles what is asked for, for its own bookkeeping.
                self.receive_buffer_wanted / 2,
            )
        })
    }
}

impl fmt::Display for UdpInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, buffers {} KiB in, {} KiB out, datagrams of {} to {} bytes, GSO {}, GRO {}",
            self.address,
            self.receive_buffer >> 10,
            self.send_buffer >> 10,
            self.mtu,
            self.mtu_limit,
            self.gso_segments,
            if self.gro { "on" } else { "off" },
        )
    }
}
