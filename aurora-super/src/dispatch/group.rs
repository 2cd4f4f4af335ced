//! The progress of the groups.

use crate::data::Privilege;
use crate::lineage::{Lineage, Runs};
use crate::{Group, Node, Range};

/// In place of an index: the group has not begun, or is complete.
const UNTOUCHED: u32 = u32::MAX;
const COMPLETE: u32 = u32::MAX - 1;

/// All groups. A group that has not begun, or is complete, takes 12 bytes.
#[derive(Clone, Hash, Debug)]
pub(super) struct Groups {
    groups: Vec<Progress>,
    open: Vec<Open>,
    free: Vec<u32>,
    incomplete: u32,
    /// The number of instructions of all groups that may be granted.
    left: u64,
    /// The number of parts that were ordered so far.
    serial: u64,
}

#[derive(Clone, Hash, Debug)]
struct Progress {
    /// The first instruction that was never granted.
    fresh: u32,
    /// The index of its [`Open`], or [`UNTOUCHED`], or [`COMPLETE`].
    at: u32,
    /// The number of times that it began again, because all its results were lost.
    attempt: u32,
}

#[derive(Clone, Hash, Debug)]
struct Open {
    /// Instructions that were granted and are to be granted again.
    returned: Runs,
    lineage: Lineage,
    /// The incarnations that are to be merged into the first one, each by the number of its order.
    wanted: Vec<(Node, u64)>,
    committed: u32,
    /// The number of instructions that are granted and not committed.
    outstanding: u32,
    privilege: Privilege,
}

impl Groups {
    /// Groups of which none has begun, with this number of instructions in all.
    pub(super) fn new(count: u32, left: u64) -> Self {
        let untouched = Progress { fresh: 0, at: UNTOUCHED, attempt: 0 };
        Groups {
            groups: vec![untouched; count as usize],
            open: Vec::new(),
            free: Vec::new(),
            incomplete: count,
            left,
            serial: 0,
        }
    }

    /// Returns true if all groups are complete.
    pub(super) fn is_done(&self) -> bool {
        self.incomplete == 0
    }

    pub(super) fn is_complete(&self, group: Group) -> bool {
        self.groups[group as usize].at == COMPLETE
    }

    /// Returns the number of times that all results of the group were lost.
    pub(super) fn attempt(&self, group: Group) -> u32 {
        self.groups[group as usize].attempt
    }

    fn find(&self, group: Group) -> Option<&Open> {
        self.open.get(self.groups.get(group as usize)?.at as usize)
    }

    fn get(&mut self, group: Group) -> &mut Open {
        &mut self.open[self.groups[group as usize].at as usize]
    }

    /// Returns its incarnations, while it is open.
    pub(super) fn lineage(&self, group: Group) -> Option<&Lineage> {
        self.find(group).map(|open| &open.lineage)
    }

    /// Returns the number of instructions that are granted and not committed.
    pub(super) fn outstanding(&self, group: Group) -> u32 {
        self.find(group).map_or(0, |open| open.outstanding)
    }

    /// Returns the privilege on its result, while it is open.
    pub(super) fn privilege(&self, group: Group) -> Option<Privilege> {
        self.find(group).map(|open| open.privilege)
    }

    /// Returns the number of instructions that may be granted, of a group that has `len`.
    pub(super) fn left(&self, group: Group, len: u32) -> u32 {
        let progress = &self.groups[group as usize];
        match progress.at {
            COMPLETE => 0,
            UNTOUCHED => len,
            at => len - progress.fresh + self.open[at as usize].returned.len(),
        }
    }

    /// Returns the number of instructions of all groups that may be granted.
    pub(super) fn all_left(&self) -> u64 {
        self.left
    }

    /// Returns true if all instructions of a group are committed.
    pub(super) fn is_committed(&self, group: Group, len: u32) -> bool {
        self.find(group).is_some_and(|open| open.committed == len)
    }

    /// Opens a group and returns true, if the group is untouched.
    pub(super) fn open(&mut self, group: Group, privilege: Privilege) -> bool {
        let progress = &mut self.groups[group as usize];
        let begins = progress.at == UNTOUCHED;
        if begins {
            let (returned, lineage, wanted) = (Runs::default(), Lineage::default(), Vec::new());
            let open = Open { returned, lineage, wanted, committed: 0, outstanding: 0, privilege };
            progress.at = self.free.pop().unwrap_or(self.open.len() as u32);
            match self.open.get_mut(progress.at as usize) {
                Some(place) => *place = open,
                None => self.open.push(open),
            }
        }
        begins
    }

    /// Takes up to `most` instructions for a node. Returns them, and true if the node thereby joins other nodes.
    pub(super) fn take(
        &mut self,
        group: Group,
        len: u32,
        most: u32,
        node: Node,
        privilege: Privilege,
    ) -> (Range, bool) {
        let progress = &mut self.groups[group as usize];
        let open = &mut self.open[progress.at as usize];
        let run = open.returned.take_first(most).unwrap_or_else(|| {
            let first = progress.fresh;
            progress.fresh = len.min(first.saturating_add(most));
            first..progress.fresh
        });
        self.left -= run.len() as u64;
        open.outstanding += run.len() as u32;
        open.privilege = privilege;
        // The node's incarnation, if it was ordered to send it, is going to change.
        open.wanted.retain(|(other, _)| *other != node);
        let is_remote = privilege == Privilege::RemoteUpdate && open.lineage.first().is_some();
        let joins = !is_remote && open.lineage.join(node) && open.lineage.incarnations().len() > 1;
        (run, joins)
    }

    /// Records instructions that a node has committed. Returns their privilege on the result.
    pub(super) fn commit(&mut self, group: Group, node: Node, run: Range) -> Privilege {
        let open = self.get(group);
        open.outstanding -= run.len() as u32;
        open.committed += run.len() as u32;
        let holder = match open.privilege {
            Privilege::RemoteUpdate => open.lineage.first().expect("it has an incarnation"),
            _ => node,
        };
        open.lineage.commit(holder, run);
        open.privilege
    }

    /// Takes back granted instructions that will not be committed. Returns their privilege on the result.
    pub(super) fn give_back(&mut self, group: Group, run: Range) -> Privilege {
        self.left += run.len() as u64;
        let open = self.get(group);
        open.outstanding -= run.len() as u32;
        assert!(open.returned.add(run), "a granted instruction is granted again once");
        open.privilege
    }

    /// Orders all other incarnations to the node of the first one. Returns that node, and the other nodes with the
    /// numbers of their orders.
    pub(super) fn want_parts(&mut self, group: Group) -> (Node, Vec<(Node, u64)>) {
        let mut serial = self.serial;
        let open = self.get(group);
        let nodes = open.lineage.incarnations().iter().map(|part| part.node);
        let into = open.lineage.first().expect("it has an incarnation");
        open.wanted = nodes.skip(1).zip(serial + 1..).collect();
        serial += open.wanted.len() as u64;
        let wanted = open.wanted.clone();
        self.serial = serial;
        (into, wanted)
    }

    /// Returns true if a part, as it was when it was ordered, is still to be merged on the node `into`.
    pub(super) fn wants_part(&self, group: Group, into: Node, part: (Node, u64)) -> bool {
        self.find(group).is_some_and(|open| open.lineage.first() == Some(into) && open.wanted.contains(&part))
    }

    /// Merges the incarnation of a node into the first one.
    pub(super) fn merge(&mut self, group: Group, from: Node) {
        let open = self.get(group);
        open.lineage.merge(from);
        open.wanted.retain(|(node, _)| *node != from);
    }

    /// Removes a node's lost incarnation: its instructions are to be granted again. False: the node has none.
    pub(super) fn lose(&mut self, group: Group, node: Node) -> bool {
        let open = self.get(group);
        let Some(held) = open.lineage.lose(node) else {
            return false;
        };
        open.committed -= held.len();
        let more = u64::from(held.len());
        open.wanted.retain(|(other, _)| *other != node);
        assert!(open.returned.merge(&held), "a committed instruction is granted again once");
        self.left += more;
        true
    }

    /// Closes a group that is complete and has one incarnation.
    pub(super) fn complete(&mut self, group: Group) {
        self.close(group, COMPLETE);
        self.incomplete -= 1;
    }

    /// Makes a group of `len` instructions begin again, because all its results are lost.
    pub(super) fn begin_again(&mut self, group: Group, len: u32) {
        self.left += u64::from(len - self.left(group, len));
        self.incomplete += u32::from(self.is_complete(group));
        self.close(group, UNTOUCHED);
        let progress = &mut self.groups[group as usize];
        (progress.fresh, progress.attempt) = (0, progress.attempt + 1);
    }

    fn close(&mut self, group: Group, as_what: u32) {
        let at = std::mem::replace(&mut self.groups[group as usize].at, as_what);
        if at < COMPLETE {
            self.free.push(at);
        }
    }
}
