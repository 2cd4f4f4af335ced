//! A host's network interface.

use super::network::FRAMING;
use crate::proto::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// Linux's charge to a socket for a datagram, beyond its bytes.
const OVERHEAD: usize = 832;

/// A host's network interface with the send buffer in front of it. Datagrams leave one after another. The buffer
/// behaves as Linux's: it accepts a whole train while it has any room; once full, the socket becomes writable again
/// when half of the buffer is free.
#[derive(Clone, Debug, Default)]
pub struct Nic {
    /// Bytes per second; `None`: no limit.
    pub rate: Option<u64>,
    /// The send buffer in bytes with Linux's charges: twice the value set by `SO_SNDBUF`; `None`: no limit.
    pub send_buffer: Option<usize>,
    /// The time at which all queued datagrams will have left.
    busy_until: Instant,
    /// For each datagram, the time at which it will have left, and its charge.
    waiting: VecDeque<(Instant, usize)>,
    charged: usize,
}

impl Nic {
    /// An interface of `rate` bytes per second with a send buffer.
    pub fn new(rate: u64, send_buffer: usize) -> Self {
        Nic { rate: Some(rate), send_buffer: Some(send_buffer), ..Nic::default() }
    }

    /// Accepts a datagram of `len` bytes. Returns the time at which its last bit will have left.
    pub(super) fn take(&mut self, now: Instant, len: usize) -> Instant {
        let Some(rate) = self.rate else { return now };
        let nanos = (len + FRAMING) as u64 * 1_000_000_000 / rate;
        self.busy_until = self.busy_until.max(now) + Duration::from_nanos(nanos);
        if self.send_buffer.is_some() {
            self.charged += len + OVERHEAD;
            self.waiting.push_back((self.busy_until, len + OVERHEAD));
        }
        self.busy_until
    }

    /// The time at which the socket will be writable again; `None`: there is room for a train now.
    pub(super) fn full_until(&mut self, now: Instant) -> Option<Instant> {
        let size = self.send_buffer?;
        while let Some(&(_, charge)) = self.waiting.front().filter(|(left, _)| *left <= now) {
            self.charged -= charge;
            self.waiting.pop_front();
        }
        if self.charged < size {
            return None;
        }
        let mut charged = self.charged;
        let room = self.waiting.iter().find(|(_, charge)| {
            charged -= charge;
            2 * charged <= size
        });
        room.map(|(left, _)| *left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000);

    fn at(us: u64) -> Instant {
        START + Duration::from_micros(us)
    }

    #[test]
    fn datagrams_leave_one_after_the_other() {
        let mut nic = Nic::new(100_000_000, 1 << 20);
        assert_eq!(nic.take(START, 934), at(10));
        assert_eq!(nic.take(START, 934), at(20));
        assert_eq!(nic.take(at(30), 434), at(35));
        assert_eq!(Nic::default().take(START, 934), START);
    }

    #[test]
    fn a_full_buffer_is_writable_again_when_half_of_it_is_free() {
        // Ten datagrams are charged 17 660 bytes.
        let mut nic = Nic::new(100_000_000, 17_000);
        for _ in 0..10 {
            assert_eq!(nic.full_until(START), None, "whatever finds any room is taken whole");
            nic.take(START, 934);
        }
        assert_eq!(nic.full_until(START), Some(at(60)));
        assert_eq!(nic.full_until(at(9)), Some(at(60)));
        // A sender that asks without having waited is admitted earlier.
        assert_eq!(nic.full_until(at(10)), None);
    }
}
