//! The protocol core, without I/O.

mod config;
mod connection;
mod counters;
mod error;
mod event;
mod instant;

pub use config::Config;
pub use connection::Connection;
pub use counters::Counters;
pub use error::DatagramError;
pub use event::{Event, Payloads, TransferId, Transmit};
pub use instant::Instant;

use crate::Rank;

/// Whom a datagram claims to be from: what a shell needs to find the connection. Looks at the key before anything
/// else; the rest is checked by [`Connection::handle_datagram`].
///
/// # Errors
/// [`DatagramError::Truncated`] and [`DatagramError::ForeignKey`].
pub fn sender_of(key: u64, datagram: &[u8]) -> Result<Rank, DatagramError> {
    let truncated = DatagramError::Truncated {
        len: datagram.len(),
    };
    let (claimed, rest) = datagram.split_first_chunk().ok_or(truncated)?;
    if u64::from_le_bytes(*claimed) != key {
        return Err(DatagramError::ForeignKey);
    }
    let (rank, _) = rest.split_first_chunk().ok_or(truncated)?;
    Ok(Rank::new(u32::from_le_bytes(*rank) as usize))
}
