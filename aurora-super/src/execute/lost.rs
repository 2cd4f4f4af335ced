//! The lost nodes, and the hosts of their blocks.

use crate::Node;

/// The lost nodes of a cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lost {
    nodes: u32,
    lost: Vec<Node>,
}

impl Lost {
    /// Creates an empty set for a cluster of `nodes` nodes.
    pub fn none(nodes: u32) -> Self {
        Lost { nodes, lost: Vec::new() }
    }

    /// Adds a lost node.
    pub fn add(&mut self, node: Node) {
        self.lost.push(node);
    }

    /// Returns true if no node is lost.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty()
    }

    /// Returns true if a node is lost.
    pub fn contains(&self, node: Node) -> bool {
        self.lost.contains(&node)
    }

    /// Returns the host of the blocks that a node owned from the start: the node itself, or if it is lost, the next
    /// node that is not. `None` if all nodes are lost.
    #[inline]
    pub fn host(&self, owner: Node) -> Option<Node> {
        if self.lost.is_empty() {
            return Some(owner);
        }
        (0..self.nodes).map(|step| (owner + step) % self.nodes).find(|node| !self.contains(*node))
    }
}
