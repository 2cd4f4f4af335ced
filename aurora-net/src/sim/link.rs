//! The properties of one direction of a path.

use std::time::Duration;

/// One direction of the path between two hosts. Probabilities are per datagram, from 0 to 1.
#[derive(Clone, Debug)]
pub struct Link {
    /// The delay, in addition to the time for sending at [`rate`](Self::rate).
    pub latency: Duration,
    /// The longest additional random delay. The order of datagrams is kept.
    pub jitter: Duration,
    /// The probability of loss.
    pub loss: f64,
    /// The probability of a duplicate, which arrives later.
    pub duplication: f64,
    /// The probability of an additional delay of up to four latencies, which may change the order.
    pub reorder: f64,
    /// The probability of one to three flipped bits.
    pub corruption: f64,
    /// The longest datagram. Longer datagrams are lost.
    pub mtu: usize,
    /// Bytes per second of the receiver's switch port, shared by all senders; `None`: no limit.
    pub rate: Option<u64>,
    /// The queue of the receiver's port in bytes. Datagrams that do not fit are lost.
    pub queue: usize,
    /// False: all datagrams are lost.
    pub up: bool,
}

impl Default for Link {
    /// A perfect link: 50 microseconds for any datagram.
    fn default() -> Self {
        Link {
            latency: Duration::from_micros(50),
            jitter: Duration::ZERO,
            loss: 0.0,
            duplication: 0.0,
            reorder: 0.0,
            corruption: 0.0,
            mtu: 1 << 16,
            rate: None,
            queue: usize::MAX,
            up: true,
        }
    }
}
