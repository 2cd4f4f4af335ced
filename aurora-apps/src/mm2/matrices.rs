//! The random matrices of a repetition.

use crate::random::Stream;

/// Q and R of one repetition, by element: every rank can make its own rows, and rank 0 all.
#[derive(Clone, Copy, Debug)]
pub struct Matrices {
    q: Stream,
    r: Stream,
}

impl Matrices {
    /// Those of repetition `rep` of a run with `seed`.
    pub fn new(seed: u64, rep: usize) -> Self {
        let rep = rep as u64;
        Matrices { q: Stream::new(seed, 2 * rep), r: Stream::new(seed, 2 * rep + 1) }
    }

    /// Element `index` of Q, counted by rows.
    pub fn q(self, index: usize) -> i32 {
        self.q.bits(index as u64) as i32
    }

    /// Element `index` of R before the first stage.
    pub fn r(self, index: usize) -> i32 {
        self.r.bits(index as u64) as i32
    }
}
