//! Picks the next untouched group for a node.

use super::untouched::{Lines, Untouched};
use super::{Choice, Policy};
use crate::{Group, Node, Parts, Program, Random};
use std::ops::Range;

/// Which groups are untouched, whose they are from the start, and what each node has worked on.
#[derive(Clone, Hash, Debug)]
pub struct Chooser {
    policy: Policy,
    columns: u32,
    untouched: Untouched,
    nodes: Vec<Member>,
    /// Groups of lost nodes' own parts, and those that have to be begun again.
    orphans: Vec<Group>,
    random: Random,
}

#[derive(Clone, Hash, Debug)]
struct Member {
    /// Its own part, and the next group of it, counted row by row.
    rows: Range<u32>,
    columns: Range<u32>,
    next: u32,
    begun: bool,
    /// The rows and columns of the groups that it has worked on.
    history: (Lines, Lines),
}

impl Member {
    /// The next group of its own part that is untouched.
    fn own(&mut self, untouched: &Untouched, grid: u32) -> Option<Group> {
        let width = self.columns.end - self.columns.start;
        let count = width * (self.rows.end - self.rows.start);
        while self.next < count {
            let group = (self.rows.start + self.next / width) * grid + self.columns.start + self.next % width;
            self.next += 1;
            if untouched.contains(group) {
                return Some(group);
            }
        }
        None
    }
}

/// Whether it matters what nodes have worked on.
fn remembers(policy: &Policy) -> bool {
    [policy.first, policy.next].contains(&Choice::Smart)
}

impl Chooser {
    /// Before anything has begun.
    pub fn new(policy: Policy, program: &impl Program, parts: &Parts, seed: u64) -> Self {
        let (rows, columns) = program.grid();
        let history =
            || if remembers(&policy) { (Lines::none(rows), Lines::none(columns)) } else { Default::default() };
        let [row_of, column_of] = parts.of([rows, columns]);
        let lines = |of: &[u32], part| {
            let start = of.partition_point(|other| *other < part) as u32;
            start..of.partition_point(|other| *other <= part) as u32
        };
        let (_, width) = parts.grid();
        let nodes = (0..parts.nodes()).map(|node| Member {
            rows: lines(&row_of, node / width),
            columns: lines(&column_of, node % width),
            next: 0,
            begun: false,
            history: history(),
        });
        let (untouched, random) = (Untouched::all(rows, columns), Random::new(seed));
        Chooser { policy, columns, untouched, nodes: nodes.collect(), orphans: Vec::new(), random }
    }

    /// Whether no group is untouched.
    pub fn is_empty(&self) -> bool {
        self.untouched.is_empty()
    }

    /// Picks an untouched group for a node, which [touches](Chooser::touch) it then. `None`: there is none for it.
    pub fn take(&mut self, node: Node) -> Option<Group> {
        let member = &mut self.nodes[node as usize];
        let choice = if std::mem::replace(&mut member.begun, true) { self.policy.next } else { self.policy.first };
        let untouched = &mut self.untouched;
        let group = match choice {
            Choice::Own => member.own(untouched, self.columns),
            Choice::InOrder => untouched.first(),
            Choice::Random => untouched.random(&mut self.random),
            Choice::Smart => {
                let near = untouched.near(&member.history.0, &member.history.1, &mut self.random);
                near.or_else(|| untouched.random(&mut self.random))
            }
        };
        let any = || match self.policy.next {
            Choice::Own => None,
            _ => untouched.random(&mut self.random),
        };
        group.or_else(any).or_else(|| {
            loop {
                let orphan = self.orphans.pop()?;
                if self.untouched.contains(orphan) {
                    return Some(orphan);
                }
            }
        })
    }

    /// A node works on a group.
    pub fn touch(&mut self, node: Node, group: Group) {
        self.untouched.remove(group);
        if remembers(&self.policy) {
            let (rows, columns) = &mut self.nodes[node as usize].history;
            rows.add(group / self.columns);
            columns.add(group % self.columns);
        }
    }

    /// How many of a group's row and column belong to a node's own part, so that it has operands of theirs.
    pub fn closeness(&self, node: Node, group: Group) -> u32 {
        let member = &self.nodes[node as usize];
        let (row, column) = (group / self.columns, group % self.columns);
        u32::from(member.rows.contains(&row)) + u32::from(member.columns.contains(&column))
    }

    /// A group needs nobody.
    pub fn skip(&mut self, group: Group) {
        self.untouched.remove(group);
    }

    /// A group has to be begun again.
    pub fn restore(&mut self, group: Group) {
        self.untouched.restore(group);
        self.orphans.push(group);
    }

    /// A node is lost: what is left of its own part is anybody's.
    pub fn lose(&mut self, node: Node) {
        let member = &mut self.nodes[node as usize];
        while let Some(group) = member.own(&self.untouched, self.columns) {
            self.orphans.push(group);
        }
    }
}
