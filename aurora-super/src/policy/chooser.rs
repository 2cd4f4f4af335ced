//! Picks the next untouched group for a node.

use super::untouched::{Lines, Untouched};
use super::{Choice, Policy, Then};
use crate::{Group, Node, Random};

/// The untouched groups, the own part of each node, and the groups that each node has worked on.
#[derive(Clone, Hash, Debug)]
pub struct Chooser {
    policy: Policy,
    untouched: Untouched,
    nodes: Vec<Member>,
    /// Groups of lost nodes' own parts, and groups that have to begin again.
    orphans: Vec<Group>,
    random: Random,
}

#[derive(Clone, Hash, Debug)]
struct Member {
    /// The groups of its own part in the order of their numbers. The first `next` of them are not untouched.
    own: Vec<Group>,
    next: usize,
    begun: bool,
    /// The rows and columns of its own part.
    near: Lines,
    /// The rows and columns of the groups that it has worked on.
    history: Lines,
}

impl Member {
    /// Returns the next untouched group of its own part.
    fn own(&mut self, untouched: &Untouched) -> Option<Group> {
        while let Some(group) = self.own.get(self.next) {
            if untouched.contains(*group) {
                return Some(*group);
            }
            self.next += 1;
        }
        None
    }
}

/// Returns true if nodes pick groups in this way.
fn picks(policy: &Policy, choice: Choice) -> bool {
    [policy.first, policy.next].contains(&choice)
}

impl Chooser {
    /// Creates a chooser for groups that are all untouched, in a grid of `rows` x `columns`. `parts` lists groups in
    /// the order of their numbers, each with the node whose own part has it. A group that is not in `parts` belongs to
    /// no node's own part.
    ///
    /// # Panics
    /// If `parts` names a node that is not below `nodes`.
    pub fn new(
        policy: Policy,
        (rows, columns): (u32, u32),
        nodes: u32,
        parts: impl Iterator<Item = (Group, Node)>,
        seed: u64,
    ) -> Self {
        let lines = |wanted| if wanted { Lines::none(rows, columns) } else { Lines::default() };
        let (has_parts, compares) = (picks(&policy, Choice::Own), policy.then == Then::JoinBest);
        let member = Member {
            own: Vec::new(),
            next: 0,
            begun: false,
            near: lines(compares),
            history: lines(picks(&policy, Choice::Smart)),
        };
        let mut nodes = vec![member; nodes as usize];
        let untouched = Untouched::all(rows, columns);
        for (group, node) in parts {
            let member = &mut nodes[node as usize];
            if has_parts {
                member.own.push(group);
            }
            if compares {
                member.near.add(untouched.place(group));
            }
        }
        Chooser { policy, untouched, nodes, orphans: Vec::new(), random: Random::new(seed) }
    }

    /// Returns true if no group is untouched.
    pub fn is_empty(&self) -> bool {
        self.untouched.is_empty()
    }

    /// Returns the number of untouched groups.
    pub fn len(&self) -> u32 {
        self.untouched.len()
    }

    /// Picks an untouched group for a node, or returns `None` if there is none for it. Call [`touch`](Chooser::touch)
    /// for the picked group, if the node gets it.
    pub fn take(&mut self, node: Node) -> Option<Group> {
        let member = &mut self.nodes[node as usize];
        let choice = if member.begun { self.policy.next } else { self.policy.first };
        let untouched = &mut self.untouched;
        let group = match choice {
            Choice::Own => member.own(untouched),
            Choice::InOrder => untouched.first(),
            Choice::Random => untouched.random(&mut self.random),
            Choice::Smart => {
                let near = untouched.near(&member.history, &mut self.random);
                near.or_else(|| untouched.random(&mut self.random))
            }
        };
        let any = || match self.policy.next {
            Choice::Own => None,
            _ => untouched.random(&mut self.random),
        };
        group.or_else(any).or_else(|| {
            while let Some(orphan) = self.orphans.last().copied() {
                if self.untouched.contains(orphan) {
                    return Some(orphan);
                }
                self.orphans.pop();
            }
            None
        })
    }

    /// Records that a node works on a group.
    pub fn touch(&mut self, node: Node, group: Group) {
        self.untouched.remove(group);
        self.nodes[node as usize].begun = true;
        if picks(&self.policy, Choice::Smart) {
            self.nodes[node as usize].history.add(self.untouched.place(group));
        }
    }

    /// Returns the number of lines, out of the group's row and its column, in which the node's own part has a group:
    /// the node may have operands of such lines. 0 unless the policy has [`Then::JoinBest`].
    pub fn closeness(&self, node: Node, group: Group) -> u32 {
        self.nodes[node as usize].near.shared_with(self.untouched.place(group))
    }

    /// Removes a group that needs no node.
    pub fn skip(&mut self, group: Group) {
        self.untouched.remove(group);
    }

    /// Makes a group untouched again, because it has to begin again.
    pub fn restore(&mut self, group: Group) {
        self.untouched.restore(group);
        self.orphans.push(group);
    }

    /// Records the loss of a node: any node may take the untouched groups of its own part.
    pub fn lose(&mut self, node: Node) {
        let member = &mut self.nodes[node as usize];
        let own = member.own.drain(..).filter(|group| self.untouched.contains(*group));
        self.orphans.extend(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_in_a_row_or_a_column_of_a_node_s_own_part_are_close() {
        let parts = || [(0, 0), (4, 1), (5, 0)].into_iter();
        let chooser = Chooser::new(Policy::ECT, (2, 3), 2, parts(), 1);
        let close = |node| [0, 1, 2, 3, 4, 5].map(|group| chooser.closeness(node, group));
        assert_eq!((close(0), close(1)), ([2, 1, 2, 2, 1, 2], [0, 1, 0, 1, 2, 1]));
        let mut chooser = Chooser::new(Policy::TAIL, (2, 3), 2, parts(), 1);
        assert_eq!((chooser.closeness(0, 0), chooser.take(0), chooser.take(0)), (0, Some(0), Some(0)));
        chooser.touch(0, 0);
        assert_eq!(chooser.take(0), Some(5));
        chooser.touch(1, 5);
        assert_eq!((chooser.take(0), chooser.len()), (None, 4));
    }
}
