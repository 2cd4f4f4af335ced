//! The protocol core: reliable whole transfers between two ranks, without sockets, threads or clocks.
//!
#![doc = include_str!("README.md")]

mod acks;
mod assembler;
mod config;
mod connection;
mod counters;
mod event;
mod instant;
mod links;
mod outgoing;
mod path_mtu;
mod range_set;
mod receive;
mod recovery;
mod rounds;
mod rtt;
mod send_queue;
mod sent;
mod silence;
mod slots;
mod space;
#[cfg(test)]
mod tests;
mod timers;
mod turns;
mod window;

pub use config::{Config, Crowd, Network};
pub use connection::Connection;
pub use counters::Counters;
pub use event::{Event, Payloads, TransferId, Transmit};
pub use instant::Instant;
pub use links::{Links, Trains};

pub use crate::wire::{DatagramError, sender_of};
