//! The limit of the memory of a copy of a vector on one rank.
//!
//! Memory that does not exist is an `OutOfMemory` when it is taken (`meter.rs`). The limit here leaves memory for
//! other uses: one copy has at most `AURORA_CACHE_LIMIT` bytes, by default half of the free memory.

use super::available::Limits;
use super::meter::LOOKED_AT;
use crate::error::CacheLimit;

/// This many bytes for each copy; `None`: half of the free memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget(pub(crate) Option<usize>);

impl Budget {
    /// Checks that a copy of `bytes` may exist, of which `untaken` have not been taken from the system yet.
    pub(crate) fn admit(self, bytes: usize, untaken: usize) -> Result<(), CacheLimit> {
        self.decide(bytes, untaken, || Limits::find().tightest().map(|pool| pool.available))
    }

    fn decide(self, bytes: usize, untaken: usize, free: impl FnOnce() -> Option<usize>) -> Result<(), CacheLimit> {
        if let Some(limit) = self.0 {
            return if bytes <= limit { Ok(()) } else { Err(CacheLimit::Set(limit)) };
        }
        // A smaller copy is not checked: it comes out of the memory that is kept back.
        if untaken < LOOKED_AT {
            return Ok(());
        }
        match free() {
            // More than all free memory is an `OutOfMemory` when it is taken.
            Some(free) if untaken > free / 2 && untaken <= free => Err(CacheLimit::HalfOf(free)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_limit_that_is_set_counts_the_whole() {
        let budget = Budget(Some(10 * MIB));
        let never = || unreachable!("nobody looks");
        assert_eq!(budget.decide(10 * MIB, 10 * MIB, never), Ok(()));
        assert_eq!(budget.decide(10 * MIB + 1, 0, never), Err(CacheLimit::Set(10 * MIB)));
        assert_eq!(Budget(Some(0)).decide(0, 0, never), Ok(()));
    }

    #[test]
    fn by_default_half_is_left() {
        let decide = |untaken| Budget::default().decide(1000 * MIB, untaken, || Some(100 * MIB));
        assert_eq!(decide(50 * MIB), Ok(()));
        assert_eq!(decide(50 * MIB + 1), Err(CacheLimit::HalfOf(100 * MIB)));
        assert_eq!(decide(100 * MIB), Err(CacheLimit::HalfOf(100 * MIB)));
        // More than is free: that is an `OutOfMemory`, reported elsewhere.
        assert_eq!(decide(100 * MIB + 1), Ok(()));
    }

    #[test]
    fn nobody_looks_for_little_or_where_nothing_is_known() {
        let budget = Budget::default();
        assert_eq!(budget.decide(LOOKED_AT, LOOKED_AT - 1, || unreachable!("nobody looks")), Ok(()));
        assert_eq!(budget.decide(LOOKED_AT, LOOKED_AT, || None), Ok(()));
    }
}
