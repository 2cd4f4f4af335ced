//! Selective acknowledgements.
//!
//! ```text
//! largest u48 | delay u32 (ns) | window u32 | sources u16 | count u8 | length u16 | count x (gap u16, length u16)
//! ```
//!
//! Ranges descend from the largest packet number. A length is that of a range; a gap is the number of missing packets
//! between two ranges. Values beyond 16 bits are clipped: an acknowledgement may report less than has arrived.

use super::reader::{Reader, put_u48};
use super::{PacketNumber, frame::ACK};
use std::ops::Range;
use std::time::Duration;

/// The maximum number of ranges in a frame, which limits the frame's length.
pub const MAX_ACK_RANGES: usize = 32;

/// An acknowledgement of packets that have arrived.
#[derive(Clone, Debug)]
pub struct Ack<'a> {
    /// The largest of their numbers.
    pub largest: PacketNumber,
    /// The time between the arrival of packet `largest` and this acknowledgement.
    pub delay: Duration,
    /// The bytes that the peer may have in flight.
    pub window: u32,
    /// The number of peers that are sending bulk data to the acknowledging rank.
    pub sources: u16,
    first: u16,
    rest: &'a [u8],
}

/// The maximum length of the frame.
pub const MAX_ACK_LEN: usize = 1 + 6 + 4 + 4 + 2 + 1 + 2 + 4 * (MAX_ACK_RANGES - 1);

/// Appends an acknowledgement of `ranges`: at least one, disjoint, not touching, the highest first.
pub fn put_ack(
    buf: &mut Vec<u8>,
    delay: Duration,
    window: u64,
    sources: u32,
    mut ranges: impl Iterator<Item = Range<u64>>,
) {
    let Some(first) = ranges.next() else { return };
    let start = buf.len();
    buf.push(ACK);
    put_u48(buf, first.end - 1);
    let delay = u32::try_from(delay.as_nanos()).unwrap_or(u32::MAX);
    buf.extend_from_slice(&delay.to_le_bytes());
    let window = u32::try_from(window).unwrap_or(u32::MAX);
    buf.extend_from_slice(&window.to_le_bytes());
    let sources = u16::try_from(sources).unwrap_or(u16::MAX);
    buf.extend_from_slice(&sources.to_le_bytes());
    let count_at = buf.len();
    buf.push(0);
    let length = clip(&first);
    buf.extend_from_slice(&length.to_le_bytes());
    let mut below = first.end - u64::from(length);
    for range in ranges.take(MAX_ACK_RANGES - 1) {
        let Ok(gap) = u16::try_from(below - range.end) else {
            break;
        };
        let length = clip(&range);
        buf.extend_from_slice(&gap.to_le_bytes());
        buf.extend_from_slice(&length.to_le_bytes());
        buf[count_at] += 1;
        below = range.end - u64::from(length);
    }
    debug_assert!(buf.len() - start <= MAX_ACK_LEN);
}

fn clip(range: &Range<u64>) -> u16 {
    u16::try_from(range.end - range.start).unwrap_or(u16::MAX)
}

impl<'a> Ack<'a> {
    /// Reads the bytes after the type byte. `None`: malformed.
    pub(super) fn parse(reader: &mut Reader<'a>) -> Option<Self> {
        let largest = PacketNumber(reader.u48()?);
        let delay = Duration::from_nanos(u64::from(reader.u32()?));
        let window = reader.u32()?;
        let sources = reader.u16()?;
        let count = usize::from(reader.u8()?);
        let first = reader.u16()?;
        let rest = reader.take(4 * count)?;
        let ack = Ack { largest, delay, window, sources, first, rest };
        // Checked once here, so that `ranges` need not check.
        ack.is_sound().then_some(ack)
    }

    /// The ranges, highest first.
    pub fn ranges(&self) -> AckRanges<'a> {
        AckRanges { end: self.largest.0 + 1, length: Some(self.first), rest: Reader::new(self.rest) }
    }

    fn is_sound(&self) -> bool {
        let mut below = self.largest.0 + 1;
        let mut length = self.first;
        let mut rest = Reader::new(self.rest);
        loop {
            if length == 0 || below < u64::from(length) {
                return false;
            }
            below -= u64::from(length);
            let Some(gap) = rest.u16() else { return true };
            if below < u64::from(gap) {
                return false;
            }
            below -= u64::from(gap);
            length = rest.u16().unwrap_or(0);
        }
    }
}

/// Iterator over the ranges of an [`Ack`], highest first.
#[derive(Clone, Debug)]
pub struct AckRanges<'a> {
    end: u64,
    length: Option<u16>,
    rest: Reader<'a>,
}

impl Iterator for AckRanges<'_> {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        let length = u64::from(self.length?);
        let range = self.end - length..self.end;
        self.length = self.rest.u16().and_then(|gap| {
            self.end = range.start - u64::from(gap);
            self.rest.u16()
        });
        Some(range)
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    fn round_trip(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut buf = Vec::new();
        let delay = Duration::from_micros(7);
        put_ack(&mut buf, delay, 1 << 20, 7, ranges.iter().cloned());
        let ack = Ack::parse(&mut Reader::new(&buf[1..])).unwrap();
        assert_eq!(ack.delay, delay);
        assert_eq!((ack.window, ack.sources), (1 << 20, 7));
        ack.ranges().collect()
    }

    #[test]
    fn ranges_survive_the_wire() {
        for ranges in [vec![0..1], vec![9..10, 3..8, 0..2], vec![70_000..70_001]] {
            assert_eq!(round_trip(&ranges), ranges);
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_not_wrong() {
        assert_eq!(round_trip(&[100..200_000]), [134_465..200_000]);
        assert_eq!(round_trip(&[200_000..200_001, 5..6]), [200_000..200_001]);
        let many: Vec<_> = (0..100).rev().map(|i| 3 * i..3 * i + 1).collect();
        assert_eq!(round_trip(&many), many[..MAX_ACK_RANGES]);
    }

    #[test]
    fn nonsense_is_refused() {
        let fixed = |largest: u8, first: u8, count: u8| {
            let mut bytes = vec![largest, 0, 0, 0, 0, 0];
            bytes.extend([0; 10]);
            bytes.extend([count, first, 0]);
            bytes
        };
        let parse = |bytes: &[u8]| Ack::parse(&mut Reader::new(bytes)).is_some();
        assert!(parse(&fixed(4, 5, 0)));
        assert!(!parse(&fixed(4, 6, 0)), "a range that starts below zero");
        assert!(!parse(&fixed(4, 0, 0)), "an empty range");
        assert!(!parse(&fixed(4, 5, 1)), "a range that is not there");
        let mut gap = fixed(4, 2, 1);
        gap.extend([4, 0, 1, 0]);
        assert!(!parse(&gap), "a gap down to below zero");
    }
}
