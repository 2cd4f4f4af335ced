//! The limits of a node, the events that happen to it, and its commands.

use crate::data::Privilege;
use crate::dispatch::{Order, Part, Report};
use crate::{BlockId, Group, Instruction, Node};

/// The limits of a node's work at one time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The maximum number of instructions that run at the same time: its cores.
    pub running: u32,
    /// The maximum number of instructions whose operands it has or has asked for, running ones included.
    pub in_flight: u32,
    /// The maximum number of copies of other nodes' blocks; no limit if `None`. It must not be below the number of
    /// different blocks of other nodes that an instruction reads: 2 are enough for [`Product`](crate::Product).
    pub budget: Option<u32>,
}

impl Limits {
    /// One instruction at a time, whose operands are fetched when it is granted.
    pub const ONE: Limits = Limits { running: 1, in_flight: 1, budget: None };
}

/// An event at a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// An order of the dispatcher has arrived.
    Order(Order),
    /// A copy of a block has arrived.
    Arrived(BlockId),
    /// An instruction has run. Each [`Command::Run`] has one such event.
    Ran {
        /// The instruction.
        instruction: Instruction,
        /// The time that it took, in ns, for the dispatcher to learn; 0 if it is not known.
        took: u64,
    },
    /// Another node has asked for a block that this one hosts. If the block is a result of the program, the other node
    /// becomes its host, and this node sends it and drops it.
    Wanted {
        /// The block.
        block: BlockId,
        /// The node that has asked.
        by: Node,
    },
    /// The modifier of a task has arrived from the node that ran it. It is merged once.
    Modifier {
        /// The task.
        task: Task,
        /// The node that ran it.
        by: Node,
    },
    /// Another node has merged the modifier of a task that this node ran.
    Confirmed(Task),
    /// Another node's incarnation of a result has arrived. It is merged once, and only if the dispatcher accepts it.
    Brought(Part),
}

/// An action that the driver carries out for a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Send a report to the dispatcher.
    Report(Report),
    /// Ask a node for a block. [`Event::Arrived`] answers.
    Fetch {
        /// The block.
        block: BlockId,
        /// Its host.
        from: Node,
    },
    /// Run an instruction, all of whose operands are here. [`Event::Ran`] follows. Under [`Privilege::RemoteUpdate`]
    /// the instruction changes no result: it makes a modifier.
    Run(Task),
    /// Send the modifier of a task that has run here to the node of the result: [`Event::Modifier`].
    SendModifier {
        /// The task.
        task: Task,
        /// The node of the result.
        to: Node,
    },
    /// Merge the modifier of a task into the result on this node. There is one such command for each modifier.
    MergeModifier {
        /// The task.
        task: Task,
        /// The node that ran it: this one or another.
        by: Node,
    },
    /// Tell a node that the modifier of its task is merged: [`Event::Confirmed`].
    Confirm {
        /// The task.
        task: Task,
        /// The node that ran it.
        to: Node,
    },
    /// Send a block to a node that has asked for it.
    Send {
        /// The block.
        block: BlockId,
        /// The node that has asked.
        to: Node,
    },
    /// Send the incarnation of a result, and keep it.
    SendPart {
        /// The incarnation.
        part: Part,
        /// The node that merges it.
        to: Node,
    },
    /// Merge an incarnation that has arrived into this node's own. There is one such command for each incarnation.
    Merge(Part),
    /// Drop the incarnation of a group's result.
    DropPart(Group),
    /// Drop a copy of a block.
    Drop(BlockId),
}

/// An instruction to run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Task {
    /// The instruction.
    pub instruction: Instruction,
    /// Its privilege on its group's result.
    pub privilege: Privilege,
    /// The node of the first incarnation of the result. Under [`Privilege::RemoteUpdate`] the instruction changes that
    /// incarnation; otherwise it changes the one on this node, into which nothing is merged if it is not the first.
    pub result_at: Node,
    /// The number of the attempt at the group, from 0.
    pub attempt: u32,
    /// True for this node's first instruction of a group that it joins. The node's result is merged at the end.
    pub joins: bool,
}
