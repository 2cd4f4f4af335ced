//! Transport between the ranks of an Aurora job: knows bytes, ranks and transfers, nothing of shared vectors.

mod handler;
pub mod proto;
mod rank;
pub mod sim;
pub mod wire;

pub use handler::{Handler, MAX_HEADER, Outbox, Outgoing, Payload, Placement, Received, Token};
pub use rank::Rank;
