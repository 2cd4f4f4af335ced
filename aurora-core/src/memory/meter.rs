//! Taking memory with a check.
//!
//! Linux promises memory without a check. If none is left when a page is touched, Linux kills a process. So large
//! memory is touched on purpose, in steps, with a check of the free memory before each step. A check sees the memory
//! that other ranks and processes have taken by then. A rank that finds too little gets an error and returns the memory
//! that it has taken.

use super::available::{Limits, Pool};
use super::demand::Shortage;
use crate::Element;
use crate::error::MemoryLimit;
use std::ops::Range;

/// Smaller arrays are not checked: they come out of the memory that `available.rs` keeps back.
pub(super) const LOOKED_AT: usize = 1 << 20;

/// Bytes of memory taken at a time. Taking them lasts a few milliseconds, in which the daemon serves nothing.
pub(crate) const STEP: usize = 16 << 20;

const GRANULE: usize = 256 << 10;

/// A step takes at most 1/`PART` of the free memory: this many ranks may check at the same moment.
const PART: usize = 64;

/// Knows which parts of an array have been touched, and checks before each step whether there is memory for the rest.
pub(crate) struct Meter {
    whole: usize,
    /// One entry per granule; empty for an array that is not checked.
    touched: Vec<bool>,
    /// All granules before this one have been touched.
    next: usize,
    untouched: usize,
    /// Bytes that may be touched before the next check.
    allowed: usize,
    limits: Option<Limits>,
}

impl Meter {
    pub(crate) fn new(whole: usize) -> Self {
        let looked_at = if whole < LOOKED_AT { 0 } else { whole };
        let touched = vec![false; looked_at.div_ceil(GRANULE)];
        Meter { whole, touched, next: 0, untouched: looked_at, allowed: 0, limits: None }
    }

    /// Notes these bytes as touched, after a check for memory. Call it before they are written.
    #[inline]
    pub(crate) fn touch(&mut self, bytes: Range<usize>) -> Result<(), Shortage> {
        if self.untouched > 0 {
            for granule in bytes.start / GRANULE..bytes.end.div_ceil(GRANULE) {
                self.note(granule)?;
            }
        }
        Ok(())
    }

    /// Bytes to touch next, at most about `most`; `None` when all have been touched.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<Range<usize>>, Shortage> {
        while self.touched.get(self.next) == Some(&true) {
            self.next += 1;
        }
        let first = self.next;
        while self.touched.get(self.next) == Some(&false) {
            let so_far = (self.next - first) * GRANULE;
            if so_far > 0 && (so_far >= most || self.allowed < GRANULE) {
                break;
            }
            self.note(self.next)?;
            self.next += 1;
        }
        Ok((self.next > first).then(|| first * GRANULE..(self.next * GRANULE).min(self.whole)))
    }

    /// Bytes that have not been touched; 0 for a small array.
    pub(crate) fn untouched(&self) -> usize {
        self.untouched
    }

    fn note(&mut self, granule: usize) -> Result<(), Shortage> {
        if !self.touched[granule] {
            if self.allowed < GRANULE {
                let pool = self.limits.get_or_insert_with(Limits::find).tightest();
                self.look(pool)?;
            }
            self.touched[granule] = true;
            self.allowed -= GRANULE;
            self.untouched -= GRANULE.min(self.whole - granule * GRANULE);
        }
        Ok(())
    }

    /// Allows a small part of the free memory, so that all ranks that check at the same moment can have it.
    fn look(&mut self, pool: Option<Pool>) -> Result<(), Shortage> {
        self.allowed = match pool {
            None => usize::MAX,
            Some(pool) if pool.available < self.untouched => {
                let available = pool.available + (self.whole - self.untouched);
                return Err(short(self.whole, Pool { available, ..pool }));
            }
            Some(pool) => (pool.available / PART).max(GRANULE),
        };
        Ok(())
    }
}

/// The shortage when the system refuses to map `asked` bytes: it has no addresses, or does not overcommit.
pub(super) fn refused(asked: usize) -> Shortage {
    let tightest = Limits::find().tightest();
    short(asked, tightest.unwrap_or(Pool { id: 0, limit: MemoryLimit::Machine, available: 0 }))
}

fn short(asked: usize, Pool { limit, available, .. }: Pool) -> Shortage {
    Shortage { asked, together: asked, available, limit }
}

/// `len` zeros, as a `Vec` for the user.
pub(crate) fn zeros<T: Element>(len: usize) -> Result<Vec<T>, Shortage> {
    filled(len, T::zeroed())
}

/// `len` copies of a value, which must not be zero-sized.
pub(crate) fn filled<T: Copy>(len: usize, value: T) -> Result<Vec<T>, Shortage> {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut filled = Vec::new();
    filled.try_reserve_exact(len).map_err(|_| refused(bytes))?;
    let mut meter = Meter::new(bytes);
    while let Some(taken) = meter.next(usize::MAX)? {
        filled.resize(taken.end / size_of::<T>(), value);
    }
    filled.resize(len, value);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn pool(available: usize) -> Option<Pool> {
        Some(Pool { id: 1, limit: MemoryLimit::Machine, available })
    }

    #[test]
    fn some_who_take_at_the_same_time_see_each_other() {
        for (takers, each, fits) in [(2, 400, true), (3, 400, false), (4, 250, true), (16, 70, false)] {
            // Near the end each rank may take one granule more.
            let (kept, mut left) = (takers * GRANULE, 1000 * MIB);
            let mut meters: Vec<_> = (0..takers).map(|_| Meter::new(each * MIB)).collect();
            let mut short = 0;
            // In turns: one check, then as much as it allows.
            while !meters.is_empty() {
                let before = meters.len();
                meters.retain_mut(|meter| meter.look(pool(left)).is_ok());
                short += before - meters.len();
                let mut taken = 0;
                for meter in &mut meters {
                    taken += meter.next(usize::MAX).expect("allowed").expect("more").len();
                }
                assert!(taken <= left + kept, "more is taken than there was");
                left = left.saturating_sub(taken);
                meters.retain(|meter| meter.untouched > 0);
            }
            assert_eq!(short == 0, fits, "{takers} times {each}");
        }
    }

    #[test]
    fn what_has_been_written_need_not_be_taken_again() {
        let mut meter = Meter::new(8 * MIB + 5);
        meter.look(pool(1 << 40)).expect("plenty");
        meter.touch(MIB..2 * MIB).expect("allowed");
        meter.touch(MIB + 7..MIB + 9).expect("allowed");
        meter.touch(8 * MIB..8 * MIB + 5).expect("allowed");
        assert_eq!(meter.untouched, 7 * MIB);
        assert_eq!(meter.next(4 * MIB).expect("allowed"), Some(0..MIB));
        assert_eq!(meter.next(4 * MIB).expect("allowed"), Some(2 * MIB..6 * MIB));
        assert_eq!(meter.next(4 * MIB).expect("allowed"), Some(6 * MIB..8 * MIB));
        assert_eq!(meter.next(4 * MIB).expect("allowed"), None);
        assert_eq!(meter.untouched, 0);
    }

    #[test]
    fn what_is_missing_is_said_of_the_whole() {
        let mut meter = Meter::new(100 * MIB);
        meter.look(pool(64 * MIB * 128)).expect("plenty");
        meter.touch(0..60 * MIB).expect("allowed");
        let short = meter.look(pool(39 * MIB)).expect_err("40 are still to come");
        assert_eq!((short.asked, short.available), (100 * MIB, 99 * MIB));
    }

    #[test]
    fn small_ones_are_not_looked_at() {
        let mut meter = Meter::new(LOOKED_AT - 1);
        meter.touch(0..LOOKED_AT - 1).expect("allowed");
        assert!(meter.limits.is_none() && meter.next(MIB).expect("allowed").is_none());
    }

    #[test]
    fn zeros_of_every_length() {
        for len in [0, 1, 1000, LOOKED_AT / 3, (8 << 20) / 3 + 1] {
            let zeros = zeros::<[u8; 3]>(len).expect("there is memory");
            assert!(zeros.len() == len && zeros.iter().all(|zero| *zero == [0; 3]));
        }
        assert!(zeros::<u64>(usize::MAX).is_err() && zeros::<u64>(1 << 50).is_err());
    }
}
