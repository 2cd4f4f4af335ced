//! Super-programs on ranks: the API, the runtime and the sequential interpreter. `src/run/README.md` has
//! the design.

mod blocks;
mod dense;
mod granted;
mod index;
mod instruction;
mod job;
mod launch;
mod merge;
mod message;
mod node;
mod object;
mod operand;
mod program;
mod ranks;
#[cfg(test)]
mod replay;
mod report;
mod running;
mod sequential;
mod store;
#[cfg(test)]
mod tests;
mod worker;

pub use blocks::Blocks;
pub use dense::{Csr, Dense};
pub use index::Index;
pub use instruction::{Instruction, Outcome};
pub use launch::{Steps, names};
pub use operand::{At, Block, Merge, Operand, Update, Val};
pub use program::{Super, SuperProgram};
pub use report::{Report, Tally};
