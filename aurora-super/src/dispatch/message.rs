//! The messages between the dispatcher and the nodes.

use crate::data::Privilege;
use crate::{Group, Instruction, Node, Range};
use serde::{Deserialize, Serialize};

/// A message from a node to the dispatcher.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Report {
    /// The node has room for a grant. It does not ask again before it has got a grant: a node that asks twice gets two
    /// grants.
    Ask,
    /// The node has executed instructions of a group.
    Committed {
        /// The instructions.
        run: Run,
        /// The time that they took together, in ns; 0 if it is not known.
        took: u64,
    },
    /// The incarnation of another node has arrived, to be merged into this node's own. The node merges it when the
    /// dispatcher [accepts](Order::Accept) it.
    Brought(Part),
}

/// A message from the dispatcher to a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Instructions to execute.
    Grant(Grant),
    /// Send this node's incarnation of a group's result to another node, which merges it.
    Merge {
        /// The incarnation to send.
        part: Part,
        /// The node that merges it.
        into: Node,
    },
    /// Merge the incarnation that has arrived from another node into this node's own. The other node drops it.
    Accept(Part),
    /// Drop this node's incarnation of a group's result: it is not needed any more.
    Drop(Group),
    /// Another node is lost. Its blocks are hosted by the [next](crate::execute::Lost::host) node that is not lost.
    /// Modifiers on their way to it are lost: their instructions are handed out again.
    Lost(Node),
}

/// The incarnation that a node has of a group's result, as it is when the node is ordered to send it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The group.
    pub group: Group,
    /// The node.
    pub from: Node,
    /// The number of the [`Order::Merge`] that asked for it.
    pub serial: u64,
}

/// Successive instructions of one group.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The group.
    pub group: Group,
    /// Their numbers.
    pub run: Range,
    /// The number of the attempt at the group, from 0. A group begins again when all its results are lost.
    pub attempt: u32,
}

impl Run {
    /// The instructions.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction> + use<> {
        let group = self.group;
        self.run.clone().map(move |k| Instruction { group, k })
    }
}

/// Instructions that a node is to execute.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// The instructions to execute.
    pub what: Run,
    /// Their privilege on the group's result.
    pub privilege: Privilege,
    /// The node of the first incarnation of the result. Under [`Privilege::RemoteUpdate`] they change that
    /// incarnation; otherwise they change the incarnation on the node that executes them.
    pub result_at: Node,
    /// The node that has the value of the result from before the program, if the result has one, this is the first
    /// grant of its group, and that node is another one. The node of the grant fetches the value, and becomes the
    /// result's host (the master *floats*).
    pub value_at: Option<Node>,
    /// True if the node joins a group that another node has begun. Its result is merged at the end.
    pub joins: bool,
}
