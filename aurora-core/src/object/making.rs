//! The construction of an object on one rank: the data and the memory that it may use.

use super::Plan;
use crate::collective::Proposal;
use crate::link::Link;
use crate::memory::{self, Demand, Limits};
use crate::{Element, Error, Result};
use aurora_net::{Rank, Words};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::AtomicU64;

/// The data and the memory that the construction of an object may use.
#[derive(Clone, Copy)]
pub struct Making<'w> {
    /// This rank.
    pub rank: Rank,
    /// Number of ranks.
    pub size: usize,
    link: &'w Link,
    plan: &'w Plan,
    words: &'w NodeWords,
}

impl<'w> Making<'w> {
    pub(super) fn new(link: &'w Link, plan: &'w Plan, words: &'w NodeWords) -> Self {
        Making { rank: link.me, size: link.size, link, plan, words }
    }

    /// True in checking mode (`AURORA_CHECK=1`): the library looks for races.
    pub fn checks(&self) -> bool {
        self.link.modes.check
    }

    /// True in the strict checking mode: a possible race is an error.
    pub fn is_strict(&self) -> bool {
        self.link.modes.strict
    }

    /// The ranks that share memory with this rank, in ascending order, with this rank.
    pub fn node_peers(&self) -> Vec<Rank> {
        self.link.node().map_or(vec![self.rank], |node| node.ranks().to_vec())
    }

    /// The words that the parts on this node share: [`Plan::with_node_words`].
    pub fn node_words(&self) -> NodeWords {
        self.words.clone()
    }

    /// Returns memory for a copy of shared data on this rank: `len` zeros, if `AURORA_CACHE_LIMIT` and the free memory
    /// allow it. `purpose` names the copy in errors.
    ///
    /// # Errors
    /// [`Error::CacheLimit`] and [`Error::OutOfMemory`]. If the construction returns them, all ranks get them.
    pub fn zeros<T: Element>(&self, purpose: &str, len: usize) -> Result<Vec<T>> {
        let (bytes, name, site) = (len.saturating_mul(size_of::<T>()), self.plan.name(), &self.plan.site);
        let budget = self.link.tidy_kernel(|kernel, _| kernel.core.budget);
        let admitted = budget.admit(bytes, bytes);
        admitted.map_err(|limit| limit.error(self.rank, (purpose, bytes), name.clone(), site))?;
        memory::zeros(len).map_err(|shortage| shortage.error(self.rank, purpose, name, site))
    }
}

impl fmt::Debug for Making<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Making").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

/// Words of 64 bits that the parts of an object on one node share. They begin as zeros, and live as long as a clone.
#[derive(Clone)]
pub struct NodeWords(Option<Words>);

impl NodeWords {
    /// Collective, if there are words: all ranks agree on the plan, and that there is memory, before a rank waits for
    /// the memory that its node shares.
    pub(super) fn agree(link: &Link, plan: &Plan) -> Result<()> {
        if plan.words == 0 {
            return Ok(());
        }
        let (sharers, action) = (link.node().map_or(1, |node| node.ranks().len()), plan.action());
        let demand = Demand::new(link.me, bytes(plan) / sharers, Limits::find().pools());
        let proposal =
            Proposal { demand, ..Proposal::new("the begin of a construction", &action, plan.key_of(link.id())) };
        match link.propose(proposal, &plan.site)? {
            None => Ok(()),
            Some((rank, shortage)) => Err(shortage.error(rank, "its words", plan.name(), &plan.site)),
        }
    }

    /// Makes the words on which all ranks have agreed.
    pub(super) fn make(link: &Link, plan: &Plan) -> Result<NodeWords> {
        let bytes = bytes(plan);
        if bytes == 0 {
            return Ok(NodeWords(None));
        }
        let memory = match link.node() {
            Some(node) => node.share(link.id().0, bytes),
            None => aurora_net::Segment::create(bytes),
        };
        let memory = memory.map_err(|error| link.why(Error::Start(error.to_string()), &plan.site))?;
        Ok(NodeWords(Some(memory.into_words())))
    }
}

fn bytes(plan: &Plan) -> usize {
    plan.words.saturating_mul(size_of::<AtomicU64>())
}

impl Deref for NodeWords {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl fmt::Debug for NodeWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words of this node", self.len())
    }
}
