//! A seeded network in virtual time: the protocol's test bench, and a performance measurement that no noisy machine can
//! disturb.
//!
//! [`Network`] carries datagrams between hosts: out of a [`Nic`] with a rate and a send buffer, over a [`Link`] with
//! latency, jitter, loss, duplication, reordering, corruption, an MTU, a rate and a drop-tail queue. [`Cluster`] puts
//! ranks on it, each with its [`Memory`] and a [`Connection`](crate::proto::Connection) to every other, and plays the
//! shell's part. A [`Scenario`] is a bulk operation of many ranks with the time that it takes. The same seed gives the
//! same run.

mod cluster;
mod host;
mod link;
mod memory;
mod network;
mod nic;
mod random;
mod scenario;

pub use cluster::Cluster;
pub use host::{Delivery, Host, LostPeer, Responder};
pub use link::Link;
pub use memory::Memory;
pub use network::{Datagram, Network, Tally};
pub use nic::Nic;
pub use random::Random;
pub use scenario::{Outcome, Pattern, Scenario};
