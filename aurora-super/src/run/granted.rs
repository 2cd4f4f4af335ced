//! A launch as the scheduler sees it.

use super::launch::{Launch, Resolved};
use super::operand::Arg;
use crate::{BlockId, Group, Instruction, Program, Updates};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A launch, and the operands of the instructions that a rank has been granted and has not begun. The operand closure
/// is code of the program, so a worker calls it for a grant before the scheduler hears of the grant.
#[cfg_attr(test, derive(Clone))]
pub(super) struct Granted {
    pub(super) launch: Arc<Launch>,
    pub(super) operands: HashMap<Instruction, Resolved>,
}

impl Granted {
    /// No instruction has been granted.
    pub(super) fn none(launch: Arc<Launch>) -> Self {
        Granted { launch, operands: HashMap::new() }
    }
}

impl Program for Granted {
    type Inputs = SmallVec<[BlockId; 4]>;

    fn grid(&self) -> (u32, u32) {
        self.launch.grid()
    }

    fn len(&self, group: Group) -> u32 {
        self.launch.len(group)
    }

    fn result(&self, group: Group) -> BlockId {
        self.launch.result(group)
    }

    fn inputs(&self, instruction: Instruction) -> SmallVec<[BlockId; 4]> {
        let Resolved { args, result } = &self.operands[&instruction];
        let block = |(at, arg): (usize, &Arg)| match arg {
            Arg::Block(place) if at != *result => Some(place.block),
            _ => None,
        };
        args.iter().enumerate().filter_map(block).collect()
    }

    fn updates(&self) -> Updates {
        self.launch.updates()
    }

    /// A worker checks operands when it resolves them, so the dispatcher needs none.
    fn follows_reads(&self) -> bool {
        false
    }

    fn blocks(&self) -> u32 {
        self.launch.arrays().blocks()
    }

    fn place(&self, block: BlockId) -> ([u32; 2], [u32; 2]) {
        let array = self.launch.arrays().of(block);
        let (number, [rows, columns]) = (block - array.blocks.start, array.matrix);
        ([number / columns, number % columns], [rows, columns])
    }
}
