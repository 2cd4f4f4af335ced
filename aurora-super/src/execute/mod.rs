//! An instruction execution unit (S0 section 1): one node.
//!
//! A driver carries out the [`Command`]s of all nodes, and delivers the messages between them and the
//! [`Dispatch`](crate::Dispatch). The driver of this example has two nodes, which multiply matrices of 2 x 2 blocks:
//!
//! ```
//! use aurora_super::dispatch::Config;
//! use aurora_super::execute::{Command, Event, Limits, owners};
//! use aurora_super::{Dispatch, Execute, Node, Parts, Policy, Product, Program};
//! use std::collections::VecDeque;
//!
//! let (program, parts) = (Product::square(2).unwrap(), Parts::by_speed(&[1.0, 1.0]).unwrap());
//! let owners = owners(&program, &parts);
//! let mut nodes = [0, 1].map(|me| Execute::new(me, program, &parts, owners.clone(), Limits::ONE));
//! let mut dispatch = Dispatch::new(program, parts, Config::new(Policy::TAIL));
//! let (mut to_do, mut ran, mut out) = (VecDeque::new(), 0, Vec::new());
//! for node in 0..2 {
//!     nodes[node as usize].begin(&mut out);
//!     to_do.extend(out.drain(..).map(|command| (node, command)));
//! }
//! while let Some((node, command)) = to_do.pop_front() {
//!     let mut events: Vec<(Node, Event)> = Vec::new();
//!     match command {
//!         Command::Report(report) => {
//!             dispatch.handle(node, report);
//!             events.extend(std::iter::from_fn(|| dispatch.poll()).map(|(to, order)| (to, Event::Order(order))));
//!         }
//!         Command::Fetch { block, from } => events.push((from, Event::Wanted { block, by: node })),
//!         Command::Send { block, to } => events.push((to, Event::Arrived(block))), // with the block
//!         Command::Run(task) => {
//!             ran += 1; // multiplies program.inputs(task.instruction), and adds the product to its own incarnation
//!             events.push((node, Event::Ran { instruction: task.instruction, took: 0 }));
//!         }
//!         Command::SendPart { part, to } => events.push((to, Event::Brought(part))), // with the incarnation
//!         Command::Merge(_) => {} // adds the incarnation that was brought to its own
//!         Command::DropPart(_) | Command::Drop(_) => {} // frees it
//!         Command::SendModifier { .. } | Command::MergeModifier { .. } | Command::Confirm { .. } => {
//!             unreachable!("the policy is not one of the version Remote")
//!         }
//!     }
//!     for (to, event) in events {
//!         nodes[to as usize].handle(event, &mut out);
//!         to_do.extend(out.drain(..).map(|command| (to, command)));
//!     }
//! }
//! assert!(dispatch.is_done() && ran == 8);
//! let hosts = [0, 1, 2, 3].map(|group| dispatch.block(program.result(group)).host());
//! assert_eq!(hosts, [0, 1, 0, 1]);
//! ```
//!
//! # Rules for a driver
//!
//! 1. Reports of one node reach the dispatcher in their order. Orders to one node reach it in their order, each once.
//!    Blocks, incarnations, modifiers and confirmations may overtake each other and the messages.
//! 2. The host of an input block must be able to send it, and so must the host of a result that has a value. If the
//!    host is lost, the [next](Lost::host) node that is not lost becomes the host: it reads the block from a file or
//!    from a replica, or makes it again. The value of a result from before the program may be lost with a node that has
//!    begun the result.
//! 3. A driver goes on until [`Dispatch::is_done`](crate::Dispatch::is_done), and then until all orders are delivered
//!    and all incarnations are merged.

mod command;
mod copies;
mod lost;

pub use command::{Command, Event, Limits, Task};
pub use copies::Copies;
pub use lost::Lost;

use crate::data::Privilege;
use crate::dispatch::{Grant, Order, Part, Report, Run};
use crate::lineage::Runs;
use crate::{BlockId, Group, Instruction, Node, Parts, Program, Updates};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node that executes instructions. It asks for instructions, fetches the operands that it lacks, and runs
/// instructions whose operands are all there. It is pure: equal inputs give equal commands.
///
/// Call [`Execute::begin`] once, and [`Execute::handle`] for each event. Both append commands to a list.
///
/// # Guarantees
///
/// 1. Operands are fetched only when there is room for all operands of their instruction, in the order of grants. So no
///    two instructions wait for each other's room, and no instruction waits for ever.
/// 2. The number of copies that are used or kept never exceeds the budget.
/// 3. The instructions of a group that is written to run one after the other, in their order. Instructions that update
///    in [turns](Updates::InTurns) run one after the other.
/// 4. No instruction runs before the value of its result has arrived, if the result has one.
/// 5. A node that could have more instructions in flight than it has been granted has asked for more.
/// 6. Each incarnation and each modifier that arrives is merged at most once. The instruction of a modifier is reported
///    when the modifier is merged, or when the node of the result is lost: the dispatcher does not count it then, and
///    hands it out again.
#[derive(Clone, Hash, Debug)]
pub struct Execute<P> {
    me: Node,
    program: P,
    owners: Arc<[Node]>,
    limits: Limits,
    copies: Copies,
    /// Blocks that it has asked for.
    coming: Vec<BlockId>,
    /// Results of which it is to become the host, and the nodes that it has asked for their values.
    floating: SmallVec<[(BlockId, Node); 1]>,
    /// Incarnations of other nodes that have arrived and are not accepted.
    brought: SmallVec<[Part; 1]>,
    grants: SmallVec<[Granted; 1]>,
    flights: SmallVec<[Flight; 1]>,
    running: u32,
    asked: bool,
    /// For results here that are updated remotely: the instructions whose modifiers are merged.
    merged: BTreeMap<(Group, u32), Runs>,
    lost: Lost,
}

#[derive(Clone, Hash, Debug)]
struct Granted {
    grant: Grant,
    /// The first instruction that is not in flight.
    next: u32,
    /// The number of instructions that have not run.
    left: u32,
    /// The time of those that have run.
    took: u64,
}

#[derive(Clone, Hash, Debug)]
struct Flight {
    task: Task,
    /// Its inputs that were blocks of other nodes.
    inputs: SmallVec<[BlockId; 2]>,
    /// The number of these copies that have not arrived.
    missing: u32,
    /// It waits for the value of its result.
    lacks_value: bool,
    runs: bool,
    /// It has run for this time, and its modifier is on its way.
    sent: Option<u64>,
}

/// Returns the initial owner of each block of a program, in a list that all nodes share.
pub fn owners(program: &impl Program, parts: &Parts) -> Arc<[Node]> {
    parts.owners(program).collect()
}

impl<P: Program> Execute<P> {
    /// Creates a node without copies of blocks.
    ///
    /// # Panics
    /// In the cases of [`with_copies`](Self::with_copies).
    pub fn new(me: Node, program: P, parts: &Parts, owners: Arc<[Node]>, limits: Limits) -> Self {
        let copies = Copies::new(limits.budget, program.blocks());
        Execute::with_copies(me, program, parts, owners, limits, copies)
    }

    /// Creates a node that has copies of blocks already. `owners` are the hosts of all blocks in the
    /// [`Dispatch`](crate::Dispatch) when it begins: for [`Dispatch::new`](crate::Dispatch::new) the [`owners`] of the
    /// program and its parts.
    ///
    /// # Panics
    /// If `running` is 0, `in_flight` is below `running`, or the copies have another budget than the limits. Later if
    /// `owners` are not those of the dispatcher, or if the budget is too small for an instruction.
    pub fn with_copies(
        me: Node,
        program: P,
        parts: &Parts,
        owners: Arc<[Node]>,
        limits: Limits,
        mut copies: Copies,
    ) -> Self {
        assert!(limits.running > 0 && limits.in_flight >= limits.running, "a node runs something");
        assert!(copies.budget() == limits.budget, "the copies have the budget of the limits");
        copies.grow(program.blocks());
        Execute {
            me,
            copies,
            program,
            owners,
            limits,
            coming: Vec::new(),
            floating: SmallVec::new(),
            brought: SmallVec::new(),
            grants: SmallVec::new(),
            flights: SmallVec::new(),
            running: 0,
            asked: false,
            merged: BTreeMap::new(),
            lost: Lost::none(parts.nodes()),
        }
    }

    /// Returns the copies that it has, for [the next program](Self::with_copies). All of them are idle. Copies that it
    /// waits for are not among them.
    pub fn into_copies(mut self) -> Copies {
        self.flights.iter().flat_map(|flight| &flight.inputs).for_each(|input| self.copies.end(*input));
        for block in self.coming {
            self.copies.forget(block);
        }
        self.copies
    }

    /// Returns the program. A driver may change its data about instructions that have not been granted to this node
    /// yet.
    pub fn program_mut(&mut self) -> &mut P {
        &mut self.program
    }

    /// Begins: the node asks for instructions.
    pub fn begin(&mut self, out: &mut Vec<Command>) {
        self.go_on(out);
    }

    /// Handles an event, and appends the commands that follow to `out`.
    ///
    /// # Panics
    /// For these bugs of the driver: [`Event::Ran`] of an instruction that was not to run, or for the second time;
    /// arrival of a block that the program does not have; loss of all nodes, this one included; and an instruction that
    /// reads more different blocks of other nodes than the budget has copies.
    pub fn handle(&mut self, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Order(order) => self.handle_order(order, out),
            Event::Arrived(block) => self.take_in(block),
            Event::Ran { instruction, took } => self.ran(instruction, took, out),
            Event::Modifier { task, by } => {
                self.merge(task, by, out);
                out.push(Command::Confirm { task, to: by });
            }
            Event::Confirmed(task) => self.commit_sent(|flight| flight.task == task, out),
            Event::Wanted { block, by } => out.push(Command::Send { block, to: by }),
            Event::Brought(part) if self.brought.contains(&part) => {}
            Event::Brought(part) => {
                self.brought.push(part);
                out.push(Command::Report(Report::Brought(part)));
            }
        }
        self.go_on(out);
    }

    /// Returns true if it has a copy of a block, or is the block's host.
    pub fn has(&self, block: BlockId) -> bool {
        self.is_own(block) || self.copies.has(block)
    }

    /// Returns the number of copies that it keeps. With a budget, copies that it waits for are included.
    pub fn copies(&self) -> u32 {
        self.copies.len()
    }

    /// Returns the number of instructions that run.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// Returns the number of instructions in flight.
    pub fn in_flight(&self) -> u32 {
        self.flights.len() as u32
    }

    /// Returns the number of instructions in flight that wait for an operand, or for the value of their result.
    pub fn waiting(&self) -> u32 {
        self.flights.iter().filter(|flight| flight.missing > 0 || flight.lacks_value).count() as u32
    }

    /// Returns true if it has nothing to execute: all granted instructions have run, and are reported.
    pub fn is_idle(&self) -> bool {
        self.grants.is_empty() && self.flights.is_empty()
    }

    fn is_own(&self, block: BlockId) -> bool {
        self.lost.host(self.owners[block as usize]) == Some(self.me)
    }

    fn handle_order(&mut self, order: Order, out: &mut Vec<Command>) {
        match order {
            Order::Grant(grant) => {
                self.asked = false;
                let Run { group, run, .. } = &grant.what;
                let (next, left) = (run.start, run.len() as u32);
                // A dispatcher grants no others, but a decoded message may contain anything.
                if left > 0 && *group < self.program.groups() && run.end <= self.program.len(*group) {
                    self.grants.push(Granted { grant, next, left, took: 0 });
                }
            }
            Order::Merge { part, into } => out.push(Command::SendPart { part, to: into }),
            Order::Accept(part) => {
                if let Some(at) = self.brought.iter().position(|brought| *brought == part) {
                    self.brought.swap_remove(at);
                    out.push(Command::Merge(part));
                }
            }
            Order::Drop(group) => out.push(Command::DropPart(group)),
            Order::Lost(node) => self.lose(node, out),
        }
    }

    /// Asks other nodes for the blocks that it has asked a lost node for, and waits for none of its confirmations.
    fn lose(&mut self, lost: Node, out: &mut Vec<Command>) {
        let asked_before: Vec<_> = self.coming.iter().map(|block| (*block, self.host(*block))).collect();
        self.lost.add(lost);
        let from = self.lost.host(lost).expect("this node is not lost");
        for floating in self.floating.iter_mut().filter(|(_, from)| *from == lost) {
            floating.1 = from;
            out.extend((from != self.me).then_some(Command::Fetch { block: floating.0, from }));
        }
        let own: Vec<BlockId> =
            self.floating.iter().filter(|(_, from)| *from == self.me).map(|(block, _)| *block).collect();
        own.into_iter().for_each(|block| self.take_in(block));
        for (block, _) in asked_before.into_iter().filter(|(_, from)| *from == lost) {
            match self.host(block) {
                me if me == self.me => self.take_in(block),
                from => out.push(Command::Fetch { block, from }),
            }
        }
        self.commit_sent(|flight| flight.task.result_at == lost, out);
    }

    fn host(&self, block: BlockId) -> Node {
        self.lost.host(self.owners[block as usize]).expect("this node is not lost")
    }

    fn take_in(&mut self, block: BlockId) {
        if let Some(at) = self.floating.iter().position(|(floating, _)| *floating == block) {
            self.floating.swap_remove(at);
            let program = &self.program;
            let of_block = |flight: &&mut Flight| program.result(flight.task.instruction.group) == block;
            self.flights.iter_mut().filter(of_block).for_each(|flight| flight.lacks_value = false);
            return;
        }
        self.copies.put(block);
        let Some(at) = self.coming.iter().position(|coming| *coming == block) else {
            return;
        };
        self.coming.swap_remove(at);
        for flight in self.flights.iter_mut().filter(|flight| flight.missing > 0) {
            flight.missing -= flight.inputs.iter().filter(|input| **input == block).count() as u32;
        }
    }

    /// Commits an instruction that has run, or sends its modifier first.
    fn ran(&mut self, instruction: Instruction, took: u64, out: &mut Vec<Command>) {
        let is_it = |flight: &Flight| flight.runs && flight.sent.is_none() && flight.task.instruction == instruction;
        let at = self.flights.iter().position(is_it).expect("an instruction that has run was to run");
        let task = self.flights[at].task;
        if task.privilege == Privilege::RemoteUpdate && !self.lost.contains(task.result_at) {
            if task.result_at != self.me {
                self.flights[at].sent = Some(took);
                out.push(Command::SendModifier { task, to: task.result_at });
                return;
            }
            self.merge(task, self.me, out);
        }
        self.commit(at, took, out);
    }

    /// Merges a modifier, unless it has been merged before, for a node that was lost before it could report the task.
    fn merge(&mut self, task: Task, by: Node, out: &mut Vec<Command>) {
        let Instruction { group, k } = task.instruction;
        if self.merged.entry((group, task.attempt)).or_default().add(k..k + 1) {
            out.push(Command::MergeModifier { task, by });
        }
    }

    /// Commits those of these instructions whose modifiers it has sent.
    fn commit_sent(&mut self, these: impl Fn(&Flight) -> bool, out: &mut Vec<Command>) {
        let sent = |flight: &Flight| flight.sent.filter(|_| these(flight));
        while let Some((at, took)) = (0..).zip(&self.flights).find_map(|(at, flight)| Some((at, sent(flight)?))) {
            self.commit(at, took, out);
        }
    }

    fn commit(&mut self, at: usize, took: u64, out: &mut Vec<Command>) {
        let flight = self.flights.remove(at);
        let instruction = flight.task.instruction;
        self.running -= 1;
        flight.inputs.iter().for_each(|input| self.copies.end(*input));
        let of = |granted: &Granted| {
            let Run { group, run, attempt } = &granted.grant.what;
            *group == instruction.group && *attempt == flight.task.attempt && run.contains(&instruction.k)
        };
        let at = self.grants.iter().position(of).expect("an instruction that has run was granted");
        self.grants[at].left -= 1;
        self.grants[at].took = self.grants[at].took.saturating_add(took);
        if self.grants[at].left == 0 {
            let Granted { grant, took, .. } = self.grants.remove(at);
            out.push(Command::Report(Report::Committed { run: grant.what, took }));
        }
    }

    /// Puts instructions in flight, runs them and asks for more, as far as possible now.
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
        let mut inputs: SmallVec<[BlockId; 2]> = SmallVec::new();
        for block in self.program.inputs(instruction).as_ref() {
            if !self.is_own(*block) {
                inputs.push(*block);
            }
        }
        if !self.copies.admits(&inputs) {
            return false;
        }
        // The copies that are here come first, so that none is dropped for another input.
        let mut missing = 0;
        for block in &inputs {
            if self.copies.has(*block) {
                self.copies.begin(*block);
            } else {
                missing += 1;
            }
        }
        if missing > 0 {
            for block in &inputs {
                if !self.copies.has(*block) {
                    out.extend(self.copies.begin(*block).map(Command::Drop));
                    self.ask(*block, out);
                }
            }
        }
        let result = self.program.result(instruction.group);
        if let Granted { grant: Grant { value_at: Some(from), what, .. }, next, .. } = &self.grants[at]
            && *next == what.run.start
        {
            self.floating.push((result, *from));
            out.push(Command::Fetch { block: result, from: *from });
        }
        let lacks_value = self.floating.iter().any(|(floating, _)| *floating == result);
        self.grants[at].next += 1;
        self.flights.push(Flight { task, inputs, missing, lacks_value, runs: false, sent: None });
        true
    }

    /// Asks the host of a block for a copy, unless it has asked.
    #[inline]
    fn ask(&mut self, block: BlockId, out: &mut Vec<Command>) {
        if !self.coming.contains(&block) {
            self.coming.push(block);
            out.push(Command::Fetch { block, from: self.host(block) });
        }
    }

    /// Runs instructions whose operands are all here.
    fn run(&mut self, out: &mut Vec<Command>) {
        let takes_turns = self.program.updates() == Updates::InTurns;
        for at in 0..self.flights.len() {
            if self.running == self.limits.running {
                return;
            }
            let (before, flight) = (&self.flights[..at], &self.flights[at]);
            let group = flight.task.instruction.group;
            let of_group = |other: &&Flight| other.task.instruction.group == group;
            let in_turn = || match flight.task.privilege {
                Privilege::Write => before.iter().find(of_group).is_none(),
                _ => !takes_turns || self.flights.iter().filter(of_group).all(|other| !other.runs),
            };
            if !flight.runs && flight.missing == 0 && !flight.lacks_value && in_turn() {
                out.push(Command::Run(flight.task));
                self.flights[at].runs = true;
                self.running += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
