//! What made which incarnation: the instructions whose results are in it.
//!
//! Every committed instruction of a group is in exactly one of the group's incarnations. So when nodes are lost, what
//! has to be executed again is known exactly: what the lost incarnations held.

mod runs;

pub use runs::Runs;

use crate::{Node, Range};

/// The incarnations of one group's result, each with the instructions that made it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Lineage {
    incarnations: Vec<Incarnation>,
}

/// One incarnation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Incarnation {
    /// Where it is.
    pub node: Node,
    /// The instructions whose results are in it.
    pub holds: Runs,
}

impl Lineage {
    /// The incarnations; the first is the one that the others are merged into.
    pub fn incarnations(&self) -> &[Incarnation] {
        &self.incarnations
    }

    /// The node of the first incarnation.
    pub fn first(&self) -> Option<Node> {
        self.incarnations.first().map(|one| one.node)
    }

    /// A node gets an incarnation, unless it has one. Whether it did.
    pub fn join(&mut self, node: Node) -> bool {
        let is_new = self.find(node).is_none();
        if is_new {
            self.incarnations.push(Incarnation { node, holds: Runs::default() });
        }
        is_new
    }

    /// The result of these instructions is now in the incarnation of a node.
    ///
    /// # Panics
    /// If the node has none, or one of them is in it already: a bug of ours.
    pub fn commit(&mut self, node: Node, run: Range) {
        let own = self.incarnations.iter_mut().find(|one| one.node == node).expect("an incarnation");
        assert!(own.holds.add(run), "an instruction is committed once");
    }

    /// The incarnation of a node is merged into the first one: what it held moves there at once.
    ///
    /// # Panics
    /// If it has none, or the first: a bug of ours.
    pub fn merge(&mut self, node: Node) {
        let at = self.find(node).filter(|at| *at > 0).expect("an incarnation beside the first");
        let merged = self.incarnations.remove(at);
        assert!(self.incarnations[0].holds.merge(&merged.holds), "an instruction is in one incarnation");
    }

    /// The incarnation of a node is lost: what it held. `None`: it has none.
    pub fn lose(&mut self, node: Node) -> Option<Runs> {
        self.find(node).map(|at| self.incarnations.remove(at).holds)
    }

    fn find(&self, node: Node) -> Option<usize> {
        self.incarnations.iter().position(|one| one.node == node)
    }
}
