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
/// make its identity, to send it and to merge it. Both depend on the network and on the blocks; these are typical of one
/// machine.
const GRANT: f64 = 200e3;
const MERGE: f64 = 1e6;

impl<P: Program> Dispatch<P> {
    /// Returns the group of a node's next grant, and the maximum number of instructions of the grant.
    pub(super) fn pick(&mut self, node: Node) -> Option<(Group, u32)> {
        let shares = self.shares();
        let (room, most) = self.room(node, shares);
        let may_begin = room > 0;
        if shares && !may_begin {
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
        if !may_begin {
            return None;
        }
        if let Some(group) = self.chooser.take(node) {
            return (!self.should_leave(node, group, shares)).then_some((group, most));
        }
        let mut unfinished = self.unfinished.take()?;
        let looked_at = if self.config.policy.then == Then::JoinBest { LOOKED_AT } else { 1 };
        let joinable = unfinished.most_first().filter(|group| self.may_work(node, *group) && self.is_worth(*group));
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

    /// Returns the number of instructions that a node may be granted ahead now, and of those of one grant. If groups
    /// are not shared, a group counts as one.
    fn room(&self, node: Node, shares: bool) -> (u32, u32) {
        let Config { policy, grain, guided, .. } = self.config;
        if !guided || policy.is_static() {
            return (u32::MAX, grain);
        }
        let (cores, (grants, instructions)) = (self.weights.cores(node), self.members[node as usize].ahead());
        let (granted, left) =
            if shares { (instructions, self.groups.all_left()) } else { (grants, self.chooser.len().into()) };
        let each = if shares { 1.0 } else { (self.groups.all_left() as f64 / left.max(1) as f64).max(1.0) };
        // As many as hide the time of a grant; and half of the node's share of all that is left.
        let hiding = self.weights.time().map_or(0.0, |time| (f64::from(cores) * GRANT / (each * time)).ceil());
        let limit = (f64::from(cores) + hiding).max(self.weights.share(node) * left as f64 / 2.0) as u32;
        let most = if shares { (limit / cores.saturating_mul(2)).clamp(1, grain) } else { grain };
        (limit.saturating_sub(granted), most)
    }

    /// Returns true if another node may take the rest of a group: it takes longer than a grant if the group is
    /// untouched, and longer than a merge if not. After a loss, no node may work on the group any more.
    fn is_worth(&self, group: Group) -> bool {
        let left = || f64::from(self.groups.left(group, self.program.len(group)));
        let cost = || if self.groups.lineage(group).is_none() { GRANT } else { MERGE };
        let is_long = || self.weights.time().is_none_or(|time| left() * time > cost());
        !self.config.guided || !self.lost.is_empty() || is_long()
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

    /// Returns true if a grant to one node may be a reason for another one to take a group that it has left: the rest
    /// of a group is not worth a move any more, or the next group is a shorter one.
    pub(super) fn grants_change_leaving(&self) -> bool {
        let Config { policy, guided, .. } = self.config;
        let whole = matches!(policy.version, Version::Simple | Version::Mixture);
        policy.then == Then::JoinBest && (guided || whole || self.program.updates() == Updates::InOrder)
    }
}
