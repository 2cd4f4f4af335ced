//! What the dispatcher knows of one node.

use super::message::Run;
use crate::Group;

/// A node: what it works on, and what it has been granted.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    is_lost: bool,
    /// In steps: there was nothing for it any more.
    is_retired: bool,
    groups: Vec<Group>,
    granted: Vec<Run>,
}

impl Member {
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether the next step waits for it.
    pub(super) fn is_playing(&self) -> bool {
        !self.is_lost && !self.is_retired
    }

    pub(super) fn retire(&mut self) {
        self.is_retired = true;
    }

    pub(super) fn play(&mut self) {
        self.is_retired = false;
    }

    /// The groups that it works on, by position.
    pub(super) fn group(&self, at: usize) -> Option<Group> {
        self.groups.get(at).copied()
    }

    /// It does not work on the group at this position any more.
    pub(super) fn leave(&mut self, at: usize) {
        self.groups.remove(at);
    }

    /// Instructions that it was granted and has not committed.
    pub(super) fn outstanding(&self) -> u32 {
        self.granted.iter().map(|run| run.run.len() as u32).sum()
    }

    pub(super) fn grant(&mut self, what: &Run) {
        if !self.groups.contains(&what.group) {
            self.groups.push(what.group);
        }
        self.granted.push(what.clone());
    }

    /// It has executed these. False: they were taken from it before that.
    pub(super) fn commit(&mut self, what: &Run) -> bool {
        let holds = |granted: &Run| {
            let same = granted.group == what.group && granted.attempt == what.attempt;
            same && granted.run.start <= what.run.start && what.run.end <= granted.run.end
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
    pub(super) fn revoke(&mut self, group: Group) -> Vec<Run> {
        self.granted.extract_if(.., |run| run.group == group).collect()
    }

    /// It is lost: what it had been granted.
    pub(super) fn lose(&mut self) -> Vec<Run> {
        self.is_lost = true;
        self.groups = Vec::new();
        std::mem::take(&mut self.granted)
    }
}
