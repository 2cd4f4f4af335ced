//! Transport between the ranks of an Aurora job: knows bytes, ranks and transfers, nothing of shared vectors.

pub mod bootstrap;
mod endpoint;
mod error;
mod handler;
mod local;
pub mod proto;
mod rank;
mod route;
pub mod sim;
mod traffic;
mod udp;
pub mod wire;

pub use endpoint::Endpoint;
pub use error::Error;
pub use handler::{Handler, MAX_HEADER, Outbox, Outgoing, Payload, Placement, Received, Token};
pub use rank::Rank;
pub use route::Route;
pub use traffic::Traffic;
pub use udp::UdpInfo;
