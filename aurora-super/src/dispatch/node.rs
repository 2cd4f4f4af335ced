//! What the dispatcher knows of one node.

use super::message::Run;
use crate::Group;
use smallvec::SmallVec;

/// A node: what it works on, and what it has been granted.
#[derive(Clone, Hash, Debug, Default)]
pub(super) struct Member {
    is_lost: bool,
    /// In steps: there was nothing for it any more.
    is_retired: bool,
    /// It has asked, and there was nothing for it.
    is_waiting: bool,
    groups: SmallVec<[Group; 2]>,
    granted: SmallVec<[Run; 1]>,
}

impl Member {
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether the next step waits for it.
    pub(super) fn is_playing(&self) -> bool {
        !self.is_lost && !self.is_retired
    }

    /// In steps: there is nothing for it any more.
    pub(super) fn retire(&mut self) {
        self.is_retired = true;
    }

    /// Whether it waits for a grant.
    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// It has to wait for a grant, or does not wait any more.
    pub(super) fn set_waiting(&mut self, is_waiting: bool) {
        self.is_waiting = is_waiting;
        self.is_retired &= is_waiting;
    }

    /// The groups that it works on, by position.
    pub(super) fn group(&self, at: usize) -> Option<Group> {
        self.groups.get(at).copied()
    }

    /// It does not work on the group at this position any more.
    pub(super) fn leave(&mut self, at: usize) {
        self.groups.remove(at);
    }

    pub(super) fn grant(&mut self, what: &Run) {
        if !self.groups.contains(&what.group) {
            self.groups.push(what.group);
        }
        self.granted.push(what.clone());
    }

    /// It has executed these. False: they were taken from it before that, or it was never granted them.
    pub(super) fn commit(&mut self, what: &Run) -> bool {
        let holds = |granted: &Run| {
            let same = granted.group == what.group && granted.attempt == what.attempt;
            same && !what.run.is_empty() && granted.run.start <= what.run.start && what.run.end <= granted.run.end
        };
        let Some(at) = self.granted.iter().position(holds) else {
            return false;
        };
        let granted = self.granted.swap_remove(at);
        for rest in [granted.run.start..what.run.start, what.run.end..granted.run.end] {
            if !rest.is_empty() {
                self.granted.push(Run { run: rest, ..what.clone() });
            }
        }
        true
    }

    /// Takes from it what it has been granted of a group.
    pub(super) fn revoke(&mut self, group: Group) -> SmallVec<[Run; 1]> {
        let (taken, kept) = std::mem::take(&mut self.granted).into_iter().partition(|run| run.group == group);
        self.granted = kept;
        taken
    }

    /// It is lost: what it had been granted.
    pub(super) fn lose(&mut self) -> SmallVec<[Run; 1]> {
        self.is_lost = true;
        self.groups = SmallVec::new();
        std::mem::take(&mut self.granted)
    }
}
