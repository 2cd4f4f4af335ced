//! The memory that an object may take while it is used.
//!
//! A map grows, so its memory cannot be admitted when it is made. Its entries are counted in bytes as they arrive, and
//! the system's free memory is looked at before each further part of it is used.

use super::{Limits, Shortage};
use std::ops::ControlFlow;

/// Bytes that are taken without a look: they belong to the memory that `Limits` keeps back.
const LEAST: usize = 1 << 20;

/// A look allows 1/`PART` of the free memory: this number of ranks may look at the same moment.
const PART: usize = 64;

#[derive(Default)]
pub(crate) struct Allowance {
    /// Bytes taken so far. Removed entries are not subtracted: they only make looks more frequent.
    taken: usize,
    /// Bytes in all that may be taken before the next look.
    allowed: usize,
    limits: Option<Limits>,
}

impl Allowance {
    /// Counts about `bytes` bytes, before they are kept.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Shortage> {
        self.taken = self.taken.saturating_add(bytes);
        if self.taken <= self.allowed { Ok(()) } else { self.look() }
    }

    #[cold]
    fn look(&mut self) -> Result<(), Shortage> {
        if self.taken <= LEAST {
            self.allowed = LEAST;
            return Ok(());
        }
        let pool = self.limits.get_or_insert_with(Limits::find).tightest();
        let Some(pool) = pool else {
            self.allowed = usize::MAX;
            return Ok(());
        };
        match self.decide(pool.available) {
            ControlFlow::Continue(allowed) => self.allowed = allowed,
            ControlFlow::Break(available) => {
                return Err(Shortage { asked: self.taken, together: self.taken, available, limit: pool.limit });
            }
        }
        Ok(())
    }

    /// `Continue`: the bytes that may be taken before the next look. `Break`: the bytes that are available in all.
    fn decide(&self, available: usize) -> ControlFlow<usize, usize> {
        let coming = self.taken - self.allowed;
        match available.checked_sub(coming) {
            Some(left) if left >= LEAST => ControlFlow::Continue(self.taken + (left / PART).max(LEAST)),
            _ => ControlFlow::Break(self.allowed + available),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn it_stops_before_the_end() {
        let mut allowance = Allowance { taken: 10 * MIB + 5, allowed: 10 * MIB, limits: None };
        assert_eq!(allowance.decide(640 * MIB + 5), ControlFlow::Continue(20 * MIB + 5));
        assert_eq!(allowance.decide(3 * MIB), ControlFlow::Continue(11 * MIB + 5));
        assert_eq!(allowance.decide(MIB), ControlFlow::Break(11 * MIB));
        allowance.taken = 1000 * MIB;
        assert_eq!(allowance.decide(900 * MIB), ControlFlow::Break(910 * MIB));
    }

    #[test]
    fn a_little_is_not_looked_at() {
        let mut allowance = Allowance::default();
        (0..1024).for_each(|_| allowance.take(1024).expect("a little"));
        assert!(allowance.limits.is_none());
        allowance.take(1).expect("this machine has more");
        assert!(allowance.limits.is_some() && allowance.take(1 << 60).is_err());
    }
}
