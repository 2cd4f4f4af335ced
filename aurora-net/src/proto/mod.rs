//! The protocol core, without I/O.

mod config;
mod connection;
mod counters;
mod event;
mod instant;

pub use config::Config;
pub use connection::Connection;
pub use counters::Counters;
pub use event::{Event, Payloads, TransferId, Transmit};
pub use instant::Instant;

pub use crate::wire::{DatagramError, sender_of};
