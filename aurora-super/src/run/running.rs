//! One launch on a rank, from its beginning to its end.

use super::granted::Granted;
use super::launch::{Launch, Resolved};
use super::message::{InOrder, Inbox};
use crate::dispatch::{Grant, Order, Report};
use crate::execute::{Command, Event};
use crate::lineage::Runs;
use crate::{BlockId, Dispatch, Execute, Group, Instruction, Node};
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
    pub(super) incomplete: HashMap<Instruction, (Resolved, usize)>,
    /// Instructions that workers have got, the oldest first.
    pub(super) at_work: SmallVec<[Instruction; 4]>,
    pub(super) orders: Inbox<(Order, u64)>,
    /// Instructions that another rank has granted, of each group.
    granted: HashMap<Group, Runs>,
    /// The number of grants whose operands are not known yet.
    pub(super) resolving: u32,
    pub(super) reported: u64,
    /// All ranks have entered the launch.
    pub(super) has_begun: bool,
    pub(super) dispatcher: Option<Dispatcher>,
}

pub(super) struct Dispatcher {
    pub(super) dispatch: Dispatch<Granted>,
    /// The reports of each rank.
    pub(super) reports: Vec<Inbox<Report>>,
    pub(super) ordered: Vec<u64>,
}

impl Running {
    pub(super) fn new(
        launch: Arc<Launch>,
        execute: Execute<Granted>,
        dispatch: Option<Dispatch<Granted>>,
        nodes: u32,
    ) -> Self {
        let dispatcher = dispatch.map(|dispatch| {
            let reports = std::iter::repeat_with(Inbox::default).take(nodes as usize).collect();
            Dispatcher { dispatch, reports, ordered: vec![0; nodes as usize] }
        });
        Running {
            launch,
            execute,
            commands: VecDeque::new(),
            incomplete: HashMap::new(),
            at_work: SmallVec::new(),
            orders: Inbox::default(),
            granted: HashMap::new(),
            resolving: 0,
            reported: 0,
            has_begun: false,
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
        let inbox = &mut dispatcher.reports[from as usize];
        if !inbox.put(report.serial, report.message) {
            return Err(Malformed);
        }
        while let Some(report) = inbox.take() {
            dispatcher.dispatch.handle(from, report);
        }
        Ok(())
    }

    /// Handles an order.
    ///
    /// # Errors
    /// There is no such group or step here; an order with this number, or one of its instructions, has arrived before.
    pub(super) fn ordered(
        &mut self,
        order: InOrder<(Order, u64)>,
        is_own: impl Fn(BlockId) -> bool,
    ) -> Result<(), Malformed> {
        let makes_sense = match &order.message.0 {
            Order::Grant(Grant { what, .. }) => {
                let of_launch = what.group < self.launch.groups() && what.run.end <= self.launch.len(what.group);
                of_launch
                    && !what.run.is_empty()
                    && is_own(self.launch.result(what.group))
                    && self.granted.entry(what.group).or_default().add(what.run.clone())
            }
            // Nothing floats and nothing is merged in a static launch.
            _ => false,
        };
        if makes_sense && self.orders.put(order.serial, order.message) { Ok(()) } else { Err(Malformed) }
    }

    /// Returns true if this rank has run all instructions that it was granted.
    pub(super) fn is_idle(&self) -> bool {
        self.orders.is_empty() && self.resolving == 0 && self.execute.is_idle()
    }

    /// At the dispatcher: returns true if all instructions have run. A launch without instructions is done before other
    /// ranks know it.
    pub(super) fn is_done(&self) -> bool {
        self.has_begun && self.dispatcher.as_ref().is_some_and(|own| own.dispatch.is_done())
    }
}
