//! The protocol core: reliable transfers between two ranks, without sockets, threads or clocks.
#![doc = include_str!("README.md")]

mod acks;
mod assembler;
mod config;
mod connection;
mod connections;
mod counters;
mod event;
mod instant;
mod outgoing;
mod path_mtu;
mod range_set;
mod receive;
mod recovery;
mod round_robin;
mod rtt;
mod scheduler;
mod send_queue;
mod sent;
mod silence;
mod slots;
mod space;
#[cfg(test)]
mod tests;
mod timers;
mod window;

pub use config::{Config, Crowd, Network};
pub use connection::Connection;
pub use connections::{Connections, Trains};
pub use counters::Counters;
pub use event::{Event, Payloads, TransferId, Transmit};
pub use instant::Instant;
pub(crate) use instant::earlier;

pub use crate::wire::{DatagramError, sender_of};
