//! Who works on what next: the policies of both papers, and ours (S0 section 3.2, S2 section 3.4).

mod chooser;
mod unfinished;
mod untouched;
mod weights;

pub use chooser::Chooser;
pub use unfinished::Unfinished;
pub use untouched::{Lines, Untouched};
pub use weights::Weights;

use crate::spelling::{meant, nearest};
use std::str::FromStr;
use thiserror::Error;

/// How groups go to nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Policy {
    /// The first group of a node.
    pub first: Choice,
    /// The next ones, when no instruction of its groups is left for it.
    pub next: Choice,
    /// When no untouched group is left for it.
    pub then: Then,
    /// When instructions begin.
    pub pace: Pace,
    /// In which state results are while they are computed.
    pub version: Version,
}

/// Which of the untouched groups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Choice {
    /// The next one of the node's own part, by number, and no other. A node's own part is the groups whose results it
    /// hosts from the start.
    Own,
    /// Any, with equal chances.
    Random,
    /// One that shares a row and a column with groups that the node has worked on; else a row or a column; else any.
    Smart,
    /// The first.
    InOrder,
}

/// What a node does for which there is no untouched group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Then {
    /// Nothing.
    Stop,
    /// It joins the unfinished group of which most instructions have not begun.
    Join,
    /// The same, but of the groups with most left it joins one of which it has operands; and a slow node leaves the
    /// last instructions to faster ones, if these will have them done earlier.
    JoinBest,
}

/// When instructions begin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pace {
    /// As soon as a node asks.
    Asynchronous,
    /// One on each node in each step; the next step begins when all have ended.
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
    /// `tail`, ours: static parts, then nodes that run out share unfinished groups by distributed update.
    pub const TAIL: Policy = Policy { then: Then::Join, version: Version::Distributed, ..Policy::STATIC };
    /// `ect`, ours: as `tail`, but by earliest completion time, and close to the operands.
    pub const ECT: Policy = Policy { then: Then::JoinBest, ..Policy::TAIL };

    /// All of them by their names, in the papers' order.
    pub const ALL: [(&str, Policy); 7] = [
        ("syn", Policy::SYN),
        ("S", Policy::S),
        ("R", Policy::R),
        ("SR", Policy::SR),
        ("SS", Policy::SS),
        ("tail", Policy::TAIL),
        ("ect", Policy::ECT),
    ];

    /// A schedule of S0 with a version: BSS takes untouched groups in order, SSP smartly; all versions but the simple
    /// one share unfinished groups when no untouched one is left.
    pub fn schedule(smart: bool, version: Version) -> Self {
        let next = if smart { Choice::Smart } else { Choice::InOrder };
        let then = if version == Version::Simple { Then::Stop } else { Then::Join };
        Policy { first: Choice::InOrder, next, then, pace: Pace::Asynchronous, version }
    }
}

/// A name that no policy has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no policy `{name}`{}: it is one of {}", meant(.nearest), Policy::ALL.map(|(known, _)| known).join(", "))]
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
