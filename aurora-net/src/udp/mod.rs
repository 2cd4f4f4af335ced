//! One non-blocking UDP socket per rank, used in batches where Linux supports it.
//!
//! The socket sends by GSO (one call for many datagrams of one length) and receives by `recvmmsg` and GRO where
//! available; `quinn-udp` detects this and falls back. Nothing here is reliable: datagrams that the system refuses are
//! lost. The exception is a full send buffer, which makes the sender wait, and so paces bulk data at the rate of the
//! interface.

pub(crate) mod address;
mod mtu;
mod port;
#[cfg(test)]
mod tests;

pub(crate) use port::{Full, UdpPort};

use std::fmt;
use std::net::SocketAddr;

/// Properties of an endpoint's UDP socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpInfo {
    /// The address that the socket is bound to.
    pub address: SocketAddr,
    /// The receive buffer in bytes, in Linux's accounting, which includes each datagram's overhead.
    pub receive_buffer: usize,
    /// The requested receive buffer.
    pub receive_buffer_wanted: usize,
    /// The send buffer in bytes.
    pub send_buffer: usize,
    /// The longest datagram that the socket sends at first, in bytes.
    pub mtu: usize,
    /// The longest datagram of the interface. The socket sends it once a probe has shown that the path carries it.
    pub mtu_limit: usize,
    /// The maximum number of datagrams of one send call.
    pub gso_segments: usize,
    /// True if Linux joins arriving datagrams (GRO).
    pub gro: bool,
}

impl UdpInfo {
    /// Advice to print if the receive buffer is smaller than requested; otherwise `None`.
    pub fn advice(&self) -> Option<String> {
        (self.receive_buffer < self.receive_buffer_wanted).then(|| {
            format!(
                "the system grants UDP sockets a receive buffer of {} KiB only; bulk transfers are faster with \
                 `sysctl -w net.core.rmem_max={}`",
                self.receive_buffer >> 10,
                // Linux doubles the requested value.
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
