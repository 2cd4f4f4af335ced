//! The lost nodes, and the hosts of their blocks.

use crate::Node;

/// The nodes of a cluster that are lost.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lost {
    nodes: u32,
    lost: Vec<Node>,
}

impl Lost {
    /// None, of so many.
    pub fn none(nodes: u32) -> Self {
        Lost { nodes, lost: Vec::new() }
    }

    /// One more.
    pub fn add(&mut self, node: Node) {
        self.lost.push(node);
    }

    /// Whether a node is lost.
    pub fn contains(&self, node: Node) -> bool {
        self.lost.contains(&node)
    }

    /// The host of the blocks that a node owned from the start: the node, or if it is lost the next one that is not.
    /// `None` if all are lost.
    #[inline]
    pub fn host(&self, owner: Node) -> Option<Node> {
        if self.lost.is_empty() {
            return Some(owner);
        }
        (0..self.nodes).map(|step| (owner + step) % self.nodes).find(|node| !self.contains(*node))
    }
}
