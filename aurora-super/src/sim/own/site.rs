//! A node, with the simulator's record of it.

use super::OwnSetting;
use super::cores::Cores;
use crate::{BlockId, Execute, Instruction, Node, Parts, Product};
use smallvec::SmallVec;
use std::sync::Arc;

/// A node and its cores.
pub(super) struct Site {
    pub(super) execute: Execute<Product>,
    pub(super) cores: Cores,
    pub(super) lost_at: Option<f64>,
    /// The blocks that it has asked for, and the times of the requests.
    asked: SmallVec<[(BlockId, f64); 4]>,
    /// The nodes that it knows to be lost.
    knows_lost: Vec<Node>,
    /// Instructions whose modifiers it has sent, with the receiving nodes, until it knows that they are merged.
    sent: Vec<(Node, Instruction)>,
}

impl Site {
    pub(super) fn new(node: Node, setting: &OwnSetting, parts: &Parts, owners: Arc<[Node]>) -> Self {
        Site {
            execute: Execute::new(node, setting.program, parts, owners, setting.limits),
            cores: Cores::new(setting.cores, setting.profile(node)),
            lost_at: None,
            asked: SmallVec::new(),
            knows_lost: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Records a request for a block. A repeated request changes nothing.
    pub(super) fn ask(&mut self, now: f64, block: BlockId) {
        if self.asked.iter().all(|(other, _)| *other != block) {
            self.asked.push((block, now));
        }
    }

    /// Records the arrival of a block. Returns the time of the request, if this is the first arrival since.
    pub(super) fn answer(&mut self, block: BlockId) -> Option<f64> {
        let at = self.asked.iter().position(|(other, _)| *other == block)?;
        Some(self.asked.swap_remove(at).1)
    }

    pub(super) fn knows_lost(&self, node: Node) -> bool {
        self.knows_lost.contains(&node)
    }

    /// Records that it sends the modifier of an instruction.
    pub(super) fn send(&mut self, to: Node, instruction: Instruction) {
        self.sent.push((to, instruction));
    }

    /// Records that the modifier of an instruction is merged. Returns true if the node waits for that.
    pub(super) fn confirm(&mut self, instruction: Instruction) -> bool {
        let at = self.sent.iter().position(|(_, sent)| *sent == instruction);
        at.map(|at| self.sent.swap_remove(at)).is_some()
    }

    /// Records that it knows of a lost node. Returns the instructions whose modifiers it has sent to that node.
    pub(super) fn learn(&mut self, lost: Node) -> Vec<Instruction> {
        self.knows_lost.push(lost);
        let (gone, rest) = std::mem::take(&mut self.sent).into_iter().partition::<Vec<_>, _>(|(to, _)| *to == lost);
        self.sent = rest;
        gone.into_iter().map(|(_, instruction)| instruction).collect()
    }
}
