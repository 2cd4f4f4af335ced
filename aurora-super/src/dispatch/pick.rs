//! The choice of the next group for a node, and of the number of instructions of its grant.

use super::{Config, Dispatch};
use crate::data::{Privilege, State};
use crate::policy::{Then, Version};
use crate::{Group, Node, Program, Updates};
use std::cmp::Reverse;

/// The number of groups, those with most instructions left, among which a node looks for one whose operands it may
/// have.
const LOOKED_AT: usize = 16;

/// The time in ns that it takes a node to get a grant after it has asked for one, and the time of a partial result: to
/// make its identity, to send it and to merge it. Both depend on the network and on the blocks; these are typical of
/// one machine.
const GRANT: f64 = 200e3;
const MERGE: f64 = 1e6;

/// The room of a node for grants.
struct Room {
    /// The number of instructions that it may be granted ahead.
    ahead: u32,
    /// The maximum number of instructions of a grant.
    most: u32,
    /// A core of it has no instruction: only then it takes instructions of another node's part.
    is_idle: bool,
}

impl<P: Program> Dispatch<P> {
    /// Returns the group of a node's next grant, and the maximum number of instructions of the grant.
    pub(super) fn pick(&mut self, node: Node) -> Option<(Group, u32)> {
        let shares = self.shares();
        let Room { ahead, most, is_idle } = self.room(node, shares);
        if shares && ahead == 0 {
            return None;
        }
        let mut at = 0;
        while let Some(group) = self.members[node as usize].group(at) {
            if self.groups.left(group, self.program.len(group)) == 0 {
                self.members[node as usize].leave(at);
            } else if self.may_work(node, group) && !(shares && self.should_leave(node, group, shares)) {
                return Some((group, most));
            } else {
                at += 1;
            }
        }
        if ahead == 0 {
            return None;
        }
        if let Some(group) = self.chooser.take(node) {
            return (!self.should_leave(node, group, shares)).then_some((group, most));
        }
        if !is_idle {
            return None;
        }
        let least = self.least_worth();
        let mut unfinished = self.unfinished.take()?;
        let looked_at = if self.config.policy.then == Then::JoinBest { LOOKED_AT } else { 1 };
        let may_join = |group: &Group| self.may_work(node, *group) && self.is_worth(*group) && self.is_open(*group);
        let joinable = unfinished.most_first(least).filter(may_join);
        // Of groups that are equally close, the first.
        let joined = joinable.take(looked_at).min_by_key(|group| Reverse(self.chooser.closeness(node, *group)));
        self.unfinished = Some(unfinished);
        joined.filter(|group| !self.should_leave(node, *group, shares)).map(|group| (group, most))
    }

    /// Returns true if a node should leave a group to faster nodes, and these may take it. An untouched group of
    /// several instructions that nodes can share is not left: the fast nodes join it.
    fn should_leave(&self, node: Node, group: Group, shares: bool) -> bool {
        let len = self.program.len(group);
        let (run, may_leave) = if shares { (1, self.chooser.is_empty() || len == 1) } else { (len, true) };
        self.config.policy.then == Then::JoinBest
            && may_leave
            && self.is_worth(group)
            && self.weights.should_leave(node, self.groups.all_left(), run)
    }

    /// Returns true if several nodes may execute instructions of one group now.
    fn shares(&self) -> bool {
        let may = match self.config.policy.version {
            Version::Simple => false,
            Version::Mixture => self.chooser.is_empty(),
            Version::Remote | Version::Distributed => true,
        };
        may && self.program.updates() != Updates::InOrder
    }

    /// Returns the room of a node for grants. If groups are not shared, a group counts as one instruction.
    fn room(&self, node: Node, shares: bool) -> Room {
        let Config { policy, grain, guided, .. } = self.config;
        if !guided || policy.is_static() || self.parts.nodes() == 1 {
            return Room { ahead: u32::MAX, most: grain, is_idle: true };
        }
        let (cores, (grants, instructions)) = (self.weights.cores(node), self.members[node as usize].ahead());
        let (granted, left) =
            if shares { (instructions, self.groups.all_left()) } else { (grants, self.chooser.len().into()) };
        let each = if shares { 1.0 } else { (self.groups.all_left() as f64 / left.max(1) as f64).max(1.0) };
        // As many as hide the time of a grant, of long instructions none; and half of the node's share of all that is
        // left.
        let hide = |time: f64| (f64::from(cores) * GRANT / (each * time)).round();
        let hiding = self.weights.expected(node).map_or(0.0, hide);
        let limit = (f64::from(cores) + hiding).max(self.weights.share(node) * left as f64 / 2.0) as u32;
        let most = if shares { (limit / cores.saturating_mul(2)).clamp(1, grain) } else { grain };
        Room { ahead: limit.saturating_sub(granted), most, is_idle: granted < cores }
    }

    /// Returns true if another node may take the rest of a group: it takes longer than a grant if the group is
    /// untouched, and longer than a merge if not. After a loss, no node may work on the group any more.
    fn is_worth(&self, group: Group) -> bool {
        let left = || f64::from(self.groups.left(group, self.program.len(group)));
        let cost = || if self.groups.lineage(group).is_none() { GRANT } else { MERGE };
        let is_long = || self.weights.longest().is_none_or(|time| left() * time > cost());
        !self.config.guided || !self.lost.is_empty() || is_long()
    }

    /// Returns the least number of instructions of a group that another node may take.
    fn least_worth(&self) -> u32 {
        let is_guided = self.config.guided && self.lost.is_empty();
        let known = if is_guided { self.weights.longest() } else { None };
        known.map_or(1, |time| (GRANT / time) as u32).max(1)
    }

    /// Returns true if a group has begun, or the node whose own part has it has asked for instructions: before, it is
    /// not known to be busy.
    fn is_open(&self, group: Group) -> bool {
        let host = || &self.members[self.block(self.program.result(group)).host() as usize];
        !self.config.guided || self.groups.lineage(group).is_some() || host().has_asked() || host().is_lost()
    }

    /// Returns the privilege on the result for instructions of a group that are granted now.
    pub(super) fn privilege(&self, group: Group) -> Privilege {
        let is_shared = || self.block(self.program.result(group)).state() == State::DistributedUpdateable;
        match self.config.policy.version {
            _ if self.program.updates() == Updates::InOrder => Privilege::Write,
            Version::Simple => Privilege::Write,
            Version::Remote => Privilege::RemoteUpdate,
            Version::Mixture if !self.chooser.is_empty() && !is_shared() => Privilege::Write,
            Version::Distributed | Version::Mixture => Privilege::DistributedUpdate,
        }
    }

    /// Returns true if a node may be granted instructions of a group now.
    fn may_work(&self, node: Node, group: Group) -> bool {
        let (block, privilege) = (self.block(self.program.result(group)), self.privilege(group));
        if privilege != Privilege::Write {
            let waits_for_itself =
                || self.program.updates() == Updates::InTurns && self.members[node as usize].has(group);
            return block.admits(privilege) && (self.config.extends || !waits_for_itself());
        }
        // One node runs all instructions of a group that is written to.
        let first = self.groups.lineage(group).and_then(|lineage| lineage.first());
        first.is_none_or(|first| first == node) && (self.config.extends || self.groups.outstanding(group) == 0)
    }

    /// Returns true if one node executes all instructions of a group, whatever the state of the program.
    pub(super) fn is_whole(&self) -> bool {
        self.program.updates() == Updates::InOrder || self.config.policy.version == Version::Simple
    }

    /// Returns true if a grant to one node may be a reason for another one to take a group that it has left: the rest
    /// of a group is not worth a move any more, or the next group is a shorter one.
    pub(super) fn grants_change_leaving(&self) -> bool {
        let Config { policy, guided, .. } = self.config;
        policy.then == Then::JoinBest && (guided || self.is_whole() || policy.version == Version::Mixture)
    }
}
