//! A node, with the simulator's record of it.

use super::OwnSetting;
use super::cores::Cores;
use crate::{BlockId, Execute, Node, Parts, Product};
use smallvec::SmallVec;
use std::sync::Arc;

/// A node and its cores.
pub(super) struct Site {
    pub(super) execute: Execute<Product>,
    pub(super) cores: Cores,
    pub(super) lost_at: Option<f64>,
    /// The blocks that it has asked for, and the times of the requests.
    asked: SmallVec<[(BlockId, f64); 4]>,
}

impl Site {
    pub(super) fn new(node: Node, setting: &OwnSetting, parts: &Parts, owners: Arc<[Node]>) -> Self {
        Site {
            execute: Execute::new(node, setting.program, parts, owners, setting.limits),
            cores: Cores::new(setting.cores, setting.profile(node)),
            lost_at: None,
            asked: SmallVec::new(),
        }
    }

    /// Records how many instructions wait for operands from now on.
    pub(super) fn wait(&mut self, now: f64) {
        self.cores.wait(now, self.execute.waiting());
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
}
