//! What the dispatcher and the nodes say to each other.

use crate::data::Privilege;
use crate::{Group, Instruction, Node, Range};
use serde::{Deserialize, Serialize};

/// Said by a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Report {
    /// It has room for a grant. It does not say so again before it has got one: who asks twice is granted twice.
    Ask,
    /// It has executed instructions of a group.
    Committed(Run),
    /// The incarnation of another node has come, to be merged into its own. It is merged when that is
    /// [accepted](Order::Accept).
    Brought(Part),
}

/// Said to a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Instructions to execute.
    Grant(Grant),
    /// Its incarnation of a group's result is to go to another node, to be merged there.
    Merge {
        /// Its incarnation.
        part: Part,
        /// Where.
        into: Node,
    },
    /// The incarnation of another node that it has been brought is to be merged into its own now. Whose it was keeps
    /// nothing of it.
    Accept(Part),
    /// Its incarnation of a group's result is not needed any more.
    Drop(Group),
    /// Another node is lost. What it hosted is hosted by the [next](crate::execute::Lost::host) that is not. Modifiers
    /// on their way to it are gone: [what a driver does then](crate::execute#what-a-driver-keeps-to).
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
    /// Which attempt at the group, from 0. A group begins again when all that was made for it is lost.
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
    /// Which.
    pub what: Run,
    /// What they may do with the group's result.
    pub privilege: Privilege,
    /// The node of the incarnation that they change; the node itself except under [`Privilege::RemoteUpdate`].
    pub result_at: Node,
    /// The node joins a group that another has begun: what it makes is merged at the end.
    pub joins: bool,
}
