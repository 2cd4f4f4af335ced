//! Scripts: operations on a connection, encoded as bytes.

/// An operation. Each kind begins with a byte of its own. Numbers are little endian. Missing bytes at the end are 0,
/// and lengths are limited to the bytes that exist.
#[derive(Clone, Debug)]
pub enum Op<'a> {
    /// `0, len u16, bytes`: a datagram.
    Raw(&'a [u8]),
    /// `1, number u16, distance u16, len u16, bytes`: a packet of the peer with these frames.
    Sealed {
        /// The packet's number.
        number: u16,
        /// The distance to its floor.
        distance: u16,
        /// The frames, possibly malformed.
        frames: &'a [u8],
    },
    /// `2, flaw u8, len u16, bytes`: a packet like `Sealed`, but with a flaw in its envelope.
    Flawed {
        /// The flaw: see `flawed`.
        flaw: u8,
        /// The frames.
        frames: &'a [u8],
    },
    /// `3, number u8, count u8, count x (kind u8, transfer u8, size u16, len u8)`: a packet of well-formed frames.
    Built {
        /// The increment of the packet number.
        number: u8,
        /// Five bytes per frame.
        frames: &'a [u8],
    },
    /// `4, u16`: this many milliseconds pass.
    Pass(u16),
    /// `5, u8, u16`: we send a transfer.
    Send {
        /// True: the payload is lent.
        lent: bool,
        /// Length of the payload.
        len: u16,
    },
    /// `6, u8, u16`: the peer sends a transfer.
    PeerSends {
        /// True: the payload is placed.
        placed: bool,
        /// Length of the payload.
        len: u16,
    },
    /// `7, u8, u8`: datagrams in flight arrive if their bit is set; the others are lost.
    Exchange {
        /// The bits of datagrams to us.
        here: u8,
        /// The bits of datagrams to the peer.
        there: u8,
    },
    /// `8, u8`: one of our lent payloads is withdrawn.
    Withdraw(u8),
    /// `9, u8, u8`: the numbers of peers that we send to and receive from.
    Crowd(u8, u8),
}

/// Iterator over the operations of a script.
#[derive(Clone, Debug)]
pub(super) struct Script<'a>(pub(super) &'a [u8]);

impl<'a> Script<'a> {
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.u16());
        self.take(len)
    }
}

impl<'a> Iterator for Script<'a> {
    type Item = Op<'a>;

    fn next(&mut self) -> Option<Op<'a>> {
        if self.0.is_empty() {
            return None;
        }
        Some(match self.u8() % 10 {
            0 => Op::Raw(self.bytes()),
            1 => Op::Sealed { number: self.u16(), distance: self.u16(), frames: self.bytes() },
            2 => Op::Flawed { flaw: self.u8(), frames: self.bytes() },
            3 => {
                let (number, count) = (self.u8(), usize::from(self.u8()));
                Op::Built { number, frames: self.take(5 * count) }
            }
            4 => Op::Pass(self.u16()),
            5 => Op::Send { lent: self.u8() % 2 == 1, len: self.u16() },
            6 => Op::PeerSends { placed: self.u8() % 2 == 1, len: self.u16() },
            7 => Op::Exchange { here: self.u8(), there: self.u8() },
            8 => Op::Withdraw(self.u8()),
            _ => Op::Crowd(self.u8(), self.u8()),
        })
    }
}

impl Op<'_> {
    /// Appends the operation to a script.
    pub fn write(&self, script: &mut Vec<u8>) {
        let mut sized = |head: &[u8], bytes: &[u8]| {
            script.extend_from_slice(head);
            script.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            script.extend_from_slice(bytes);
        };
        let low_high = |number: u16| number.to_le_bytes();
        match *self {
            Op::Raw(bytes) => sized(&[0], bytes),
            Op::Sealed { number, distance, frames } => {
                let ([a, b], [c, d]) = (low_high(number), low_high(distance));
                sized(&[1, a, b, c, d], frames);
            }
            Op::Flawed { flaw, frames } => sized(&[2, flaw], frames),
            Op::Built { number, frames } => {
                script.extend_from_slice(&[3, number, (frames.len() / 5) as u8]);
                script.extend_from_slice(frames);
            }
            Op::Pass(millis) => script.extend([4].into_iter().chain(low_high(millis))),
            Op::Send { lent, len } => script.extend([5, u8::from(lent)].into_iter().chain(low_high(len))),
            Op::PeerSends { placed, len } => script.extend([6, u8::from(placed)].into_iter().chain(low_high(len))),
            Op::Exchange { here, there } => script.extend_from_slice(&[7, here, there]),
            Op::Withdraw(which) => script.extend_from_slice(&[8, which]),
            Op::Crowd(destinations, sources) => script.extend_from_slice(&[9, destinations, sources]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let ops = [
            Op::Raw(b"raw"),
            Op::Sealed { number: 300, distance: 2, frames: b"frames" },
            Op::Flawed { flaw: 1, frames: b"" },
            Op::Built { number: 1, frames: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
            Op::Pass(1000),
            Op::Send { lent: true, len: 4000 },
            Op::PeerSends { placed: false, len: 1 },
            Op::Exchange { here: 0xfe, there: 0xff },
            Op::Withdraw(3),
            Op::Crowd(4, 5),
        ];
        let mut script = Vec::new();
        ops.iter().for_each(|op| op.write(&mut script));
        let read: Vec<_> = Script(&script).collect();
        assert_eq!(format!("{read:?}"), format!("{ops:?}"));
    }
}
