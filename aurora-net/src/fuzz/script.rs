//! What happens to a connection, as bytes.

/// Something that happens; each begins with a byte of its own. Numbers are little endian, whatever is missing at the
/// end is 0, lengths are cut to what there is.
#[derive(Clone, Debug)]
pub enum Op<'a> {
    /// `0, len u16, bytes`: a datagram as it comes.
    Raw(&'a [u8]),
    /// `1, number u16, distance u16, len u16, bytes`: a packet of the peer with these frames.
    Sealed {
        /// Of the packet.
        number: u16,
        /// To the oldest that is asked about.
        distance: u16,
        /// Perhaps not well-formed.
        frames: &'a [u8],
    },
    /// `2, flaw u8, len u16, bytes`: the same, but not of this peer, for this rank, of this job, or intact.
    Flawed {
        /// Which of these.
        flaw: u8,
        /// What it carries.
        frames: &'a [u8],
    },
    /// `3, number u8, count u8, count x (kind u8, transfer u8, size u16, len u8)`: a packet of well-formed frames.
    Built {
        /// How far above the last one.
        number: u8,
        /// Five bytes each.
        frames: &'a [u8],
    },
    /// `4, u16`: so many milliseconds pass.
    Pass(u16),
    /// `5, u8, u16`: we send a transfer, its payload lent or not, of so many bytes.
    Send {
        /// Lent memory.
        lent: bool,
        /// Length of the payload.
        len: u16,
    },
    /// `6, u8, u16`: so does the peer.
    PeerSends {
        /// To be placed.
        placed: bool,
        /// Length of the payload.
        len: u16,
    },
    /// `7, u8, u8`: what the peer has sent reaches us, and ours the peer, each if its bit is set; the rest is lost.
    Exchange {
        /// To us.
        here: u8,
        /// To the peer.
        there: u8,
    },
    /// `8, u8`: one of our lent payloads is taken away.
    Withdraw(u8),
    /// `9, u8, u8`: how many peers we send to and hear from.
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
    /// Appends it to a script.
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
