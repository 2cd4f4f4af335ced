//! An instruction execution unit (S0 section 1): one node.

mod cache;

use crate::data::Privilege;
use crate::dispatch::{Grant, Order, Owners, Part, Report, Run};
use crate::{BlockId, Group, Instruction, Node, Parts, Program};
use cache::Cache;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a node may do at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// An instruction has run; of a remote update: and its modifier is merged where the result is.
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
    /// The first of a group that this node joins: what it makes is merged at the end.
    pub joins: bool,
}

/// A node that executes instructions: it asks for them, asks for the operands that it lacks, and runs those that have all of theirs. Pure.
///
/// [`Execute::handle`] takes what happens, [`Execute::poll`] gives what is to be done until there is nothing. Equal inputs give equal commands.
///
/// # What holds
///
/// 1. No operand is asked for before all operands of its instruction have room together, in the order in which instructions were
///    granted: no two instructions wait for each other's room, and none waits for ever.
/// 2. Copies that are used or kept are never more than the budget.
/// 3. Instructions of a group that writes run one after the other, in their order.
/// 4. A node that could have more in flight than it has been granted has asked for more.
#[derive(Clone, Debug)]
pub struct Execute<P> {
    me: Node,
    program: P,
    owners: Arc<[Node]>,
    limits: Limits,
    cache: Cache,
    /// Blocks that it has asked for.
    coming: Vec<BlockId>,
    grants: VecDeque<Granted>,
    flights: Vec<Flight>,
    running: u32,
    asked: bool,
    lost: Vec<bool>,
    commands: VecDeque<Command>,
}

#[derive(Clone, Debug)]
struct Granted {
    grant: Grant,
    /// The first instruction that is not in flight.
    next: u32,
    /// How many have not run.
    left: u32,
}

#[derive(Clone, Debug)]
struct Flight {
    task: Task,
    attempt: u32,
    inputs: [BlockId; 2],
    /// How many of them have not come.
    missing: u32,
    runs: bool,
}

/// The owner of each block of a program from the start, for all nodes.
pub fn owners(program: &impl Program, parts: &Parts) -> Arc<[Node]> {
    Owners::of(program, parts).collect()
}

/// Who hosts what a node has owned: it, or if it is lost the next one that is not. `None` if all are.
pub fn host(owner: Node, lost: &[bool]) -> Option<Node> {
    let count = lost.len() as u32;
    (0..count).map(|step| (owner + step) % count).find(|node| !lost[*node as usize])
}

impl<P: Program> Execute<P> {
    /// A node that has nothing yet, and asks.
    ///
    /// # Panics
    /// If a limit is 0, or the budget too small for one instruction.
    pub fn new(me: Node, program: P, parts: &Parts, owners: Arc<[Node]>, limits: Limits) -> Self {
        assert!(limits.running > 0 && limits.in_flight >= limits.running, "a node runs something");
        assert!(limits.budget.is_none_or(|budget| budget >= 2), "an instruction has two inputs");
        let mut node = Execute {
            me,
            cache: Cache::new(limits.budget, program.blocks()),
            program,
            owners,
            limits,
            coming: Vec::new(),
            grants: VecDeque::new(),
            flights: Vec::new(),
            running: 0,
            asked: false,
            lost: vec![false; parts.nodes() as usize],
            commands: VecDeque::new(),
        };
        node.go_on();
        node
    }

    /// Something happens.
    pub fn handle(&mut self, event: Event) {
        match event {
            Event::Order(order) => self.obey(order),
            Event::Arrived(block) => self.take_in(block),
            Event::Ran(instruction) => self.commit(instruction),
            Event::Wanted { block, by } => self.commands.push_back(Command::Send { block, to: by }),
            Event::Brought(part) => self.commands.push_back(Command::Report(Report::Brought(part))),
        }
        self.go_on();
    }

    /// What is to be done next.
    #[inline]
    pub fn poll(&mut self) -> Option<Command> {
        self.commands.pop_front()
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
        host(self.owners[block as usize], &self.lost) == Some(self.me)
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Grant(grant) => {
                self.asked = false;
                let (next, left) = (grant.what.run.start, grant.what.run.len() as u32);
                self.grants.push_back(Granted { grant, next, left });
            }
            Order::Merge { part, into } => self.commands.push_back(Command::SendPart { part, to: into }),
            Order::Accept(part) => self.commands.push_back(Command::Merge(part)),
            Order::Drop(group) => self.commands.push_back(Command::DropPart(group)),
            Order::Lost(node) => self.lose(node),
        }
    }

    /// Asks others for what it has asked a lost node for.
    fn lose(&mut self, lost: Node) {
        let asked_before: Vec<_> = self.coming.iter().map(|block| (*block, self.host(*block))).collect();
        self.lost[lost as usize] = true;
        for (block, _) in asked_before.into_iter().filter(|(_, from)| *from == lost) {
            match self.host(block) {
                me if me == self.me => self.take_in(block),
                from => self.commands.push_back(Command::Fetch { block, from }),
            }
        }
    }

    fn host(&self, block: BlockId) -> Node {
        host(self.owners[block as usize], &self.lost).expect("this node is not lost")
    }

    fn take_in(&mut self, block: BlockId) {
        self.cache.put(block);
        let Some(at) = self.coming.iter().position(|coming| *coming == block) else {
            return;
        };
        self.coming.swap_remove(at);
        for flight in &mut self.flights {
            flight.missing -= flight.inputs.iter().filter(|input| **input == block).count() as u32;
        }
    }

    fn commit(&mut self, instruction: Instruction) {
        let is_it = |flight: &Flight| flight.runs && flight.task.instruction == instruction;
        let at = self.flights.iter().position(is_it).expect("what has run was to run");
        let flight = self.flights.remove(at);
        self.running -= 1;
        for input in flight.inputs.into_iter().filter(|input| !self.is_own(*input)) {
            self.cache.end(input);
        }
        let of = |granted: &Granted| {
            let Run { group, run, attempt } = &granted.grant.what;
            *group == instruction.group && *attempt == flight.attempt && run.contains(&instruction.k)
        };
        let at = self.grants.iter().position(of).expect("what has run was granted");
        self.grants[at].left -= 1;
        if self.grants[at].left == 0 {
            let granted = self.grants.remove(at).expect("just found");
            self.commands.push_back(Command::Report(Report::Committed(granted.grant.what)));
        }
    }

    /// Does what can be done now.
    fn go_on(&mut self) {
        while (self.flights.len() as u32) < self.limits.in_flight && self.take_off() {}
        if self.running < self.limits.running {
            self.run();
        }
        let has_room = (self.flights.len() as u32) < self.limits.in_flight;
        if !self.asked && has_room && self.grants.iter().all(|granted| granted.next == granted.grant.what.run.end) {
            self.asked = true;
            self.commands.push_back(Command::Report(Report::Ask));
        }
    }

    /// Puts the next instruction in flight, if there is one and room for its operands.
    fn take_off(&mut self) -> bool {
        let Some(at) = self.grants.iter().position(|granted| granted.next < granted.grant.what.run.end) else {
            return false;
        };
        let Granted { grant, next, .. } = &self.grants[at];
        let instruction = Instruction { group: grant.what.group, k: *next };
        let joins = grant.joins && *next == grant.what.run.start;
        let task = Task { instruction, privilege: grant.privilege, result_at: grant.result_at, joins };
        let attempt = grant.what.attempt;
        let inputs = self.program.inputs(instruction);
        let is_foreign = |block: &BlockId| !self.is_own(*block);
        if self.limits.budget.is_some() && !self.cache.admits(inputs.into_iter().filter(is_foreign)) {
            return false;
        }
        let mut missing = 0;
        for block in inputs {
            if self.is_own(block) {
                continue;
            }
            let (is_here, dropped) = self.cache.begin(block);
            self.commands.extend(dropped.map(Command::Drop));
            missing += u32::from(!is_here);
            if !is_here && !self.coming.contains(&block) {
                self.coming.push(block);
                self.commands.push_back(Command::Fetch { block, from: self.host(block) });
            }
        }
        self.grants[at].next += 1;
        self.flights.push(Flight { task, attempt, inputs, missing, runs: false });
        true
    }

    /// Runs what has all of its operands.
    fn run(&mut self) {
        for at in 0..self.flights.len() {
            if self.running == self.limits.running {
                return;
            }
            let (before, flight) = (&self.flights[..at], &self.flights[at]);
            let group = flight.task.instruction.group;
            let in_turn = flight.task.privilege != Privilege::Write
                || before.iter().all(|earlier| earlier.task.instruction.group != group);
            if !flight.runs && flight.missing == 0 && in_turn {
                self.commands.push_back(Command::Run(flight.task));
                self.flights[at].runs = true;
                self.running += 1;
            }
        }
    }
}
