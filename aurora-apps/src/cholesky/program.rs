//! The super-program: its tiles, its three instructions, their launches, and checksums of its result.

use super::Matrix;
use super::kernel::{gemm, potrf, trsm};
use crate::checksum::{checksum, joined};
use crate::clock::Work;
use aurora_core::Result;
use aurora_super::{Blocks, Dense, SuperProgram};

/// The tiles of L.
pub type Factor = Blocks<Dense<f64>, (u32, u32)>;

/// Collective. A = L L^T. `time` runs the launches; all tiles exist before it.
pub fn factorise(sp: &SuperProgram<'_>, of: Matrix, time: impl FnOnce(Work<'_>) -> Result<()>) -> Result<Factor> {
    let tiles = of.tiles();
    let a = sp.blocks((tiles, tiles), move |at| of.tile(at))?;
    sp.fold(&a, Dense::rows, |_, last| last)?;
    time(&|| {
        for k in 0..tiles {
            let (next, left) = (k + 1, tiles - k - 1);
            sp.each(1, potrf, move |_: u32| (a.at((k, k)),))?;
            sp.each(left, trsm, move |i| (a.at((k, k)), a.at((next + i, k))))?;
            let at_or_below = |(i, j): (u32, u32)| u32::from(j <= i);
            let trailing = move |(i, j), _| (a.at((next + i, k)), a.at((next + j, k)), a.at((next + i, next + j)));
            sp.launch((left, left), at_or_below, gemm, trailing)?;
        }
        Ok(())
    })?;
    Ok(a)
}

/// Collective. A checksum of each tile.
pub fn checksums(sp: &SuperProgram<'_>, l: Factor) -> Result<Vec<u64>> {
    sp.fold(&l, |tile| vec![checksum(tile.values())], joined)
}
