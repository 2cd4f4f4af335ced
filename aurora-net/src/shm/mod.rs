//! Memory shared by the ranks of one node: discovery, descriptor passing, and transfers. `README.md` has the design.

mod acceptor;
mod barrier;
mod buffer_pool;
mod control;
mod descriptor_passing;
mod discovery;
mod doorbell;
mod duplex;
mod handshake;
mod mailbox;
mod node;
mod node_barrier;
mod ring;
mod segment;
mod spin_budget;
mod spread;
#[cfg(test)]
mod tests;

pub(crate) use buffer_pool::{BUFFER, BufferPool};
pub(crate) use control::{Control, NodeRank, Presence};
pub(crate) use discovery::{Found, Offer, ShmContact};
pub(crate) use doorbell::Look;
pub(crate) use duplex::{Duplex, Sent};
pub(crate) use spin_budget::SpinBudget;

pub use barrier::{BarrierEntry, BarrierMemory, BarrierState};
pub use buffer_pool::{SharedBuffer, SharedView};
pub use mailbox::{LetterCount, MailboxReceiver, MailboxSender};
pub use node::Node;
pub use node_barrier::NodeBarrier;
pub use segment::{Segment, Words};
