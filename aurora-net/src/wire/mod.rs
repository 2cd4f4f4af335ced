//! Bytes to values and back; no state.
//!
//! A datagram is one packet, everything little endian:
//!
//! ```text
//! key u64 | sender u32 | packet number u48 | distance u16 | frames ... | CRC32C u32
//! ```
//!
//! 24 bytes around the frames. The *distance* says how far below this packet's number the sender's oldest packet
//! is whose fate it does not know yet: nothing below that need be acknowledged any more. The checksum starts from the
//! number of the rank that the packet is for, so that a datagram that reaches the wrong rank does not pass.

mod ack;
mod error;
mod frame;
mod packet;
mod reader;

pub use ack::{Ack, AckRanges, MAX_ACK_LEN, MAX_ACK_RANGES, put_ack};
pub use error::DatagramError;
pub use frame::{DATA_LEN, Frame, Frames, OPEN_LEN, RESET_LEN, put_data, put_open, put_padding, put_ping, put_reset};
pub use packet::{CHECKSUM, OVERHEAD, Packet, PacketNumber, begin, open, seal, sender_of};
