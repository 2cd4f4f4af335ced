//! The lengths of socket buffers, and each peer's share of them.

use super::mtu::Mtu;
use crate::charge::charge;

/// The receive buffer to request. Linux doubles it and charges each datagram's overhead to it.
pub(super) const RECEIVE: usize = 4 << 20;

/// The send buffer on a real interface. It is small, so that a full interface queue is noticed here and not in a
/// switch, and small transfers do not wait long behind bulk data. Linux doubles it and charges each packet's overhead:
/// room for 8 packets of 9000 bytes, which take 4 ms at 155 Mbit/s.
pub(super) const SEND: usize = 64 << 10;

/// The largest useful number of bytes in flight to one peer.
const LARGEST_WINDOW: u64 = 1 << 20;

/// The bytes that each of `peers` may have in flight to a socket with `receive_buffer` bytes (in Linux's accounting):
/// together half of it, at least two datagrams each.
pub(super) fn window(receive_buffer: usize, peers: usize, mtu: Mtu) -> u64 {
    let share = (receive_buffer / 2 / peers.max(1)) as u64;
    let two = 2 * charge(mtu.base) as u64;
    share.clamp(two, LARGEST_WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETHERNET: Mtu = Mtu { base: 1472, limit: 8972 };

    #[test]
    fn all_peers_together_fit_half_the_buffer() {
        for peers in 1..200 {
            let window = window(8 << 20, peers, ETHERNET);
            assert!(window * peers as u64 <= 4 << 20 && window >= 4864, "{peers}: {window}");
        }
        assert_eq!(window(8 << 20, 1, ETHERNET), 1 << 20);
        assert_eq!(window(4096, 100, ETHERNET), 4864);
    }
}
