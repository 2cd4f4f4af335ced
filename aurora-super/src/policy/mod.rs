//! The policies of both papers (S0 section 3.2, S2 section 3.4), and two policies of Aurora: which node works on which
//! group next.

mod chooser;
mod unfinished;
mod untouched;
mod weights;

pub use chooser::Chooser;
pub use unfinished::Unfinished;
pub use weights::Weights;

use crate::spelling::{meant, nearest};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The rules by which nodes get groups and instructions. The default is [`Policy::TAIL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Policy {
    /// The choice of a node's first group.
    pub first: Choice,
    /// The choice of a node's next group, when no instruction of its groups is left for it.
    pub next: Choice,
    /// The node's action when no untouched group is left for it.
    pub then: Then,
    /// The rule that says when instructions begin.
    pub pace: Pace,
    /// The state of results while they are computed.
    pub version: Version,
}

/// The choice of an untouched group: a group of which no instruction has begun.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    /// The next group of the node's own part, in the order of numbers, and no group outside it. A node's own part is
    /// the groups whose results it hosts from the start.
    Own,
    /// Any group, with equal probability.
    Random,
    /// A group that shares a row and a column with groups that the node has worked on; otherwise one that shares a row
    /// or a column; otherwise any group.
    Smart,
    /// The group with the smallest number.
    InOrder,
}

/// The action of a node for which there is no untouched group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Then {
    /// It does nothing.
    Stop,
    /// It joins the unfinished group of which most instructions have not begun.
    Join,
    /// As [`Join`](Then::Join), with two differences. Among the groups with most instructions left, the node prefers
    /// one of whose operands it may have some. A slow node leaves the last instructions to faster nodes, if these will
    /// complete them earlier.
    JoinBest,
}

/// The rule that says when instructions begin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pace {
    /// Instructions begin as soon as a node asks.
    Asynchronous,
    /// Each node gets one grant in each step. The next step begins when all nodes have executed their grants.
    Steps,
}

/// The version of a super-program: the state of its results (S0 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Version {
    /// `SimpleUpdate`: writeable.
    Simple,
    /// `RemoteUpdate`: remote_updateable.
    Remote,
    /// `DistributedUpdate`: distributed_updateable.
    Distributed,
    /// `Mixture`: writeable until no untouched group is left, from then on distributed_updateable.
    Mixture,
}

impl Policy {
    const STATIC: Policy = Policy {
        first: Choice::Own,
        next: Choice::Own,
        then: Then::Stop,
        pace: Pace::Asynchronous,
        version: Version::Simple,
    };
    /// `syn`: static parts, in steps.
    pub const SYN: Policy = Policy { pace: Pace::Steps, ..Policy::STATIC };
    /// `S`: static parts.
    pub const S: Policy = Policy::STATIC;
    /// `R`: random.
    pub const R: Policy = Policy { first: Choice::Random, next: Choice::Random, ..Policy::STATIC };
    /// `SR`: smart, after a random first group.
    pub const SR: Policy = Policy { first: Choice::Random, next: Choice::Smart, ..Policy::STATIC };
    /// `SS`: smart, after the first group of the node's own part.
    pub const SS: Policy = Policy { next: Choice::Smart, ..Policy::STATIC };
    /// `tail`, of Aurora: static parts. Nodes that run out of instructions then share unfinished groups by distributed
    /// update.
    pub const TAIL: Policy = Policy { then: Then::Join, version: Version::Distributed, ..Policy::STATIC };
    /// `ect`, of Aurora: as `tail`, but nodes share by earliest completion time, and close to their operands.
    pub const ECT: Policy = Policy { then: Then::JoinBest, ..Policy::TAIL };

    /// All policies with their names, in the order of the papers.
    pub const ALL: [(&str, Policy); 7] = [
        ("syn", Policy::SYN),
        ("S", Policy::S),
        ("R", Policy::R),
        ("SR", Policy::SR),
        ("SS", Policy::SS),
        ("tail", Policy::TAIL),
        ("ect", Policy::ECT),
    ];

    /// Returns its name, or `None` if it is none of [`ALL`](Policy::ALL).
    pub fn name(&self) -> Option<&'static str> {
        Policy::ALL.iter().find(|(_, policy)| policy == self).map(|(name, _)| *name)
    }

    /// The names of all policies: `syn, S, ..`.
    pub fn names() -> String {
        Policy::ALL.map(|(name, _)| name).join(", ")
    }

    /// Returns true if each node gets the groups of its own part, and no others.
    pub fn is_static(&self) -> bool {
        [self.first, self.next] == [Choice::Own; 2] && self.then == Then::Stop
    }

    /// Returns true if it picks groups at random. A policy that does not makes the same choices for every seed.
    pub fn is_random(&self) -> bool {
        let is_drawn = |choice| matches!(choice, Choice::Random | Choice::Smart);
        is_drawn(self.first) || is_drawn(self.next)
    }

    /// Returns the policy of a schedule of S0 with a version. The schedule BSS takes untouched groups in order, and
    /// SSP, if `smart`, by [`Choice::Smart`]. All versions but the simple one share unfinished groups when no untouched
    /// group is left.
    pub fn schedule(smart: bool, version: Version) -> Self {
        let next = if smart { Choice::Smart } else { Choice::InOrder };
        let then = if version == Version::Simple { Then::Stop } else { Then::Join };
        Policy { first: Choice::InOrder, next, then, pace: Pace::Asynchronous, version }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => fmt::Debug::fmt(self, f),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::TAIL
    }
}

/// A name that no policy has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "there is no policy `{name}`{}: use one of {}",
    meant(.nearest),
    Policy::names()
)]
pub struct UnknownPolicy {
    name: String,
    nearest: Option<String>,
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let known = Policy::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let nearest = || nearest(name, Policy::ALL.map(|(known, _)| known));
        known.map(|(_, policy)| *policy).ok_or_else(|| UnknownPolicy { name: name.into(), nearest: nearest() })
    }
}
