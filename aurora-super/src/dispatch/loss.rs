//! The loss of a node: results that only the lost node had are made again, once.

use super::Dispatch;
use super::message::{Order, Run};
use super::node::Member;
use crate::data::{Event, Privilege};
use crate::policy::Pace;
use crate::{Group, Node, Program};

impl<P: Program> Dispatch<P> {
    /// Handles the loss of a node and of all that it had. All other nodes get an [`Order::Lost`]. A node that is lost
    /// already, or that does not exist, is ignored. If all nodes are lost there is no order, and incomplete results
    /// stay incomplete.
    ///
    /// A complete result that only the lost node had is made again too: [`is_done`](Dispatch::is_done) may be false
    /// again.
    pub fn lose(&mut self, lost: Node) {
        if self.members.get(lost as usize).is_none_or(Member::is_lost) {
            return;
        }
        let outstanding = self.change(lost, Member::lose);
        self.lost.add(lost);
        self.weights.lose(lost);
        self.waiting.retain(|node| *node != lost);
        self.stepping.retain(|node| *node != lost);
        self.chooser.lose(lost);
        for run in outstanding {
            self.give_back(&run);
        }
        for group in 0..self.program.groups() {
            if self.program.len(group) > 0 {
                self.lose_part(group, lost);
            }
        }
        let alive: Vec<Node> = (0..self.parts.nodes()).filter(|node| !self.members[*node as usize].is_lost()).collect();
        for block in self.blocks.iter_mut().filter(|block| block.host() == lost) {
            // A block that is read is made again there, with the same value.
            if let Some(host) = self.lost.host(lost) {
                block.float(host);
            }
        }
        self.orders.retain(|(node, _)| *node != lost);
        self.orders.extend(alive.into_iter().map(|node| (node, Order::Lost(lost))));
        self.retry();
        if self.config.policy.pace == Pace::Steps {
            self.step();
        }
    }

    /// Takes back granted instructions that will not be committed.
    fn give_back(&mut self, what: &Run) {
        self.apply_to_inputs(what, Event::Commit);
        let result = self.program.result(what.group);
        match self.groups.give_back(what.group, what.run.clone()) {
            Privilege::Write if self.groups.outstanding(what.group) > 0 => {}
            Privilege::Write => self.apply(result, Event::Commit),
            _ => what.run.clone().for_each(|_| self.apply(result, Event::Commit)),
        }
        self.note_left(what.group);
    }

    /// Returns a lost node's part of a group's result to the instructions that are to be granted.
    fn lose_part(&mut self, group: Group, lost: Node) {
        let (result, len) = (self.program.result(group), self.program.len(group));
        let is_first = match self.groups.lineage(group) {
            Some(lineage) => lineage.first() == Some(lost),
            None => self.groups.is_complete(group) && self.blocks[result as usize].host() == lost,
        };
        let was_whole = self.groups.is_committed(group, len);
        if is_first && self.groups.privilege(group) == Some(Privilege::RemoteUpdate) {
            // Modifiers of other nodes for its incarnation are lost too.
            for node in 0..self.members.len() {
                for run in self.members[node].revoke(group) {
                    self.give_back(&run);
                }
            }
        }
        if let Some(lineage) = self.groups.lineage(group) {
            if !lineage.incarnations().iter().any(|part| part.node == lost) {
                return;
            }
            self.groups.lose(group, lost);
        } else if !is_first {
            return;
        }
        if self.groups.lineage(group).is_none_or(|lineage| lineage.incarnations().is_empty()) {
            self.blocks[result as usize].lose(lost);
            self.groups.begin_again(group, len);
            self.chooser.restore(group);
        } else if was_whole && is_first && self.groups.is_committed(group, len) {
            // The other incarnations were to be merged into it, and it contained no instruction itself.
            self.bring_together(group);
        }
        self.note_left(group);
    }
}
