//! The instruction fetch and dispatch unit (S0 section 1): who executes what.

mod group;
mod loss;
mod message;
mod node;

pub use message::{Grant, Order, Part, Report, Run};

use crate::data::{Block, Event, Privilege, State};
use crate::execute::Lost;
use crate::lineage::Lineage;
use crate::policy::{Chooser, Pace, Policy, Then, Unfinished, Version, Weights};
use crate::{Group, Node, Parts, Program};
use group::Groups;
use node::Member;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Among so many of the groups with most left a node looks for one of which it has operands.
const LOOKED_AT: usize = 16;

/// How a [`Dispatch`] hands out instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Who works on what.
    pub policy: Policy,
    /// The most instructions of one grant; at least 1.
    pub grain: u32,
    /// A node that has instructions of a writeable group may be granted more of it before they are committed.
    pub extends: bool,
    /// Chance in the policy comes from it.
    pub seed: u64,
}

impl Config {
    /// One instruction at a time.
    pub fn new(policy: Policy) -> Self {
        Config { policy, grain: 1, extends: false, seed: 0 }
    }
}

/// The dispatcher: hands out the instructions of a program to nodes, and follows what becomes of them. Pure.
///
/// [`Dispatch::handle`] takes what a node reports, in any order that keeps the reports of one node in theirs;
/// [`Dispatch::lose`] is told of a node that is lost. After either, [`Dispatch::poll`] gives orders until there are
/// none; those to one node have to reach it in their order, and once. Equal inputs give equal orders.
/// [`execute`](crate::execute) has a driver as an example, and what a driver keeps to.
///
/// A method panics if a block is in a state that its instructions do not allow: a bug of this crate, or of a
/// [`Program`] whose methods do not always return the same.
///
/// # What holds
///
/// 1. An instruction is granted only if every block that it uses is in the state that it needs or can change to it, and
///    all instructions that use a block have one privilege on it.
/// 2. Every committed instruction is in exactly one incarnation of its group's result ([`Lineage`]).
/// 3. A node that asks is granted something at once if there is anything that its policy lets it have; else as soon as
///    there is.
/// 4. Nothing that a lost node says after its loss counts, and all that only it had is handed out again, once.
#[derive(Clone, Hash, Debug)]
pub struct Dispatch<P> {
    program: P,
    parts: Parts,
    config: Config,
    chooser: Chooser,
    /// Groups to join, if the policy has nodes join.
    unfinished: Option<Unfinished>,
    /// The speeds of nodes, if the policy looks at them.
    weights: Option<Weights>,
    blocks: Vec<Block>,
    groups: Groups,
    members: Vec<Member>,
    /// How many of them the next step waits for.
    playing: usize,
    lost: Lost,
    /// They have asked, and there was nothing for them.
    waiting: VecDeque<Node>,
    /// They have asked for the next step.
    stepping: Vec<Node>,
    orders: VecDeque<(Node, Order)>,
}

/// The groups that have a result: an empty one needs none.
fn groups_with_instructions<P: Program>(program: &P) -> impl Iterator<Item = Group> {
    (0..program.groups()).filter(|group| program.len(*group) > 0)
}

impl<P: Program> Dispatch<P> {
    /// Before anything has begun. All blocks lie with their owners by `parts`. Those that are no result of a group have
    /// a value.
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

    /// The next of several programs over the same blocks: these are as an earlier one [left them](Self::into_blocks).
    /// They lie with their hosts. A result that has a value already is written again. There may be more blocks than the
    /// program has.
    ///
    /// A node's own part is the groups whose results it hosts now.
    ///
    /// # Panics
    /// If the grain is 0, if there are fewer blocks than the program has, or if the host of a result is a node that
    /// there is not.
    pub fn with_blocks(program: P, parts: Parts, config: Config, blocks: Vec<Block>) -> Self {
        assert!(config.grain > 0, "a grant has an instruction");
        assert!(blocks.len() >= program.blocks() as usize, "each block of the program has a state");
        let groups = program.groups();
        let longest = (0..groups).map(|group| program.len(group)).max().unwrap_or(0);
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
            groups: Groups::new(groups),
            lost: Lost::none(parts.nodes()),
            members: vec![Member::default(); parts.nodes() as usize],
            playing: parts.nodes() as usize,
            waiting: VecDeque::new(),
            stepping: Vec::new(),
            orders: VecDeque::new(),
            weights: (config.policy.then == Then::JoinBest).then(|| Weights::new(parts.speeds())),
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

    /// The states of all blocks, for [the next program](Self::with_blocks). Of a program that is not
    /// [done](Self::is_done) some may be in use, and then never in another state.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// What it hands out.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// What it knows of a block.
    ///
    /// # Panics
    /// If the program has no such block.
    pub fn block(&self, block: crate::BlockId) -> &Block {
        &self.blocks[block as usize]
    }

    /// Whether all results are complete. The result of group `g` is then at `dispatch.block(program.result(g)).host()`,
    /// as soon as that node has merged all that it was ordered to: orders may still be in [`poll`](Self::poll) or under
    /// way.
    pub fn is_done(&self) -> bool {
        self.groups.is_done()
    }

    /// What is known of a group that has begun and is not complete.
    pub fn lineage(&self, group: Group) -> Option<&Lineage> {
        self.groups.lineage(group)
    }

    /// A node reports something. Instructions that it has not been granted, parts that are not wanted, and nodes that
    /// there are not do not count.
    pub fn handle(&mut self, node: Node, report: Report) {
        if self.members.get(node as usize).is_none_or(Member::is_lost) {
            return;
        }
        match report {
            Report::Ask => self.ask(node),
            Report::Committed(run) => self.commit(node, run),
            Report::Brought(part) => self.accept(node, part),
        }
    }

    /// The next order, and to whom.
    pub fn poll(&mut self) -> Option<(Node, Order)> {
        self.orders.pop_front()
    }

    fn ask(&mut self, node: Node) {
        match self.config.policy.pace {
            Pace::Asynchronous => {
                if !self.grant(node) {
                    self.wait(node);
                }
            }
            Pace::Steps => {
                self.stepping.push(node);
                self.step();
            }
        }
    }

    /// Begins the next step if all who take part have ended the last.
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

    /// Has those who wait try again.
    fn retry(&mut self) {
        for _ in 0..self.waiting.len() {
            let node = self.waiting.pop_front().expect("as many as there were");
            match self.grant(node) {
                true => self.change(node, |member| member.set_waiting(false)),
                false => self.waiting.push_back(node),
            }
        }
    }

    /// Changes what is known of a node, and counts who takes part in steps.
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
        let Some(group) = self.pick(node) else {
            return false;
        };
        let (privilege, len) = (self.privilege(group), self.program.len(group));
        let begins = self.groups.open(group, privilege);
        self.chooser.touch(node, group);
        let left = self.groups.left(group, len);
        let sharers = self.groups.lineage(group).map_or(0, |lineage| lineage.incarnations().len()) as u32;
        // Of a group that several share the last instructions go one by one.
        let most = if sharers > 1 { (left / (2 * sharers)).clamp(1, self.config.grain) } else { self.config.grain };
        let (run, joins) = self.groups.take(group, len, most, node, privilege);
        let result_at = self.groups.lineage(group).and_then(|lineage| lineage.first()).expect("it has an incarnation");
        self.note_left(group);
        let what = Run { group, run, attempt: self.groups.attempt(group) };
        self.apply_to_inputs(&what, Event::Issue(Privilege::Read));
        let result = self.program.result(group);
        let has_none = || self.blocks[result as usize].state() == State::Uninitiated;
        if begins && privilege == Privilege::Write && has_none() {
            self.apply(result, Event::Create);
        }
        match privilege {
            Privilege::Write if self.groups.outstanding(group) > what.run.len() as u32 => {}
            Privilege::Write => self.apply(result, Event::Issue(privilege)),
            _ => what.run.clone().for_each(|_| self.apply(result, Event::Issue(privilege))),
        }
        self.blocks[result as usize].float(result_at);
        self.members[node as usize].grant(&what);
        self.orders.push_back((node, Order::Grant(Grant { what, privilege, result_at, joins })));
        true
    }

    /// The group of which a node is to be granted something.
    fn pick(&mut self, node: Node) -> Option<Group> {
        if let (Some(weights), Some(unfinished)) = (&self.weights, &self.unfinished)
            // Nobody else may have what is left of a group that is written to.
            && self.config.policy.version != Version::Simple
            && self.chooser.is_empty()
            && weights.should_leave(node, unfinished.total())
        {
            return None;
        }
        let mut at = 0;
        while let Some(group) = self.members[node as usize].group(at) {
            if self.groups.left(group, self.program.len(group)) == 0 {
                self.members[node as usize].leave(at);
            } else if self.may_work(node, group) {
                return Some(group);
            } else {
                at += 1;
            }
        }
        if let Some(group) = self.chooser.take(node) {
            return Some(group);
        }
        let mut unfinished = self.unfinished.take()?;
        let looked_at = if self.weights.is_some() { LOOKED_AT } else { 1 };
        let joinable = unfinished.most_first().filter(|group| self.may_work(node, *group)).take(looked_at);
        // Of those that are equally close the first.
        let joined = joinable.min_by_key(|group| Reverse(self.chooser.closeness(node, *group)));
        self.unfinished = Some(unfinished);
        joined
    }

    /// What instructions of a group that are granted now may do with its result.
    fn privilege(&self, group: Group) -> Privilege {
        let is_shared = || self.block(self.program.result(group)).state() == State::DistributedUpdateable;
        match self.config.policy.version {
            Version::Simple => Privilege::Write,
            Version::Remote => Privilege::RemoteUpdate,
            Version::Mixture if !self.chooser.is_empty() && !is_shared() => Privilege::Write,
            Version::Distributed | Version::Mixture => Privilege::DistributedUpdate,
        }
    }

    /// Whether a node may be granted instructions of a group now.
    fn may_work(&self, node: Node, group: Group) -> bool {
        let (block, privilege) = (self.block(self.program.result(group)), self.privilege(group));
        if privilege != Privilege::Write {
            return block.admits(privilege);
        }
        // One node has all of a group that is written to.
        let first = self.groups.lineage(group).and_then(|lineage| lineage.first());
        first.is_none_or(|first| first == node) && (self.config.extends || self.groups.outstanding(group) == 0)
    }

    fn note_left(&mut self, group: Group) {
        let left = self.groups.left(group, self.program.len(group));
        if let Some(unfinished) = &mut self.unfinished {
            unfinished.set(group, left);
        }
    }

    fn commit(&mut self, node: Node, what: Run) {
        let is_current = self.members[node as usize].commit(&what);
        if !is_current {
            // It was granted for an incarnation that is lost since.
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
        // What was written to may be updated now by all who wait, and written to by the node that did it.
        if self.config.policy.version == Version::Mixture {
            self.retry();
        } else if self.members[node as usize].is_waiting() && self.grant(node) {
            self.change(node, |member| member.set_waiting(false));
            self.waiting.retain(|other| *other != node);
        }
    }

    /// All instructions of a group are committed: its incarnations are to be merged.
    fn bring_together(&mut self, group: Group) {
        let (into, wanted) = self.groups.want_parts(group);
        if wanted.is_empty() {
            self.settle(group);
        }
        for (from, serial) in wanted {
            self.orders.push_back((from, Order::Merge { part: Part { group, from, serial }, into }));
        }
    }

    /// The incarnation of a node has come to the one that it is to be merged into.
    fn accept(&mut self, into: Node, part: Part) {
        let Part { group, from, serial } = part;
        // Not what it was before its node made more, nor what was to be merged by another node, which is lost.
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
    /// If the block's state does not allow it: a bug of ours.
    #[inline]
    fn apply(&mut self, block: crate::BlockId, event: Event) {
        if let Err(refused) = self.blocks[block as usize].apply(event) {
            panic!("block {block}: {refused}");
        }
    }
}
