//! Blocks, incarnations and modifiers on their way.

use aurora_super::dispatch::Part;
use aurora_super::execute::Task;
use aurora_super::{BlockId, Node};
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Transfer {
    Fetch {
        block: BlockId,
        by: Node,
        from: Node,
    },
    Block {
        block: BlockId,
        to: Node,
        version: u32,
    },
    /// The instructions that the incarnation contains.
    /// The value of a result from before the program, to the node that becomes its host.
    Value {
        block: BlockId,
        to: Node,
    },
    Part {
        part: Part,
        to: Node,
        holds: Vec<u32>,
    },
    /// A modifier, to be merged on the node of the result.
    Modifier {
        task: Task,
        by: Node,
        to: Node,
    },
    Confirmation {
        task: Task,
        to: Node,
    },
}

impl Transfer {
    /// A number for each kind.
    pub fn order(&self) -> u64 {
        let mut into = DefaultHasher::new();
        self.hash(&mut into);
        into.finish()
    }
}
