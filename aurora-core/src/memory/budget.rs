//! How much memory a copy of a vector may take on one rank.
//!
//! What is not there at all is an `OutOfMemory`, found out when the memory is taken (`meter.rs`). This is about what is
//! there and should be left to others: one copy has no more than `AURORA_CACHE_LIMIT` says, or, where that is not set,
//! half of what is free.

use super::available::Limits;
use super::meter::LOOKED_AT;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What limits the copy of a vector on one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CacheLimit {
    /// So many bytes, by `AURORA_CACHE_LIMIT` or [`Config::cache_limit`](crate::Config::cache_limit).
    Set(usize),
    /// Half of so many bytes that were free: the default.
    HalfOf(usize),
}

/// What a rank may spend on each copy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    set: Option<usize>,
}

impl Budget {
    /// So many bytes for each copy, or half of what is free.
    pub(crate) fn new(set: Option<usize>) -> Self {
        Budget { set }
    }

    /// Whether there may be a copy of so many bytes, `untaken` of which have not been taken from the system yet.
    pub(crate) fn admit(self, bytes: usize, untaken: usize) -> Result<(), CacheLimit> {
        self.decide(bytes, untaken, || Limits::find().tightest().map(|pool| pool.available))
    }

    fn decide(self, bytes: usize, untaken: usize, free: impl FnOnce() -> Option<usize>) -> Result<(), CacheLimit> {
        if let Some(limit) = self.set {
            return if bytes <= limit { Ok(()) } else { Err(CacheLimit::Set(limit)) };
        }
        // Less is not worth looking, and comes out of what is kept to live on.
        if untaken < LOOKED_AT {
            return Ok(());
        }
        match free() {
            // What is more than all is told as such when it is taken.
            Some(free) if untaken > free / 2 && untaken <= free => Err(CacheLimit::HalfOf(free)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for CacheLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::error::memory;
        match *self {
            CacheLimit::Set(limit) => write!(f, "more than the {} of AURORA_CACHE_LIMIT", memory(limit)),
            CacheLimit::HalfOf(free) => {
                write!(
                    f,
                    "more than half of the {} that are free there (AURORA_CACHE_LIMIT sets another limit)",
                    memory(free)
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_limit_that_is_set_counts_the_whole() {
        let budget = Budget::new(Some(10 * MIB));
        let never = || unreachable!("nobody looks");
        assert_eq!(budget.decide(10 * MIB, 10 * MIB, never), Ok(()));
        assert_eq!(budget.decide(10 * MIB + 1, 0, never), Err(CacheLimit::Set(10 * MIB)));
        assert_eq!(Budget::new(Some(0)).decide(0, 0, never), Ok(()));
    }

    #[test]
    fn by_default_half_is_left() {
        let decide = |untaken| Budget::default().decide(1000 * MIB, untaken, || Some(100 * MIB));
        assert_eq!(decide(50 * MIB), Ok(()));
        assert_eq!(decide(50 * MIB + 1), Err(CacheLimit::HalfOf(100 * MIB)));
        assert_eq!(decide(100 * MIB), Err(CacheLimit::HalfOf(100 * MIB)));
        // Not there at all: that is another error, and another's to tell.
        assert_eq!(decide(100 * MIB + 1), Ok(()));
    }

    #[test]
    fn nobody_looks_for_little_or_where_nothing_is_known() {
        let budget = Budget::default();
        assert_eq!(budget.decide(LOOKED_AT, LOOKED_AT - 1, || unreachable!("nobody looks")), Ok(()));
        assert_eq!(budget.decide(LOOKED_AT, LOOKED_AT, || None), Ok(()));
    }
}
