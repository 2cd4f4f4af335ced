//! What one direction of a path does to datagrams.

use std::time::Duration;

/// One direction of the path between two hosts. Probabilities are from 0 to 1 and for each datagram.
#[derive(Clone, Debug)]
pub struct Link {
    /// Time on the way, beside that of sending at [`rate`](Self::rate).
    pub latency: Duration,
    /// Up to so much more, at random; keeps the order.
    pub jitter: Duration,
    /// Lost.
    pub loss: f64,
    /// Arrives twice, the second time later.
    pub duplication: f64,
    /// Arrives late, by up to four latencies: overtaken by others.
    pub reorder: f64,
    /// Arrives with one to three bits flipped.
    pub corruption: f64,
    /// Longer datagrams are lost.
    pub mtu: usize,
    /// Bytes a second of the switch's port to the receiver, which all its senders share; `None`: no limit.
    pub rate: Option<u64>,
    /// Bytes that this port can queue; what comes when it is full is lost.
    pub queue: usize,
    /// A link that is down loses everything.
    pub up: bool,
}

impl Default for Link {
    /// A perfect link: 50 microseconds, whatever is sent.
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
