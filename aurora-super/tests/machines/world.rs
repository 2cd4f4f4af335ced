//! A dispatcher and nodes with messages on their way between them, any of which may arrive next; and the results.

use crate::transfer::Transfer;
use aurora_super::data::{Block, Privilege, State};
use aurora_super::dispatch::{Config, Order, Part, Report};
use aurora_super::execute::{Command, Copies, Event, Limits, Task, owners};
use aurora_super::{BlockId, Dispatch, Execute, Group, Node, Parts, Program, Updates};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// In the list of a result: its value from before the program.
const VALUE: u32 = u32::MAX;

/// Something that may happen next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// The oldest report of a node reaches the dispatcher.
    Report(Node),
    /// The oldest order to a node reaches it.
    Order(Node),
    /// A transfer ends.
    Transfer(usize),
    /// An instruction ends.
    Task(usize),
}

/// The steps that take no time, so that fewer states can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtOnce {
    Nothing,
    /// Reports and orders arrive as soon as they are sent.
    Messages,
    /// Blocks and incarnations arrive as soon as they are sent.
    Transfers,
}

/// The whole state. Results are lists of the instructions whose results they hold, so that a duplicate is seen.
#[derive(Clone, Hash, Debug)]
pub struct World<P> {
    program: P,
    pub dispatch: Dispatch<P>,
    pub nodes: Vec<Execute<P>>,
    limits: Limits,
    at_once: AtOnce,
    lost: BTreeSet<Node>,
    reports: Vec<VecDeque<Report>>,
    orders: Vec<VecDeque<Order>>,
    transfers: Vec<Transfer>,
    tasks: Vec<(Node, Task)>,
    /// The incarnations, by node and group.
    results: BTreeMap<(Node, Group), Vec<u32>>,
    brought: BTreeMap<(Node, Part), Vec<u32>>,
    /// The group of each result that has a value from before the program.
    valued: BTreeMap<BlockId, Group>,
    /// The nodes that have these values and have not begun the result.
    values: BTreeSet<(Node, BlockId)>,
    pub executed: u32,
    /// The nodes that have asked, and have got no grant since.
    waiting: BTreeSet<Node>,
    /// By node and block, the copies that are kept, each with the version of its value. `None` where only one program
    /// runs: blocks that are read do not change.
    copies: Option<BTreeMap<(Node, BlockId), u32>>,
}

/// Blocks and copies that one program leaves to the next.
#[derive(Clone, Debug)]
pub struct Left {
    pub blocks: Vec<Block>,
    pub copies: Vec<Copies>,
    versions: BTreeMap<(Node, BlockId), u32>,
}

impl Left {
    /// Before any program: blocks in these states, and no copies.
    pub fn by_none(blocks: Vec<Block>, nodes: u32, budget: Option<u32>) -> Self {
        let copies = vec![Copies::new(budget, 0); nodes as usize];
        Left { blocks, copies, versions: BTreeMap::new() }
    }

    /// No node has a copy of these blocks any more.
    pub fn forget(&mut self, blocks: &[BlockId]) {
        for (node, copies) in (0..).zip(&mut self.copies) {
            for block in blocks {
                assert_eq!(copies.forget(*block), self.versions.remove(&(node, *block)).is_some());
            }
        }
    }
}

impl<P: Program + Clone + Hash + Debug> World<P> {
    pub fn new(program: P, parts: Parts, config: Config, limits: Limits, at_once: AtOnce) -> Self {
        let owners = owners(&program, &parts);
        let node = |me| Execute::new(me, program.clone(), &parts, owners.clone(), limits);
        let nodes = (0..parts.nodes()).map(node).collect();
        World::begin(Dispatch::new(program, parts, config), nodes, limits, at_once, None)
    }

    /// The next of several programs over the same blocks.
    pub fn after(left: Left, program: P, parts: Parts, config: Config, limits: Limits, at_once: AtOnce) -> Self {
        let Left { blocks, copies, versions } = left;
        let owners: Arc<[Node]> = blocks.iter().map(Block::host).collect();
        let node = |(me, copies)| Execute::with_copies(me, program.clone(), &parts, owners.clone(), limits, copies);
        let nodes = (0..).zip(copies).map(node).collect();
        let dispatch = Dispatch::with_blocks(program, parts, config, blocks);
        World::begin(dispatch, nodes, limits, at_once, Some(versions))
    }

    pub fn leave(self) -> Left {
        let copies = self.nodes.into_iter().map(Execute::into_copies).collect();
        Left { blocks: self.dispatch.into_blocks(), copies, versions: self.copies.unwrap_or_default() }
    }

    fn begin(
        dispatch: Dispatch<P>,
        nodes: Vec<Execute<P>>,
        limits: Limits,
        at_once: AtOnce,
        copies: Option<BTreeMap<(Node, BlockId), u32>>,
    ) -> Self {
        let count = nodes.len();
        let program = dispatch.program();
        let results = (0..program.groups()).filter(|group| program.len(*group) > 0);
        let results = results.map(|group| (program.result(group), group));
        let valued: BTreeMap<BlockId, Group> =
            results.filter(|(block, _)| dispatch.block(*block).state() != State::Uninitiated).collect();
        let mut world = World {
            program: dispatch.program().clone(),
            nodes,
            limits,
            at_once,
            lost: BTreeSet::new(),
            reports: vec![VecDeque::new(); count],
            orders: vec![VecDeque::new(); count],
            transfers: Vec::new(),
            tasks: Vec::new(),
            results: BTreeMap::new(),
            brought: BTreeMap::new(),
            values: valued.keys().map(|block| (dispatch.block(*block).host(), *block)).collect(),
            valued,
            executed: 0,
            waiting: BTreeSet::new(),
            copies,
            dispatch,
        };
        for node in 0..count {
            let mut wanted = Vec::new();
            world.nodes[node].begin(&mut wanted);
            world.perform(node as Node, wanted);
        }
        world
    }

    /// Returns the steps that may happen next.
    pub fn steps(&self) -> Vec<Step> {
        let nodes = 0..self.nodes.len() as Node;
        let reports = nodes.clone().filter(|node| !self.reports[*node as usize].is_empty()).map(Step::Report);
        let orders = nodes.filter(|node| !self.orders[*node as usize].is_empty()).map(Step::Order);
        let transfers = (0..self.transfers.len()).map(Step::Transfer);
        reports.chain(orders).chain(transfers).chain((0..self.tasks.len()).map(Step::Task)).collect()
    }

    pub fn take(&mut self, step: Step) {
        self.take_one(step);
        let is_at_once = |at_once, step: &Step| match step {
            Step::Report(_) | Step::Order(_) => at_once == AtOnce::Messages,
            Step::Transfer(_) => at_once == AtOnce::Transfers,
            Step::Task(_) => false,
        };
        while let Some(step) = self.steps().into_iter().find(|step| is_at_once(self.at_once, step)) {
            self.take_one(step);
        }
    }

    fn take_one(&mut self, step: Step) {
        match step {
            Step::Report(node) => {
                let report = self.reports[node as usize].pop_front().expect("one is under way");
                if report == Report::Ask {
                    self.waiting.insert(node);
                }
                self.dispatch.handle(node, report);
                self.send_orders();
            }
            Step::Order(node) => {
                let order = self.orders[node as usize].pop_front().expect("one is under way");
                self.deliver(node, Event::Order(order));
            }
            Step::Transfer(at) => self.arrive(at),
            Step::Task(at) => {
                let (node, task) = self.tasks.remove(at);
                self.ran(node, &task);
            }
        }
        self.transfers.sort_by_key(Transfer::order);
        self.tasks.sort_by_key(|(node, task)| (*node, task.instruction));
        self.check();
    }

    /// A node is lost; its reports may still arrive.
    pub fn lose(&mut self, node: Node) {
        self.die(node);
        self.notice(node);
    }

    /// A node is lost, of which the dispatcher does not know.
    pub fn die(&mut self, node: Node) {
        self.lost.insert(node);
        self.orders[node as usize].clear();
        self.results.retain(|(at, _), _| *at != node);
        self.tasks.retain(|(at, _)| *at != node);
    }

    /// The dispatcher learns of a loss.
    pub fn notice(&mut self, node: Node) {
        self.dispatch.lose(node);
        self.send_orders();
        self.check();
    }

    pub fn is_lost(&self, node: Node) -> bool {
        self.lost.contains(&node)
    }

    /// Checks that nodes that have asked and have got nothing since would get nothing now.
    pub fn check_waiting(&self) {
        for node in self.waiting.iter().filter(|node| !self.lost.contains(node)) {
            let mut dispatch = self.dispatch.clone();
            dispatch.handle(*node, Report::Ask);
            let mut orders = std::iter::from_fn(|| dispatch.poll());
            assert!(!orders.any(|(_, order)| matches!(order, Order::Grant(_))), "node {node} waits in vain");
        }
    }

    /// The next report of a node arrives twice, unless it is an ask.
    pub fn repeat(&mut self, node: Node) {
        let next = self.reports[node as usize].front().filter(|report| **report != Report::Ask);
        if let Some(report) = next.cloned() {
            self.dispatch.handle(node, report);
            self.send_orders();
        }
    }

    pub fn lost(&self) -> usize {
        self.lost.len()
    }

    fn arrive(&mut self, at: usize) {
        let lost = |node: &Node| self.lost.contains(node);
        match self.transfers.remove(at) {
            Transfer::Fetch { from, by, .. } if lost(&from) || lost(&by) => {}
            Transfer::Fetch { block, by, from } => self.deliver(from, Event::Wanted { block, by }),
            Transfer::Block { to, .. } | Transfer::Part { to, .. } | Transfer::Value { to, .. } if lost(&to) => {}
            Transfer::Value { block, to } => {
                self.results.entry((to, self.valued[&block])).or_default().push(VALUE);
                self.deliver(to, Event::Arrived(block));
            }
            Transfer::Block { block, to, version } => {
                if let Some(copies) = &mut self.copies {
                    copies.insert((to, block), version);
                }
                self.deliver(to, Event::Arrived(block));
                if !self.nodes[to as usize].has(block) {
                    self.drop_copy(to, block);
                }
            }
            Transfer::Part { part, to, holds } => {
                self.brought.insert((to, part), holds);
                self.deliver(to, Event::Brought(part));
            }
            Transfer::Modifier { to, .. } | Transfer::Confirmation { to, .. } if lost(&to) => {}
            Transfer::Modifier { task, by, to } => self.deliver(to, Event::Modifier { task, by }),
            Transfer::Confirmation { task, to } => self.deliver(to, Event::Confirmed(task)),
        }
    }

    /// A node has run an instruction. It changes the incarnation of that node, or makes a modifier.
    fn ran(&mut self, node: Node, task: &Task) {
        let Task { instruction, privilege, .. } = *task;
        if privilege != Privilege::RemoteUpdate {
            self.results.entry((node, instruction.group)).or_default().push(instruction.k);
        }
        self.executed += 1;
        let took = u64::from(node + 1) * u64::from(instruction.k % 3) * 400_000;
        self.deliver(node, Event::Ran { instruction, took });
    }

    fn deliver(&mut self, node: Node, event: Event) {
        let mut wanted = Vec::new();
        self.nodes[node as usize].handle(event, &mut wanted);
        self.perform(node, wanted);
    }

    fn perform(&mut self, node: Node, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Report(report) => self.reports[node as usize].push_back(report),
                Command::SendModifier { task, to } => self.transfers.push(Transfer::Modifier { task, by: node, to }),
                Command::MergeModifier { task, .. } => {
                    self.results.entry((node, task.instruction.group)).or_default().push(task.instruction.k);
                }
                Command::Confirm { task, to } => self.transfers.push(Transfer::Confirmation { task, to }),
                Command::Fetch { block, from } => self.transfers.push(Transfer::Fetch { block, by: node, from }),
                Command::Send { block, to } if self.valued.contains_key(&block) => {
                    assert!(
                        self.values.remove(&(node, block)) || self.lost() > 0,
                        "node {node} has no value of {block}"
                    );
                    self.transfers.push(Transfer::Value { block, to });
                }
                Command::Send { block, to } => {
                    let version = self.copies.as_ref().map_or(0, |_| self.dispatch.block(block).version());
                    self.transfers.push(Transfer::Block { block, to, version });
                }
                Command::Run(task) => {
                    self.check_inputs(node, &task);
                    self.check_value(node, &task);
                    self.tasks.push((node, task));
                }
                Command::SendPart { part, to } => {
                    let holds = self.results.get(&(node, part.group)).cloned().unwrap_or_default();
                    self.transfers.push(Transfer::Part { part, to, holds });
                }
                Command::Merge(part) => {
                    let holds = self.brought.remove(&(node, part)).expect("it was brought");
                    self.results.entry((node, part.group)).or_default().extend(holds);
                }
                Command::DropPart(group) => drop(self.results.remove(&(node, group))),
                // A block that has become the node's own since it was copied is still here.
                Command::Drop(block) => {
                    self.drop_copy(node, block);
                    assert!(self.lost() > 0 || !self.nodes[node as usize].has(block));
                }
            }
        }
    }

    fn send_orders(&mut self) {
        while let Some((node, order)) = self.dispatch.poll() {
            if matches!(order, Order::Grant(_)) {
                self.waiting.remove(&node);
            }
            if !self.lost.contains(&node) {
                self.orders[node as usize].push_back(order);
            }
        }
    }

    fn drop_copy(&mut self, node: Node, block: BlockId) {
        if let Some(copies) = &mut self.copies {
            copies.remove(&(node, block));
        }
    }

    /// Checks that a node has all inputs of the instruction that it runs, with their current values.
    fn check_inputs(&self, node: Node, task: &Task) {
        for input in self.program.inputs(task.instruction).as_ref() {
            assert!(self.nodes[node as usize].has(*input), "node {node} lacks block {input}");
            let copied = self.copies.as_ref().and_then(|copies| copies.get(&(node, *input)));
            assert!(copied.is_none_or(|version| *version == self.dispatch.block(*input).version()), "an old copy");
        }
    }

    /// Checks that the value of the first incarnation is on the node that runs the instruction.
    fn check_value(&self, node: Node, task: &Task) {
        let group = task.instruction.group;
        let Some((block, _)) = self.valued.iter().find(|(_, of)| **of == group).filter(|_| task.result_at == node)
        else {
            return;
        };
        let has = self.results.get(&(node, group)).is_some_and(|result| result.contains(&VALUE));
        assert!(
            has || self.values.contains(&(node, *block)) || self.lost() > 0,
            "node {node} lacks the value of block {block}"
        );
    }

    /// Checks the invariants that hold at any moment.
    fn check(&self) {
        for node in &self.nodes {
            assert!(node.running() <= self.limits.running && node.in_flight() <= self.limits.in_flight);
            assert!(self.limits.budget.is_none_or(|budget| node.copies() <= budget), "beyond the budget");
        }
        for (group, held) in (0..self.program.groups()).map(|group| (group, self.dispatch.lineage(group))) {
            let held: Vec<u32> = held
                .into_iter()
                .flat_map(|lineage| lineage.incarnations())
                .flat_map(|part| part.holds.iter().flatten())
                .collect();
            let distinct: BTreeSet<_> = held.iter().collect();
            assert_eq!(distinct.len(), held.len(), "an instruction of group {group} is in two incarnations");
        }
        // One instruction at a time runs in a group that is written to.
        let writes = self.tasks.iter().filter(|(_, task)| task.privilege == Privilege::Write);
        let mut writing: Vec<Group> = writes.map(|(_, task)| task.instruction.group).collect();
        writing.sort_unstable();
        assert!(writing.windows(2).all(|pair| pair[0] != pair[1]), "two write to a group at the same time");
        if self.program.updates() == Updates::InTurns {
            let mut updating: Vec<(Node, Group)> =
                self.tasks.iter().map(|(node, task)| (*node, task.instruction.group)).collect();
            updating.sort_unstable();
            assert!(updating.windows(2).all(|pair| pair[0] != pair[1]), "two have one incarnation at the same time");
        }
    }

    /// Checks the end, when nothing can happen any more: all is done, and each result has each instruction once.
    pub fn check_end(&self) {
        if self.lost.len() == self.nodes.len() {
            return;
        }
        assert!(self.dispatch.is_done(), "nothing happens, and not all is done: {self:#?}");
        assert!((0..).zip(&self.nodes).all(|(node, execute)| execute.is_idle() || self.is_lost(node)));
        for group in (0..self.program.groups()).filter(|group| self.program.len(*group) > 0) {
            let host = self.dispatch.block(self.program.result(group)).host();
            let mut result = self.results.get(&(host, group)).cloned().unwrap_or_default();
            let block = self.program.result(group);
            let value = usize::from(self.values.contains(&(host, block)))
                + result.iter().filter(|entry| **entry == VALUE).count();
            let wanted = usize::from(self.valued.contains_key(&block));
            assert!(value == wanted || self.lost() > 0, "group {group} at {host} has the value {value} times");
            result.retain(|entry| *entry != VALUE);
            result.sort_unstable();
            assert!(result.iter().copied().eq(0..self.program.len(group)), "group {group} at {host}: {result:?}");
        }
    }
}
