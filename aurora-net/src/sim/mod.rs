//! A seeded network in virtual time, for tests of the protocol and for reproducible performance measurements.
//!
//! [`Network`] carries datagrams between hosts: from a [`Nic`] with a rate and a send buffer, over a [`Link`] with
//! latency, jitter, loss, duplication, reordering, corruption, an MTU, a rate and a drop-tail queue. [`Cluster`]
//! connects ranks, each with its [`Memory`] and a [`Connection`](crate::proto::Connection) to every other, and drives
//! them. A [`Scenario`] measures a bulk operation of many ranks. Equal seeds give equal runs.

mod cluster;
mod host;
mod link;
mod memory;
mod network;
mod nic;
mod scenario;

pub use cluster::Cluster;
pub use host::{Delivery, Host, LostPeer, Responder};
pub use link::Link;
pub use memory::Memory;
pub use network::{Datagram, Network, Tally};
pub use nic::Nic;
pub use scenario::{Outcome, Pattern, Scenario};
