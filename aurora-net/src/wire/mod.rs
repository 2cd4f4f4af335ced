//! The encoding of packets, without state.
//!
//! A datagram is one packet, in little endian:
//!
//! ```text
//! key u64 | sender u32 | packet number u48 | distance u16 | frames ... | CRC32C u32
//! ```
//!
//! A packet has 24 bytes besides its frames. The *distance* is the difference between this packet's number and that of
//! the sender's oldest packet in flight: lower numbers need no acknowledgement. The checksum includes the receiving
//! rank, so a datagram that reaches the wrong rank is dropped.

mod ack;
mod error;
mod frame;
mod packet;
mod reader;

pub use ack::{Ack, AckRanges, MAX_ACK_LEN, MAX_ACK_RANGES, put_ack};
pub use error::DatagramError;
pub use frame::{DATA_LEN, Frame, Frames, OPEN_LEN, RESET_LEN, put_data, put_open, put_padding, put_ping, put_reset};
pub use packet::{CHECKSUM, OVERHEAD, Packet, PacketNumber, begin, open, seal, sender_of};
