//! The instruction fetch and dispatch unit (S0 section 1): it decides which node executes which instructions.

mod group;
mod loss;
mod message;
mod node;
mod pick;

pub use message::{Grant, Order, Part, Report, Run};

use crate::data::{Block, Event, Privilege, State};
use crate::execute::Lost;
use crate::lineage::Lineage;
use crate::policy::{Chooser, Pace, Policy, Then, Unfinished, Version, Weights};
use crate::{Group, Node, Parts, Program};
use group::Groups;
use node::Member;
use std::collections::VecDeque;

/// How a [`Dispatch`] hands out instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The policy: it decides which node works on which group.
    pub policy: Policy,
    /// The maximum number of instructions of one grant; at least 1.
    pub grain: u32,
    /// True if a node may be granted more instructions of a writeable group before it has committed the earlier ones.
    pub extends: bool,
    /// True if the dispatcher learns the [`Weights`] of nodes from the times in reports, and uses them. A node gets few
    /// instructions ahead when few are left (*guided self-scheduling*), unless the policy is static; and no node
    /// takes the rest of another node's group if that costs more time than the rest.
    pub guided: bool,
    /// The seed of the policy's random choices.
    pub seed: u64,
}

impl Config {
    /// Creates a configuration that grants one instruction at a time, with seed 0.
    pub fn new(policy: Policy) -> Self {
        Config { policy, grain: 1, extends: false, guided: false, seed: 0 }
    }

    /// Creates the configuration of a launch on ranks that have `running` threads each and `in_flight` instructions at
    /// most. There is room for two grants for each thread, so that the next grant is there when one has ended. In steps
    /// a rank runs one instruction.
    pub fn on_ranks(policy: Policy, running: u32, in_flight: u32) -> Self {
        let guided = policy.pace != Pace::Steps;
        let grain = if guided { (in_flight / running.saturating_mul(2).max(1)).clamp(1, MOST_OF_A_GRANT) } else { 1 };
        Config { grain, guided, ..Config::new(policy) }
    }
}

/// The maximum number of instructions of a grant on ranks: the operands of all of them are found before the first one
/// runs.
const MOST_OF_A_GRANT: u32 = 64;

/// The dispatcher: hands out the instructions of a program to nodes, and tracks them until they are committed. It is
/// pure: equal inputs give equal orders.
///
/// Call [`Dispatch::handle`] for each report of a node; the reports of one node must keep their order. Call
/// [`Dispatch::lose`] for each lost node. After each call, take orders from [`Dispatch::poll`] until it returns `None`.
/// Deliver the orders to each node in their order, each once. [`execute`](crate::execute) has an example of a driver,
/// and the rules for drivers.
///
/// A method panics if a block is in a state that its instructions do not allow: a bug of this crate, or of a
/// [`Program`] whose methods return different values for equal arguments.
///
/// # Guarantees
///
/// 1. An instruction is granted only if every block that it uses is in the state that the instruction needs, or can
///    change to that state. All instructions that use a block have the same privilege on it.
/// 2. Every committed instruction is in exactly one incarnation of its group's result ([`Lineage`]).
/// 3. A node that asks gets a grant at once if the policy has instructions for it, otherwise as soon as it has some.
/// 4. Reports of a lost node after its loss are ignored. Instructions whose results only the lost node had are handed
///    out again, once.
#[derive(Clone, Hash, Debug)]
pub struct Dispatch<P> {
    program: P,
    parts: Parts,
    config: Config,
    chooser: Chooser,
    /// Groups that nodes may join, if the policy lets nodes join.
    unfinished: Option<Unfinished>,
    weights: Weights,
    blocks: Vec<Block>,
    groups: Groups,
    members: Vec<Member>,
    /// The number of members that the next step waits for.
    playing: usize,
    lost: Lost,
    /// The nodes that have asked and got no grant.
    waiting: VecDeque<Node>,
    /// The nodes that have asked for the next step.
    stepping: Vec<Node>,
    orders: VecDeque<(Node, Order)>,
}

/// Returns the groups that have a result: a group without instructions has none.
fn groups_with_instructions<P: Program>(program: &P) -> impl Iterator<Item = Group> {
    (0..program.groups()).filter(|group| program.len(*group) > 0)
}

impl<P: Program> Dispatch<P> {
    /// Creates a dispatcher for a program that has not begun. Each block is hosted by its owner in `parts`. Blocks that
    /// are not the result of a group have a value.
    ///
    /// # Panics
    /// If the grain is 0.
    pub fn new(program: P, parts: Parts, config: Config) -> Self {
        let mut blocks: Vec<Block> = parts.owners(&program).map(Block::new).collect();
        let mut is_result = vec![false; blocks.len()];
        for group in groups_with_instructions(&program) {
            is_result[program.result(group) as usize] = true;
        }
        for (block, _) in blocks.iter_mut().zip(is_result).filter(|(_, is_result)| !is_result) {
            block.apply(Event::Create).expect("it has no value yet");
        }
        Dispatch::with_blocks(program, parts, config, blocks)
    }

    /// Creates a dispatcher for the next of several programs over the same blocks. `blocks` are the states that the
    /// earlier program [left](Self::into_blocks); each block stays with its host. A result that has a value already is
    /// written again. There may be more blocks than the program has.
    ///
    /// A node's own part is the groups whose results it hosts now.
    ///
    /// # Panics
    /// If the grain is 0, if there are fewer blocks than the program has, or if the host of a result is a node that
    /// does not exist.
    pub fn with_blocks(program: P, parts: Parts, config: Config, blocks: Vec<Block>) -> Self {
        assert!(config.grain > 0, "a grant has an instruction");
        assert!(blocks.len() >= program.blocks() as usize, "each block of the program has a state");
        let groups = program.groups();
        let lens = || (0..groups).map(|group| program.len(group));
        let longest = lens().max().unwrap_or(0);
        let own =
            groups_with_instructions(&program).map(|group| (group, blocks[program.result(group) as usize].host()));
        let chooser = Chooser::new(config.policy, program.grid(), parts.nodes(), own, config.seed);
        let unfinished = (config.policy.then != Then::Stop).then(|| {
            let mut unfinished = Unfinished::new(groups, longest);
            (0..groups).for_each(|group| unfinished.set(group, program.len(group)));
            unfinished
        });
        let mut dispatch = Dispatch {
            chooser,
            groups: Groups::new(groups, lens().map(u64::from).sum()),
            lost: Lost::none(parts.nodes()),
            members: vec![Member::default(); parts.nodes() as usize],
            playing: parts.nodes() as usize,
            waiting: VecDeque::new(),
            stepping: Vec::new(),
            orders: VecDeque::new(),
            weights: Weights::new(parts.speeds(), &vec![1; parts.nodes() as usize]),
            program,
            parts,
            config,
            unfinished,
            blocks,
        };
        for empty in (0..groups).filter(|group| dispatch.program.len(*group) == 0) {
            dispatch.chooser.skip(empty);
            dispatch.groups.complete(empty);
        }
        dispatch
    }

    /// Sets the weights of the nodes, as an earlier program has learnt them. Otherwise they are the speeds of the
    /// parts, and each node has one core.
    ///
    /// # Panics
    /// If they are not those of as many nodes.
    pub fn set_weights(&mut self, weights: Weights) {
        assert_eq!(weights.nodes(), self.parts.nodes(), "each node has a weight");
        self.weights = weights;
    }

    /// Returns the weights of the nodes.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Returns the weights for the next program with instructions of the same kind. A node that has executed nothing
    /// has lost its oldest time.
    pub fn weights_for_the_next(&self) -> Weights {
        let mut weights = self.weights.clone();
        let idle = (0..self.parts.nodes()).filter(|node| !self.members[*node as usize].has_committed());
        idle.for_each(|node| weights.forget(node));
        weights
    }

    /// Returns the states of all blocks, for [the next program](Self::with_blocks). If the program is not
    /// [done](Self::is_done), some blocks may be in use. They then stay in their state for ever.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// Returns the program that it hands out.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// Returns the record of a block.
    ///
    /// # Panics
    /// If the program has no such block.
    pub fn block(&self, block: crate::BlockId) -> &Block {
        &self.blocks[block as usize]
    }

    /// Returns true if all results are complete. The result of group `g` is then on the node
    /// `dispatch.block(program.result(g)).host()`, as soon as that node has carried out all its merge orders: orders
    /// may still be in [`poll`](Self::poll) or on their way.
    pub fn is_done(&self) -> bool {
        self.groups.is_done()
    }

    /// Returns the lineage of a group that has begun and is not complete, otherwise `None`.
    pub fn lineage(&self, group: Group) -> Option<&Lineage> {
        self.groups.lineage(group)
    }

    /// Handles a report of a node. It ignores instructions that the node has not been granted, parts that are not
    /// wanted, and reports of nodes that are lost or do not exist.
    pub fn handle(&mut self, node: Node, report: Report) {
        if self.members.get(node as usize).is_none_or(Member::is_lost) {
            return;
        }
        match report {
            Report::Ask => self.ask(node),
            Report::Committed { run, took } => self.commit(node, run, took),
            Report::Brought(part) => self.accept(node, part),
        }
    }

    /// Takes out the next order, with the node that it is for.
    pub fn poll(&mut self) -> Option<(Node, Order)> {
        self.orders.pop_front()
    }

    fn ask(&mut self, node: Node) {
        let is_first = self.members[node as usize].ask();
        match self.config.policy.pace {
            Pace::Asynchronous => {
                let granted = self.grant(node);
                if !granted {
                    self.wait(node);
                }
                // Other nodes may take the groups of a node that has asked.
                if self.config.guided && is_first || granted && self.grants_change_leaving() {
                    self.retry();
                }
            }
            Pace::Steps => {
                self.stepping.push(node);
                self.step();
            }
        }
    }

    /// Begins the next step if all nodes that take part have ended the last one.
    fn step(&mut self) {
        if self.stepping.len() < self.playing {
            return;
        }
        let mut nodes = std::mem::take(&mut self.stepping);
        nodes.sort_unstable();
        for node in nodes {
            if !self.grant(node) {
                self.change(node, Member::retire);
                self.wait(node);
            }
        }
    }

    /// Tries again to grant instructions to the waiting nodes.
    fn retry(&mut self) {
        let mut refused = 0;
        while refused < self.waiting.len() {
            let node = self.waiting.pop_front().expect("there are more");
            if self.grant(node) {
                self.change(node, |member| member.set_waiting(false));
                refused = if self.grants_change_leaving() { 0 } else { refused };
            } else {
                self.waiting.push_back(node);
                refused += 1;
            }
        }
    }

    /// Changes the record of a node, and counts the nodes that take part in steps.
    fn change<T>(&mut self, node: Node, change: impl FnOnce(&mut Member) -> T) -> T {
        let member = &mut self.members[node as usize];
        let before = member.is_playing();
        let changed = change(member);
        self.playing = self.playing + usize::from(member.is_playing()) - usize::from(before);
        changed
    }

    fn wait(&mut self, node: Node) {
        self.members[node as usize].set_waiting(true);
        self.waiting.push_back(node);
    }

    /// Grants a node the next instructions, if there are any for it.
    fn grant(&mut self, node: Node) -> bool {
        let Some((group, at_most)) = self.pick(node) else {
            return false;
        };
        let (privilege, len) = (self.privilege(group), self.program.len(group));
        let begins = self.groups.open(group, privilege);
        self.chooser.touch(node, group);
        let left = self.groups.left(group, len);
        let sharers = self.groups.lineage(group).map_or(0, |lineage| lineage.incarnations().len()) as u32;
        // Grants of a shared group become smaller, down to one instruction.
        let most = if sharers > 1 { (left / (2 * sharers)).clamp(1, at_most) } else { at_most };
        let (run, joins) = self.groups.take(group, len, most, node, privilege);
        let result_at = self.groups.lineage(group).and_then(|lineage| lineage.first()).expect("it has an incarnation");
        self.note_left(group);
        let what = Run { group, run, attempt: self.groups.attempt(group) };
        self.apply_to_inputs(&what, Event::Issue(Privilege::Read));
        let result = self.program.result(group);
        let (host, has_value) = (self.block(result).host(), self.block(result).state() != State::Uninitiated);
        let value_at = Some(host).filter(|host| begins && has_value && *host != result_at);
        if begins && privilege == Privilege::Write && !has_value {
            self.apply(result, Event::Create);
        }
        match privilege {
            Privilege::Write if self.groups.outstanding(group) > what.run.len() as u32 => {}
            Privilege::Write => self.apply(result, Event::Issue(privilege)),
            _ => what.run.clone().for_each(|_| self.apply(result, Event::Issue(privilege))),
        }
        self.blocks[result as usize].float(result_at);
        self.members[node as usize].grant(&what);
        self.orders.push_back((node, Order::Grant(Grant { what, privilege, result_at, value_at, joins })));
        true
    }

    fn note_left(&mut self, group: Group) {
        // A group that one node executes as a whole is nothing for others when it has begun.
        let is_taken = self.is_whole() && self.groups.lineage(group).is_some();
        let left = if is_taken { 0 } else { self.groups.left(group, self.program.len(group)) };
        if let Some(unfinished) = &mut self.unfinished {
            unfinished.set(group, left);
        }
    }

    fn commit(&mut self, node: Node, what: Run, took: u64) {
        let is_current = self.members[node as usize].commit(&what);
        if !is_current {
            // It was granted for an incarnation that has been lost since.
            return;
        }
        let Run { group, run, .. } = what.clone();
        let result = self.program.result(group);
        self.apply_to_inputs(&what, Event::Commit);
        let privilege = self.groups.commit(group, node, run.clone());
        match privilege {
            Privilege::Write if self.groups.outstanding(group) > 0 => {}
            Privilege::Write => self.apply(result, Event::Commit),
            _ => run.for_each(|_| self.apply(result, Event::Commit)),
        }
        if self.groups.is_committed(group, self.program.len(group)) {
            self.bring_together(group);
        }
        if self.config.guided {
            self.weights.learn(node, took / what.run.len() as u64);
        }
        // All waiting nodes may update the written result now, and the node that wrote it may write it again. Times
        // that have been learnt are another reason to try again.
        let Config { policy, guided, .. } = self.config;
        if policy.version == Version::Mixture || guided && !policy.is_static() {
            self.retry();
        } else if self.members[node as usize].is_waiting() && self.grant(node) {
            self.change(node, |member| member.set_waiting(false));
            self.waiting.retain(|other| *other != node);
        }
    }

    /// Orders the merge of a group's incarnations, because all instructions of the group are committed.
    fn bring_together(&mut self, group: Group) {
        let (into, wanted) = self.groups.want_parts(group);
        if wanted.is_empty() {
            self.settle(group);
        }
        for (from, serial) in wanted {
            self.orders.push_back((from, Order::Merge { part: Part { group, from, serial }, into }));
        }
    }

    /// Handles the arrival of an incarnation at the node that merges it.
    fn accept(&mut self, into: Node, part: Part) {
        let Part { group, from, serial } = part;
        // Refuses an incarnation that its node has changed since, and one that was to be merged by a node that is lost.
        if !self.groups.wants_part(group, into, (from, serial)) {
            return;
        }
        self.groups.merge(group, from);
        self.orders.push_back((into, Order::Accept(part)));
        self.orders.push_back((from, Order::Drop(group)));
        let lineage = self.groups.lineage(group).expect("it is open");
        if lineage.incarnations().len() == 1 && self.groups.is_committed(group, self.program.len(group)) {
            self.settle(group);
        }
    }

    fn settle(&mut self, group: Group) {
        let result = self.program.result(group);
        if self.blocks[result as usize].state().is_changing() {
            self.apply(result, Event::Settle);
        }
        self.groups.complete(group);
    }

    fn apply_to_inputs(&mut self, what: &Run, event: Event) {
        if self.program.follows_reads() {
            for instruction in what.instructions() {
                for input in self.program.inputs(instruction).as_ref() {
                    self.apply(*input, event);
                }
            }
        }
    }

    /// # Panics
    /// If the block's state does not allow it: a bug of this crate.
    #[inline]
    fn apply(&mut self, block: crate::BlockId, event: Event) {
        if let Err(refused) = self.blocks[block as usize].apply(event) {
            panic!("block {block}: {refused}");
        }
    }
}
