//! The ranks of a job.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One of the `size` equal members of a job, numbered from 0, as in MPI.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rank(u32);

impl Rank {
    /// Rank number `index`.
    ///
    /// # Panics
    /// If `index` does not fit 32 bits.
    #[inline]
    pub fn new(index: usize) -> Self {
        Rank(u32::try_from(index).expect("a rank fits 32 bits"))
    }

    /// The rank's number, for indexing.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// All other ranks of a job of `size` ranks, beginning with the next one. A rank sends to all others in this order,
    /// so that the ranks begin with different receivers.
    pub fn others(self, size: usize) -> impl Iterator<Item = Rank> + use<> {
        let me = self.index();
        (1..size).map(move |step| Rank::new((me + step) % size))
    }
}

impl PartialEq<usize> for Rank {
    fn eq(&self, other: &usize) -> bool {
        self.index() == *other
    }
}

/// An index that does not fit 32 bits becomes the largest rank. No job has this rank: it is refused as unknown.
impl From<usize> for Rank {
    fn from(index: usize) -> Self {
        Rank(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

impl From<Rank> for usize {
    fn from(rank: Rank) -> usize {
        rank.index()
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}
