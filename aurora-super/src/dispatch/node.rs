//! The dispatcher's record of one node.

use super::message::Run;
use crate::Group;
use smallvec::SmallVec;

/// A node: the groups that it works on, and the instructions that it has been granted.
#[derive(Clone, Hash, Debug, Default)]
pub(super) struct Member {
    is_lost: bool,
    /// In steps: no instruction was left for it.
    is_retired: bool,
    /// It has asked and got no grant.
    is_waiting: bool,
    has_asked: bool,
    has_committed: bool,
    groups: SmallVec<[Group; 2]>,
    granted: SmallVec<[Run; 1]>,
}

impl Member {
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns true if the next step waits for it.
    pub(super) fn is_playing(&self) -> bool {
        !self.is_lost && !self.is_retired
    }

    /// In steps: records that no instruction is left for it.
    pub(super) fn retire(&mut self) {
        self.is_retired = true;
    }

    /// Returns true if it has asked in this program.
    pub(super) fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Returns true if it has executed instructions of this program.
    pub(super) fn has_committed(&self) -> bool {
        self.has_committed
    }

    /// Records that it asks. Returns true the first time.
    pub(super) fn ask(&mut self) -> bool {
        !std::mem::replace(&mut self.has_asked, true)
    }

    /// Returns true if it waits for a grant.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Records that it waits for a grant, or does not wait any more.
    pub(super) fn set_waiting(&mut self, is_waiting: bool) {
        self.is_waiting = is_waiting;
        self.is_retired &= is_waiting;
    }

    /// The groups that it works on, by position.
    pub(super) fn group(&self, at: usize) -> Option<Group> {
        self.groups.get(at).copied()
    }

    /// Removes the group at this position: the node does not work on it any more.
    pub(super) fn leave(&mut self, at: usize) {
        self.groups.remove(at);
    }

    pub(super) fn grant(&mut self, what: &Run) {
        if !self.groups.contains(&what.group) {
            self.groups.push(what.group);
        }
        self.granted.push(what.clone());
    }

    /// Records that it has executed these instructions. False: they were taken from it before, or were never granted to
    /// it.
    pub(super) fn commit(&mut self, what: &Run) -> bool {
        let holds = |granted: &Run| {
            let same = granted.group == what.group && granted.attempt == what.attempt;
            same && !what.run.is_empty() && granted.run.start <= what.run.start && what.run.end <= granted.run.end
        };
        let Some(at) = self.granted.iter().position(holds) else {
            return false;
        };
        self.has_committed = true;
        let granted = self.granted.swap_remove(at);
        for rest in [granted.run.start..what.run.start, what.run.end..granted.run.end] {
            if !rest.is_empty() {
                self.granted.push(Run { run: rest, ..what.clone() });
            }
        }
        true
    }

    /// Returns true if it has been granted instructions of a group and has not committed them.
    pub(super) fn has(&self, group: Group) -> bool {
        self.granted.iter().any(|run| run.group == group)
    }

    /// Returns the number of its grants that it has not committed, and of their instructions.
    pub(super) fn ahead(&self) -> (u32, u32) {
        let instructions = self.granted.iter().fold(0_u32, |sum, run| sum.saturating_add(run.run.len() as u32));
        (self.granted.len() as u32, instructions)
    }

    /// Takes back the instructions of a group that it has been granted.
    pub(super) fn revoke(&mut self, group: Group) -> SmallVec<[Run; 1]> {
        let (taken, kept) = std::mem::take(&mut self.granted).into_iter().partition(|run| run.group == group);
        self.granted = kept;
        taken
    }

    /// Records its loss, and returns the instructions that it had been granted.
    pub(super) fn lose(&mut self) -> SmallVec<[Run; 1]> {
        self.is_lost = true;
        self.groups = SmallVec::new();
        std::mem::take(&mut self.granted)
    }
}
