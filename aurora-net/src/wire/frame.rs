//! The frames of a packet.
//!
//! ```text
//! PADDING 0 | (the rest of the packet)
//! PING    1 |
//! ACK     2 | see `ack.rs`
//! OPEN    3 | transfer u48 | header length u16 | payload's total u48 | length u32 | header | payload from 0 on
//! DATA    4 | transfer u48 | offset u48 | length u32 | payload from offset on
//! RESET   5 | transfer u48
//! ```
//!
//! An OPEN frame contains the transfer's whole header, and as much of the payload as fits.

use super::reader::{Reader, put_u48};
use super::{Ack, DatagramError};
use crate::MAX_HEADER;

const PADDING: u8 = 0;
const PING: u8 = 1;
pub(super) const ACK: u8 = 2;
const OPEN: u8 = 3;
const DATA: u8 = 4;
const RESET: u8 = 5;

/// Length of an OPEN frame before its header.
pub const OPEN_LEN: usize = 1 + 6 + 2 + 6 + 4;
/// Length of a DATA frame before its bytes.
pub const DATA_LEN: usize = 1 + 6 + 6 + 4;
/// Length of a RESET frame.
pub const RESET_LEN: usize = 1 + 6;

/// One frame.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// Asks for an acknowledgement.
    Ping,
    /// Acknowledges packets.
    Ack(Ack<'a>),
    /// A transfer's header and the beginning of its payload.
    Open {
        /// The transfer's number, in the order of OPEN frames.
        transfer: u64,
        /// The header.
        header: &'a [u8],
        /// Length of the whole payload.
        total: u64,
        /// The first bytes of the payload.
        bytes: &'a [u8],
    },
    /// A further part of a payload.
    Data {
        /// The transfer's number.
        transfer: u64,
        /// The position in the payload.
        offset: u64,
        /// The bytes of this part, at least one.
        bytes: &'a [u8],
    },
    /// The sender has abandoned the transfer.
    Reset {
        /// The transfer's number.
        transfer: u64,
    },
}

/// Appends a frame that asks for an acknowledgement.
pub fn put_ping(buf: &mut Vec<u8>) {
    buf.push(PING);
}

/// Appends `len` bytes of padding, as the last frame of a packet.
pub fn put_padding(buf: &mut Vec<u8>, len: usize) {
    buf.resize(buf.len() + len, PADDING);
}

/// Appends an OPEN frame without its payload. The caller appends `len` bytes.
pub fn put_open(buf: &mut Vec<u8>, transfer: u64, header: &[u8], total: u64, len: usize) {
    buf.push(OPEN);
    put_u48(buf, transfer);
    buf.extend_from_slice(&(header.len() as u16).to_le_bytes());
    put_u48(buf, total);
    buf.extend_from_slice(&(len as u32).to_le_bytes());
    buf.extend_from_slice(header);
}

/// Appends a DATA frame without its payload. The caller appends `len` bytes.
pub fn put_data(buf: &mut Vec<u8>, transfer: u64, offset: u64, len: usize) {
    buf.push(DATA);
    put_u48(buf, transfer);
    put_u48(buf, offset);
    buf.extend_from_slice(&(len as u32).to_le_bytes());
}

/// Appends a RESET frame.
pub fn put_reset(buf: &mut Vec<u8>, transfer: u64) {
    buf.push(RESET);
    put_u48(buf, transfer);
}

/// Iterator over the frames of a packet; ends with the first malformed one.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    reader: Reader<'a>,
}

impl<'a> Frames<'a> {
    /// Iterates over [`Packet::frames`](super::Packet::frames).
    pub fn new(frames: &'a [u8]) -> Self {
        Frames { reader: Reader::new(frames) }
    }

    fn open(&mut self) -> Option<Frame<'a>> {
        let transfer = self.reader.u48()?;
        let header_len = usize::from(self.reader.u16()?);
        let total = self.reader.u48()?;
        let len = self.reader.u32()?;
        let header = self.reader.take(header_len)?;
        let bytes = self.reader.take(len as usize)?;
        (header_len <= MAX_HEADER && u64::from(len) <= total).then_some(Frame::Open { transfer, header, total, bytes })
    }

    fn data(&mut self) -> Option<Frame<'a>> {
        let transfer = self.reader.u48()?;
        let offset = self.reader.u48()?;
        let len = self.reader.u32()?;
        let bytes = self.reader.take(len as usize)?;
        (len > 0).then_some(Frame::Data { transfer, offset, bytes })
    }

    fn fail(&mut self, frame: &'static str) -> DatagramError {
        self.reader = Reader::new(&[]);
        DatagramError::Malformed { frame }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, DatagramError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let (frame, name) = match self.reader.u8()? {
            PADDING => return None,
            PING => (Some(Frame::Ping), "PING"),
            ACK => (Ack::parse(&mut self.reader).map(Frame::Ack), "ACK"),
            OPEN => (self.open(), "OPEN"),
            DATA => (self.data(), "DATA"),
            RESET => (self.reader.u48().map(|transfer| Frame::Reset { transfer }), "RESET"),
            _ => (None, "unknown"),
        };
        Some(frame.ok_or_else(|| self.fail(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_survive_the_wire() {
        let mut buf = Vec::new();
        put_ping(&mut buf);
        put_open(&mut buf, 7, b"head", 10, 3);
        assert_eq!(buf.len(), 1 + OPEN_LEN + 4);
        buf.extend_from_slice(b"abc");
        let before = buf.len();
        put_data(&mut buf, 7, 3, 2);
        assert_eq!(buf.len() - before, DATA_LEN);
        buf.extend_from_slice(b"de");
        put_reset(&mut buf, 1 << 40);
        put_padding(&mut buf, 9);

        let frames: Vec<_> = Frames::new(&buf).map(Result::unwrap).collect();
        assert!(matches!(
            frames[..],
            [
                Frame::Ping,
                Frame::Open { transfer: 7, header: b"head", total: 10, bytes: b"abc" },
                Frame::Data { transfer: 7, offset: 3, bytes: b"de" },
                Frame::Reset { transfer: 0x100_0000_0000 },
            ]
        ));
    }

    #[test]
    fn more_payload_than_announced_is_malformed() {
        let mut buf = Vec::new();
        put_open(&mut buf, 0, b"", 2, 3);
        buf.extend_from_slice(b"abc");
        let frames: Vec<_> = Frames::new(&buf).collect();
        assert!(matches!(frames[..], [Err(DatagramError::Malformed { frame: "OPEN" })]));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for frame in Frames::new(&bytes) {
                if let Ok(Frame::Ack(ack)) = frame {
                    prop_assert!(ack.ranges().count() <= 256);
                }
            }
        }

        #[test]
        fn cut_frames_never_panic(cut in 0usize..40) {
            let mut buf = Vec::new();
            put_open(&mut buf, 7, b"header", 100, 10);
            buf.extend_from_slice(&[1; 10]);
            buf.truncate(cut);
            prop_assert!(Frames::new(&buf).all(|frame| frame.is_ok()) == (cut == 0 || cut >= OPEN_LEN + 16));
        }
    }
}
