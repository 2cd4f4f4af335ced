//! The assembly of one incoming transfer.

use super::Payloads;
use super::range_set::RangeSet;
use crate::handler::Destination;
use crate::wire::DatagramError;
use crate::{Placement, Rank, Received};
use bytes::Bytes;

/// A transfer whose header has arrived, but not all of its payload.
#[derive(Debug)]
pub(super) struct Assembler {
    header: Bytes,
    total: u64,
    missing: u64,
    received: RangeSet,
    /// A buffer grows with the bytes that arrive, not with the announced length.
    destination: Destination,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// At least one byte was new.
    New,
    /// All bytes had arrived before.
    Redundant,
    Complete,
}

#[derive(Debug)]
pub(super) struct Finished {
    pub(super) header: Bytes,
    pub(super) payload: Received,
    pub(super) size: u64,
}

impl Assembler {
    /// Asks the handler for the place of the payload (not empty). `reserve`: the maximum memory to reserve at once.
    pub(super) fn new(from: Rank, header: &[u8], total: u64, reserve: u64, io: &mut impl Payloads) -> Self {
        Assembler {
            header: Bytes::copy_from_slice(header),
            total,
            missing: total,
            received: RangeSet::default(),
            destination: match io.place(from, header, total as usize) {
                Placement::Buffer => Destination::Buffer(io.buffer(total.min(reserve) as usize)),
                Placement::At(token) => Destination::At(token),
            },
        }
    }

    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// Memory reserved beyond the bytes that have arrived.
    pub(super) fn reserved(&self) -> u64 {
        match &self.destination {
            Destination::Buffer(buffer) => (buffer.capacity() as u64).saturating_sub(self.total - self.missing),
            Destination::At(_) => 0,
        }
    }

    /// Memory for bytes that have been overtaken by later ones.
    pub(super) fn gaps(&self) -> u64 {
        match &self.destination {
            Destination::Buffer(buffer) => (buffer.len() as u64).saturating_sub(self.total - self.missing),
            Destination::At(_) => 0,
        }
    }

    pub(super) fn memory(&self) -> u64 {
        match &self.destination {
            Destination::Buffer(buffer) => buffer.capacity() as u64,
            Destination::At(_) => 0,
        }
    }

    /// Stores received bytes, each only the first time. Refuses bytes beyond the end, more separate pieces than
    /// `pieces`, and bytes that lie behind a gap and more than `ahead` beyond the bytes that have arrived. A sender
    /// that keeps to its window causes none of these errors.
    pub(super) fn write(
        &mut self,
        offset: u64,
        bytes: &[u8],
        pieces: usize,
        ahead: u64,
        io: &mut impl Payloads,
    ) -> Result<Progress, DatagramError> {
        let range = offset..offset + bytes.len() as u64;
        if range.end > self.total {
            return Err(DatagramError::Malformed { frame: "DATA" });
        }
        if bytes.is_empty() {
            return Ok(Progress::Redundant);
        }
        if self.received.len() >= pieces && self.received.would_grow(&range) {
            return Err(DatagramError::Excess { what: "pieces", limit: pieces });
        }
        if let Destination::Buffer(buffer) = &mut self.destination
            && offset > buffer.len() as u64
        {
            if range.end > self.total - self.missing + ahead {
                return Err(DatagramError::Excess { what: "bytes ahead", limit: ahead as usize });
            }
            buffer.resize(offset as usize, 0);
        }
        let mut new = 0;
        let destination = &mut self.destination;
        self.received.insert(range, |part| {
            new += part.end - part.start;
            let piece = &bytes[(part.start - offset) as usize..(part.end - offset) as usize];
            match destination {
                Destination::At(token) => io.write(*token, part.start as usize, piece),
                Destination::Buffer(buffer) => put(buffer, part.start as usize, piece),
            }
        });
        self.missing -= new;
        Ok(match (self.missing, new) {
            (0, _) => Progress::Complete,
            (_, 0) => Progress::Redundant,
            _ => Progress::New,
        })
    }

    pub(super) fn finish(self) -> Finished {
        let size = self.header.len() as u64 + self.total;
        Finished { header: self.header, payload: self.destination.into_received(), size }
    }
}

/// Writes `piece` at `at`, which is not beyond the end of `buffer`. The buffer grows if necessary.
fn put(buffer: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let (inside, beyond) = piece.split_at(piece.len().min(buffer.len() - at));
    buffer[at..at + inside.len()].copy_from_slice(inside);
    buffer.extend_from_slice(beyond);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Memory;

    const PIECES: usize = 4;
    const AHEAD: u64 = 1000;

    fn assembler(io: &mut Memory, header: &[u8], total: u64) -> Assembler {
        Assembler::new(Rank::new(1), header, total, 64, io)
    }

    #[test]
    fn pieces_in_any_order_and_overlapping_make_the_whole() {
        for (header, placed) in [(b"buffer".as_slice(), false), (b"place".as_slice(), true)] {
            let mut io = Memory::default();
            let mut assembler = assembler(&mut io, header, 10);
            let mut write = |offset: u64, bytes: &[u8]| assembler.write(offset, bytes, PIECES, AHEAD, &mut io).unwrap();
            assert_eq!(write(6, b"ghij"), Progress::New);
            assert_eq!(write(7, b"hi"), Progress::Redundant);
            assert_eq!(write(1, b"bcd"), Progress::New);
            assert_eq!(write(0, b"abcdefgh"), Progress::Complete);
            match assembler.finish().payload {
                Received::Placed(token) => {
                    assert!(placed);
                    assert_eq!(io.placed(token), b"abcdefghij");
                    assert_eq!(io.written, 10, "each byte once");
                }
                payload => assert!(!placed && payload.bytes() == b"abcdefghij"),
            }
        }
    }

    #[test]
    fn announcing_much_takes_no_memory() {
        let mut io = Memory::default();
        let mut assembler = assembler(&mut io, b"buffer", 1 << 47);
        assert!(assembler.reserved() <= 64);
        let far = assembler.write(1 << 40, b"x", PIECES, AHEAD, &mut io);
        assert!(matches!(far, Err(DatagramError::Excess { .. })));
        let beyond = assembler.write(1 << 47, b"x", PIECES, AHEAD, &mut io);
        assert!(matches!(beyond, Err(DatagramError::Malformed { .. })));
    }

    #[test]
    fn pieces_are_limited() {
        let mut io = Memory::default();
        let mut assembler = assembler(&mut io, b"buffer", 100);
        let mut results = (0..10).map(|i| assembler.write(2 * i, b"x", PIECES, AHEAD, &mut io));
        assert!(results.by_ref().take(PIECES).all(|result| result == Ok(Progress::New)));
        assert!(results.all(|result| result.is_err()));
        let joining = assembler.write(1, b"x", PIECES, AHEAD, &mut io);
        assert_eq!(joining, Ok(Progress::New), "what joins two pieces is welcome");
    }
}
