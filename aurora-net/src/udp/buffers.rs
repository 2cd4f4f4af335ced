//! How much a socket may hold, and what part of it each peer may fill.

use super::mtu::Mtu;
use crate::charge::charge;

/// Receive buffer to ask for. The kernel doubles it, and charges datagrams with what they cost it.
pub(super) const RECEIVE: usize = 4 << 20;

/// Send buffer on a real interface: small, so that a full interface queue is felt here and not in a switch, and that
/// what is small and urgent does not wait long behind bulk data. The kernel doubles it, and charges packets with what
/// they cost it: room for 8 packets of 9000 bytes, which an interface of 155 Mbit/s needs 4 ms for.
pub(super) const SEND: usize = 64 << 10;

/// No peer needs more in flight to be fast.
const LARGEST_WINDOW: u64 = 1 << 20;

/// The bytes that each of `peers` may have in flight to a socket with `receive_buffer` bytes (as the kernel counts):
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
