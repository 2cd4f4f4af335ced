use crate::Error;
use crate::memory::Demand;
use rustc_hash::FxHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The collective call that a rank makes, as other ranks compare it.
pub(crate) struct Proposal<'a> {
    /// The call, such as `a barrier`.
    pub(crate) what: &'static str,
    /// The activity of the rank, for a [`Claim`](crate::Claim): `is in a barrier`.
    pub(crate) action: &'a dyn fmt::Display,
    /// Must be equal on all ranks.
    pub(crate) key: u64,
    /// The error for which the rank cannot take part.
    pub(crate) refusal: Option<Error>,
    /// The memory that the call will take.
    pub(crate) demand: Demand,
}

impl<'a> Proposal<'a> {
    /// The name is part of the key that ranks compare. The steps of one call have different names, so they never pair
    /// with each other.
    pub(crate) fn new(what: &'static str, action: &'a dyn fmt::Display, key: u64) -> Self {
        let mut hasher = FxHasher::default();
        (what, key).hash(&mut hasher);
        let key = hasher.finish();
        Proposal { what, action, key, refusal: None, demand: Demand::default() }
    }
}

pub(crate) struct In<'a>(pub(crate) &'a dyn fmt::Display);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is in {}", self.0)
    }
}
