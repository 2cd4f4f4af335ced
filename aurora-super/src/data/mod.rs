//! Blocks and their states (S0 section 2).

mod block;
mod state;

pub use block::{Block, NotAllowed};
pub use state::{Event, Privilege, State, Use, next};
