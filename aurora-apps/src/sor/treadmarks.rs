//! The program by TreadMarks: both matrices are shared arrays, and a barrier follows each half-sweep.

use super::kernel::{Real, parity, update_row};
use super::parallel::{EDGES, UPDATE};
use crate::clock::{Clock, Kind};
use aurora_core::prelude::*;
use aurora_treadmarks::{Array, Tmk};
use std::ops::Range;

/// Collective. As [`half_sweeps`](super::half_sweeps), with two arrays whose rows begin pages. The rank updates the
/// rows `mine`, none of which is at the border of the matrix.
///
/// ```
/// use aurora_apps::clock::Clock;
/// use aurora_apps::sor::half_sweeps_by_treadmarks;
/// use aurora_core::prelude::*;
/// use aurora_treadmarks::Tmk;
///
/// Config::threads(3).run(|world| {
///     let tmk = Tmk::new(world)?;
///     let (mut red, mut black) = (tmk.array::<f64>(15, 3)?, tmk.array::<f64>(15, 3)?);
///     if world.is_root() {
///         red.write(0..15)?.fill(1.0);
///         black.write(0..15)?.fill(1.0);
///         red.write(7..8)?[0] = 5.0; // row 2, column 2
///     }
///     tmk.barrier()?;
///     let mine = 1 + world.rank().index()..2 + world.rank().index();
///     half_sweeps_by_treadmarks(&tmk, (&mut red, &mut black), mine, 5, 1, &mut Clock::start(world)?)?;
///     assert_eq!(red.read(7..8)?[0], 0.0);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn half_sweeps_by_treadmarks<T: Real>(
    tmk: &Tmk,
    (mut own, mut other): (&mut Array<T>, &mut Array<T>),
    mine: Range<usize>,
    cols: usize,
    half_sweeps: usize,
    clock: &mut Clock<'_>,
) -> Result<()> {
    let half = cols.div_ceil(2);
    for sweep in 0..half_sweeps {
        clock.part(UPDATE, Kind::Computing, || {
            for row in mine.clone() {
                let near = other.read((row - 1) * half..(row + 2) * half)?;
                let ((above, rest), mut own) = (near.split_at(half), own.write(row * half..(row + 1) * half)?);
                let (here, below) = rest.split_at(half);
                update_row(&mut own, above, here, below, cols, parity(row, sweep % 2));
            }
            Ok(())
        })?;
        clock.part(EDGES, Kind::Sharing, || tmk.barrier())?;
        std::mem::swap(&mut own, &mut other);
    }
    Ok(())
}
