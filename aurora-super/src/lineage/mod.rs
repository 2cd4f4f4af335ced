//! The lineage of results: for each incarnation, the instructions whose results it contains.
//!
//! An *incarnation* is the value, or a partial result, of a block on one node. Every committed instruction of a group
//! is in exactly one of the group's incarnations. So after a loss of nodes, the instructions to execute again are known
//! exactly: those in the lost incarnations.

mod runs;

pub use runs::Runs;

use crate::{Node, Range};

/// The incarnations of one group's result, each with the instructions that made it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Lineage {
    incarnations: Vec<Incarnation>,
}

/// One incarnation of a group's result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Incarnation {
    /// The node that has it.
    pub node: Node,
    /// The instructions whose results are in it.
    pub holds: Runs,
}

impl Lineage {
    /// Returns the incarnations. The others are merged into the first one.
    pub fn incarnations(&self) -> &[Incarnation] {
        &self.incarnations
    }

    /// Returns the node of the first incarnation.
    pub fn first(&self) -> Option<Node> {
        self.incarnations.first().map(|one| one.node)
    }

    /// Adds an incarnation on a node and returns true, unless the node has one already.
    pub fn join(&mut self, node: Node) -> bool {
        let is_new = self.find(node).is_none();
        if is_new {
            self.incarnations.push(Incarnation { node, holds: Runs::default() });
        }
        is_new
    }

    /// Records that the incarnation of a node contains the results of these instructions.
    ///
    /// # Panics
    /// If the node has no incarnation, or its incarnation contains one of the instructions already: a bug of this
    /// crate.
    pub fn commit(&mut self, node: Node, run: Range) {
        let own = self.incarnations.iter_mut().find(|one| one.node == node).expect("an incarnation");
        assert!(own.holds.add(run), "an instruction is committed once");
    }

    /// Merges the incarnation of a node into the first one, which then contains the instructions of both.
    ///
    /// # Panics
    /// If the node has no incarnation, or has the first one: a bug of this crate.
    pub fn merge(&mut self, node: Node) {
        let at = self.find(node).filter(|at| *at > 0).expect("a second incarnation");
        let merged = self.incarnations.remove(at);
        assert!(self.incarnations[0].holds.merge(&merged.holds), "an instruction is in one incarnation");
    }

    /// Removes the lost incarnation of a node, and returns the instructions that it contained. `None` if the node has
    /// none.
    pub fn lose(&mut self, node: Node) -> Option<Runs> {
        self.find(node).map(|at| self.incarnations.remove(at).holds)
    }

    fn find(&self, node: Node) -> Option<usize> {
        self.incarnations.iter().position(|one| one.node == node)
    }
}
