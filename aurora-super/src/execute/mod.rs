//! An instruction execution unit (S0 section 1): one node.

mod cache;

use crate::data::Privilege;
use crate::dispatch::{Grant, Order, Part, Report, Run};
use crate::lineage::Runs;
use crate::{BlockId, Group, Instruction, Node, Parts, Program};
use cache::Cache;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a node may do at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// Instructions that run at the same time: its cores.
    pub running: u32,
    /// Instructions whose operands it has or has asked for, those that run among them.
    pub in_flight: u32,
    /// Copies of other nodes' blocks that it keeps; no limit if `None`. At least as many as an instruction has inputs.
    pub budget: Option<u32>,
}

impl Limits {
    /// One instruction at a time, for which operands are asked for when it is granted.
    pub const ONE: Limits = Limits { running: 1, in_flight: 1, budget: None };
}

/// What happens to a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// The dispatcher orders something.
    Order(Order),
    /// A copy of a block has come.
    Arrived(BlockId),
    /// An instruction has run; of a remote update: and its modifier is [merged](Execute::merges) where the result is.
    Ran(Instruction),
    /// Another node has asked for a block that this one hosts.
    Wanted {
        /// Which.
        block: BlockId,
        /// Who.
        by: Node,
    },
    /// Another node's incarnation of a result has come.
    Brought(Part),
}

/// What a node has to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// Tell the dispatcher.
    Report(Report),
    /// Ask a node for a block. [`Event::Arrived`] answers.
    Fetch {
        /// Which.
        block: BlockId,
        /// Its host.
        from: Node,
    },
    /// Run an instruction, all of whose operands are here. [`Event::Ran`] follows.
    Run(Task),
    /// Send a block to who has asked for it.
    Send {
        /// Which.
        block: BlockId,
        /// To whom.
        to: Node,
    },
    /// Send the incarnation of a result, and keep it.
    SendPart {
        /// Which.
        part: Part,
        /// To whom.
        to: Node,
    },
    /// Merge an incarnation that has come into this node's own.
    Merge(Part),
    /// Drop the incarnation of a group's result.
    DropPart(Group),
    /// Drop a copy of a block.
    Drop(BlockId),
}

/// An instruction to run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Task {
    /// Which.
    pub instruction: Instruction,
    /// What it may do with its group's result.
    pub privilege: Privilege,
    /// Where the incarnation is that it changes.
    pub result_at: Node,
    /// The attempt at the group that it belongs to.
    pub attempt: u32,
    /// The first of a group that this node joins: what it makes is merged at the end.
    pub joins: bool,
}

/// A node that executes instructions: it asks for them, asks for the operands that it lacks, and runs those that have all of theirs. Pure.
///
/// [`Execute::begin`] is called once, [`Execute::handle`] for all that happens; both append what is to be done to a list. Equal inputs give
/// equal commands.
///
/// # What holds
///
/// 1. No operand is asked for before all operands of its instruction have room together, in the order in which instructions were
///    granted: no two instructions wait for each other's room, and none waits for ever.
/// 2. Copies that are used or kept are never more than the budget.
/// 3. Instructions of a group that writes run one after the other, in their order.
/// 4. A node that could have more in flight than it has been granted has asked for more.
#[derive(Clone, Hash, Debug)]
pub struct Execute<P> {
    me: Node,
    program: P,
    owners: Arc<[Node]>,
    limits: Limits,
    cache: Cache,
    /// Blocks that it has asked for.
    coming: Vec<BlockId>,
    grants: SmallVec<[Granted; 1]>,
    flights: SmallVec<[Flight; 1]>,
    running: u32,
    asked: bool,
    /// Of results that are here and updated remotely, whose modifiers are merged.
    merged: BTreeMap<(Group, u32), Runs>,
    lost: Lost,
}

#[derive(Clone, Hash, Debug)]
struct Granted {
    grant: Grant,
    /// The first instruction that is not in flight.
    next: u32,
    /// How many have not run.
    left: u32,
}

#[derive(Clone, Hash, Debug)]
struct Flight {
    task: Task,
    /// Those of its inputs that were another node's.
    inputs: [Option<BlockId>; 2],
    /// How many of these copies have not come.
    missing: u32,
    runs: bool,
}

/// The owner of each block of a program from the start, for all nodes.
pub fn owners(program: &impl Program, parts: &Parts) -> Arc<[Node]> {
    parts.owners(program).collect()
}

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

    /// Who hosts what a node owned from the start: it, or if it is lost the next one that is not. `None` if all are.
    #[inline]
    pub fn host(&self, owner: Node) -> Option<Node> {
        if self.lost.is_empty() {
            return Some(owner);
        }
        (0..self.nodes).map(|step| (owner + step) % self.nodes).find(|node| !self.contains(*node))
    }
}

impl<P: Program> Execute<P> {
    /// A node that has nothing yet.
    ///
    /// # Panics
    /// If a limit is 0, or the budget too small for one instruction.
    pub fn new(me: Node, program: P, parts: &Parts, owners: Arc<[Node]>, limits: Limits) -> Self {
        assert!(limits.running > 0 && limits.in_flight >= limits.running, "a node runs something");
        assert!(limits.budget.is_none_or(|budget| budget >= 2), "an instruction has two inputs");
        Execute {
            me,
            cache: Cache::new(limits.budget, program.blocks()),
            program,
            owners,
            limits,
            coming: Vec::new(),
            grants: SmallVec::new(),
            flights: SmallVec::new(),
            running: 0,
            asked: false,
            merged: BTreeMap::new(),
            lost: Lost::none(parts.nodes()),
        }
    }

    /// It asks for something to do.
    pub fn begin(&mut self, out: &mut Vec<Command>) {
        self.go_on(out);
    }

    /// Something happens. What is to be done is appended to `out`.
    ///
    /// # Panics
    /// If an instruction has run that was not to run, or a block has come that the program does not have: a bug of who carries out commands.
    pub fn handle(&mut self, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Order(order) => self.obey(order, out),
            Event::Arrived(block) => self.take_in(block),
            Event::Ran(instruction) => self.commit(instruction, out),
            Event::Wanted { block, by } => out.push(Command::Send { block, to: by }),
            Event::Brought(part) => out.push(Command::Report(Report::Brought(part))),
        }
        self.go_on(out);
    }

    /// The modifier of a remote update has come to this node, which has the result, or was made here. Whether it is to be merged: not if that
    /// was done before, for a node that was lost before it could say so.
    pub fn merges(&mut self, task: &Task) -> bool {
        let Instruction { group, k } = task.instruction;
        self.merged.entry((group, task.attempt)).or_default().add(k..k + 1)
    }

    /// Whether it has a copy of a block, or is its owner.
    pub fn has(&self, block: BlockId) -> bool {
        self.is_own(block) || self.cache.has(block)
    }

    /// How many copies it keeps or waits for.
    pub fn copies(&self) -> u32 {
        self.cache.len()
    }

    /// Instructions that run.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// Instructions in flight.
    pub fn in_flight(&self) -> u32 {
        self.flights.len() as u32
    }

    fn is_own(&self, block: BlockId) -> bool {
        self.lost.host(self.owners[block as usize]) == Some(self.me)
    }

    fn obey(&mut self, order: Order, out: &mut Vec<Command>) {
        match order {
            Order::Grant(grant) => {
                self.asked = false;
                let (next, left) = (grant.what.run.start, grant.what.run.len() as u32);
                self.grants.push(Granted { grant, next, left });
            }
            Order::Merge { part, into } => out.push(Command::SendPart { part, to: into }),
            Order::Accept(part) => out.push(Command::Merge(part)),
            Order::Drop(group) => out.push(Command::DropPart(group)),
            Order::Lost(node) => self.lose(node, out),
        }
    }

    /// Asks others for what it has asked a lost node for.
    fn lose(&mut self, lost: Node, out: &mut Vec<Command>) {
        let asked_before: Vec<_> = self.coming.iter().map(|block| (*block, self.host(*block))).collect();
        self.lost.add(lost);
        for (block, _) in asked_before.into_iter().filter(|(_, from)| *from == lost) {
            match self.host(block) {
                me if me == self.me => self.take_in(block),
                from => out.push(Command::Fetch { block, from }),
            }
        }
    }

    fn host(&self, block: BlockId) -> Node {
        self.lost.host(self.owners[block as usize]).expect("this node is not lost")
    }

    fn take_in(&mut self, block: BlockId) {
        self.cache.put(block);
        let Some(at) = self.coming.iter().position(|coming| *coming == block) else {
            return;
        };
        self.coming.swap_remove(at);
        for flight in &mut self.flights {
            flight.missing -= flight.inputs.iter().filter(|input| **input == Some(block)).count() as u32;
        }
    }

    fn commit(&mut self, instruction: Instruction, out: &mut Vec<Command>) {
        let is_it = |flight: &Flight| flight.runs && flight.task.instruction == instruction;
        let at = self.flights.iter().position(is_it).expect("what has run was to run");
        let flight = self.flights.remove(at);
        self.running -= 1;
        flight.inputs.into_iter().flatten().for_each(|input| self.cache.end(input));
        let of = |granted: &Granted| {
            let Run { group, run, attempt } = &granted.grant.what;
            *group == instruction.group && *attempt == flight.task.attempt && run.contains(&instruction.k)
        };
        let at = self.grants.iter().position(of).expect("what has run was granted");
        self.grants[at].left -= 1;
        if self.grants[at].left == 0 {
            let granted = self.grants.remove(at);
            out.push(Command::Report(Report::Committed(granted.grant.what)));
        }
    }

    /// Does what can be done now.
    fn go_on(&mut self, out: &mut Vec<Command>) {
        while (self.flights.len() as u32) < self.limits.in_flight && self.take_off(out) {}
        if self.running < self.limits.running {
            self.run(out);
        }
        let has_room = (self.flights.len() as u32) < self.limits.in_flight;
        if !self.asked && has_room && self.grants.iter().all(|granted| granted.next == granted.grant.what.run.end) {
            self.asked = true;
            out.push(Command::Report(Report::Ask));
        }
    }

    /// Puts the next instruction in flight, if there is one and room for its operands.
    fn take_off(&mut self, out: &mut Vec<Command>) -> bool {
        let Some(at) = self.grants.iter().position(|granted| granted.next < granted.grant.what.run.end) else {
            return false;
        };
        let Granted { grant, next, .. } = &self.grants[at];
        let instruction = Instruction { group: grant.what.group, k: *next };
        let joins = grant.joins && *next == grant.what.run.start;
        let (privilege, result_at, attempt) = (grant.privilege, grant.result_at, grant.what.attempt);
        let task = Task { instruction, privilege, result_at, attempt, joins };
        let foreign = |block| Some(block).filter(|block| !self.is_own(*block));
        let inputs = self.program.inputs(instruction).map(foreign);
        if !self.cache.admits(inputs.into_iter().flatten()) {
            return false;
        }
        // What is here first, so that it is not dropped for the other.
        let mut in_order = inputs;
        in_order.sort_by_key(|input| input.is_some_and(|block| !self.cache.has(block)));
        let mut missing = 0;
        for block in in_order.into_iter().flatten() {
            let (is_here, dropped) = self.cache.begin(block);
            out.extend(dropped.map(Command::Drop));
            missing += u32::from(!is_here);
            if !is_here && !self.coming.contains(&block) {
                self.coming.push(block);
                out.push(Command::Fetch { block, from: self.host(block) });
            }
        }
        self.grants[at].next += 1;
        self.flights.push(Flight { task, inputs, missing, runs: false });
        true
    }

    /// Runs what has all of its operands.
    fn run(&mut self, out: &mut Vec<Command>) {
        for at in 0..self.flights.len() {
            if self.running == self.limits.running {
                return;
            }
            let (before, flight) = (&self.flights[..at], &self.flights[at]);
            let group = flight.task.instruction.group;
            let in_turn = flight.task.privilege != Privilege::Write
                || before.iter().all(|earlier| earlier.task.instruction.group != group);
            if !flight.runs && flight.missing == 0 && in_turn {
                out.push(Command::Run(flight.task));
                self.flights[at].runs = true;
                self.running += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operand_is_dropped_for_the_other() {
        let (program, speeds) = (crate::Product::new(3, 1, 3).unwrap(), [1e-9, 1.0]);
        let parts = Parts::by_speed(&speeds).unwrap();
        let limits = Limits { budget: Some(3), ..Limits::ONE };
        let mut node = Execute::new(0, program, &parts, owners(&program, &parts), limits);
        let mut fetched = Vec::new();
        // A of row 0 with B of columns 0 and 1, then A of row 1 with B of column 0: that is the oldest here, and needed.
        for group in [0, 1, 3] {
            let what = Run { group, run: 0..1, attempt: 0 };
            let grant = Grant { what, privilege: Privilege::Write, result_at: 0, joins: false };
            let mut out = Vec::new();
            node.handle(Event::Order(Order::Grant(grant)), &mut out);
            while let Some(at) =
                out.iter().position(|command| matches!(command, Command::Fetch { .. } | Command::Run(_)))
            {
                match out.remove(at) {
                    Command::Fetch { block, .. } => {
                        fetched.push(block);
                        node.handle(Event::Arrived(block), &mut out);
                    }
                    Command::Run(task) => node.handle(Event::Ran(task.instruction), &mut out),
                    _ => {}
                }
            }
        }
        assert_eq!(fetched, [0, 3, 4, 1]);
    }

    #[test]
    fn an_instruction_takes_little_memory_and_only_while_it_is_in_flight() {
        assert!(size_of::<Flight>() + size_of::<Granted>() <= 200);
    }
}
