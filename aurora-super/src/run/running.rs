//! One launch on a rank, from its beginning to its end.

use super::granted::Granted;
use super::launch::{Launch, Resolved};
use super::message::{InOrder, Inbox, Moved, ToNode};
use super::store::Key;
use crate::dispatch::{Grant, Order, Part, Report};
use crate::execute::{Command, Event, Task};
use crate::lineage::Runs;
use crate::{Dispatch, Execute, Group, Instruction, Node};
use aurora_core::object::Malformed;
use smallvec::SmallVec;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A launch under way.
pub(super) struct Running {
    pub(super) launch: Arc<Launch>,
    pub(super) execute: Execute<Granted>,
    pub(super) commands: VecDeque<Command>,
    /// Instructions that wait for own blocks, with the number of these blocks.
    pub(super) incomplete: HashMap<Instruction, (Task, Resolved, usize)>,
    /// Instructions that workers have got, the oldest first.
    pub(super) at_work: SmallVec<[Instruction; 4]>,
    /// Messages of the dispatcher. The one that ends the launch comes with the blocks that have another host.
    pub(super) inbox: Inbox<(ToNode, Moved)>,
    /// Instructions that another rank has granted, of each group.
    granted: HashMap<Group, Runs>,
    /// The number of grants whose operands are not known yet.
    pub(super) resolving: u32,
    /// Partial results that are to be merged here, and the number of merges under way.
    pub(super) to_merge: Vec<Part>,
    pub(super) merging: u32,
    pub(super) reported: u64,
    /// All ranks have entered the launch.
    pub(super) has_begun: bool,
    /// The launch is complete at the dispatcher: the blocks that have another host than before.
    pub(super) moved: Option<Moved>,
    pub(super) dispatcher: Option<Dispatcher>,
}

pub(super) struct Dispatcher {
    pub(super) dispatch: Dispatch<Granted>,
    /// The reports of each rank.
    reports: Vec<Inbox<Report>>,
    /// The number of partial results that are to be merged, less those that are merged.
    pub(super) unmerged: u64,
    /// The number of messages that have been sent to each rank.
    pub(super) sent: Vec<u64>,
    #[cfg(test)]
    pub(super) log: super::replay::Log,
}

impl Dispatcher {
    /// Handles a report.
    pub(super) fn handle(&mut self, from: Node, report: Report) {
        #[cfg(test)]
        self.log.handled(from, &report);
        self.dispatch.handle(from, report);
    }

    /// The next order.
    pub(super) fn poll(&mut self) -> Option<(Node, Order)> {
        let order = self.dispatch.poll();
        #[cfg(test)]
        self.log.ordered(order.as_ref());
        self.unmerged += u64::from(matches!(order, Some((_, Order::Accept(_)))));
        order
    }
}

impl Running {
    pub(super) fn new(
        launch: Arc<Launch>,
        execute: Execute<Granted>,
        dispatch: Option<Dispatch<Granted>>,
        nodes: u32,
    ) -> Self {
        let dispatcher = dispatch.map(|dispatch| Dispatcher {
            reports: std::iter::repeat_with(Inbox::default).take(nodes as usize).collect(),
            unmerged: 0,
            sent: vec![0; nodes as usize],
            #[cfg(test)]
            log: super::replay::Log::of(&dispatch),
            dispatch,
        });
        Running {
            launch,
            execute,
            commands: VecDeque::new(),
            incomplete: HashMap::new(),
            at_work: SmallVec::new(),
            inbox: Inbox::default(),
            granted: HashMap::new(),
            resolving: 0,
            to_merge: Vec::new(),
            merging: 0,
            reported: 0,
            has_begun: false,
            moved: None,
            dispatcher,
        }
    }

    pub(super) fn begin(&mut self) {
        self.has_begun = true;
        let mut commands = Vec::new();
        self.execute.begin(&mut commands);
        self.commands.extend(commands);
    }

    pub(super) fn handle(&mut self, event: Event) {
        let mut commands = Vec::new();
        self.execute.handle(event, &mut commands);
        self.commands.extend(commands);
    }

    /// At the dispatcher: handles a report.
    ///
    /// # Errors
    /// A report with this number has arrived before.
    pub(super) fn reported(&mut self, from: Node, report: InOrder<Report>) -> Result<(), Malformed> {
        let dispatcher = self.dispatcher.as_mut().expect("this is its rank");
        if !dispatcher.reports[from as usize].put(report.serial, report.message) {
            return Err(Malformed);
        }
        while let Some(report) = dispatcher.reports[from as usize].take() {
            dispatcher.handle(from, report);
        }
        Ok(())
    }

    /// Handles a message of the dispatcher on another rank.
    ///
    /// # Errors
    /// There is no such group or step here; a message with this number, or one of its instructions, has arrived before.
    pub(super) fn put(&mut self, me: Node, order: InOrder<ToNode>, moved: Moved) -> Result<(), Malformed> {
        let has = |launch: &Launch, group: Group| group < launch.groups() && launch.len(group) > 0;
        let makes_sense = match &order.message {
            ToNode::Complete => true,
            ToNode::Order(Order::Grant(Grant { what, .. }), _) => {
                has(&self.launch, what.group)
                    && what.run.end <= self.launch.len(what.group)
                    && !what.run.is_empty()
                    && self.granted.entry(what.group).or_default().add(what.run.clone())
            }
            ToNode::Order(Order::Merge { part, into }, _) => {
                has(&self.launch, part.group) && part.from == me && *into != me
            }
            ToNode::Order(Order::Accept(part), _) => has(&self.launch, part.group) && part.from != me,
            ToNode::Order(Order::Drop(group), _) => has(&self.launch, *group),
            // No rank is ever lost while the job goes on.
            ToNode::Order(Order::Lost(_), _) => false,
        };
        if makes_sense && self.inbox.put(order.serial, (order.message, moved)) { Ok(()) } else { Err(Malformed) }
    }

    /// The result of an instruction: the block, or this rank's partial result.
    pub(super) fn result_of(&self, me: Node, task: &Task) -> Key {
        let group = task.instruction.group;
        if task.result_at == me { Key::Block(self.launch.result(group)) } else { Key::Part(group) }
    }

    /// Returns true if this rank has run all instructions that it was granted, and has merged all partial results.
    pub(super) fn is_idle(&self) -> bool {
        let merges = self.merging > 0 || !self.to_merge.is_empty();
        self.inbox.is_empty() && self.resolving == 0 && !merges && self.execute.is_idle()
    }

    /// At the dispatcher: returns true if all instructions have run and all partial results are merged. A launch
    /// without instructions is done before other ranks know it.
    pub(super) fn is_done(&self) -> bool {
        self.has_begun && self.dispatcher.as_ref().is_some_and(|own| own.dispatch.is_done() && own.unmerged == 0)
    }
}
