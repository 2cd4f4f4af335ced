//! The random matrices of a repetition.

use crate::random::Stream;

/// Q and R of one repetition. Each element depends on its position alone, so every rank can make its own rows, and rank
/// 0 the whole matrices.
#[derive(Clone, Copy, Debug)]
pub struct Matrices {
    q: Stream,
    r: Stream,
}

impl Matrices {
    /// Makes the matrices of repetition `rep` of a run with `seed`.
    pub fn new(seed: u64, rep: usize) -> Self {
        let rep = rep as u64;
        Matrices { q: Stream::new(seed, 2 * rep), r: Stream::new(seed, 2 * rep + 1) }
    }

    /// Returns element `index` of Q, counted by rows.
    pub fn q(self, index: usize) -> i32 {
        self.q.bits(index as u64) as i32
    }

    /// Returns element `index` of R before the first stage.
    pub fn r(self, index: usize) -> i32 {
        self.r.bits(index as u64) as i32
    }
}
