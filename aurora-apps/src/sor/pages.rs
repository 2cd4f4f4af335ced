//! The program by pages: each rank has a view of both matrices, and touches the rows that it needs.

use super::kernel::{Real, parity, update_row};
use super::parallel::{EDGES, UPDATE};
use crate::clock::{Clock, Kind};
use aurora_core::prelude::*;
use std::ops::Range;

/// Collective. As [`half_sweeps`](super::half_sweeps), with two scopes of pages.
///
/// ```
/// use aurora_apps::clock::Clock;
/// use aurora_apps::sor::half_sweeps_by_pages;
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let ones = |_| 1.0;
///     let mut red = GVector::<f64>::from_fn(world, MatrixDim::new(5, 3), ones)?;
///     let mut black = GVector::<f64>::from_fn(world, MatrixDim::new(5, 3), ones)?;
///     if world.is_root() {
///         red.put(7, 5.0)?; // row 2, column 2
///     }
///     world.barrier()?;
///     half_sweeps_by_pages(&mut red, &mut black, 5, 1, &mut Clock::start(world)?)?;
///     world.barrier()?;
///     assert_eq!(red.at(7)?, 0.0);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn half_sweeps_by_pages<T: Real>(
    red: &mut GVector<T>,
    black: &mut GVector<T>,
    cols: usize,
    half_sweeps: usize,
    clock: &mut Clock<'_>,
) -> Result<()> {
    let (rows, mine) = (red.dim().map_or(0, |dim| dim.rows), red.local_rows());
    let mine = mine.start.max(1)..mine.end.min(rows.saturating_sub(1)); // the first row and the last stay as they are
    let (mut own, mut other) = clock.part(EDGES, Kind::Sharing, || Ok((red.paged_mut()?, black.paged_mut()?)))?;
    sweep((&mut own, &mut other), mine, cols, half_sweeps, clock)?;
    own.finish()?;
    other.finish()
}

/// Collective. The half-sweeps between the opening of the scopes and their end: of the rows `mine`.
pub(super) fn sweep<'v, T: Real>(
    (mut own, mut other): (&mut PagedMut<'v, T>, &mut PagedMut<'v, T>),
    mine: Range<usize>,
    cols: usize,
    half_sweeps: usize,
    clock: &mut Clock<'_>,
) -> Result<()> {
    for sweep in 0..half_sweeps {
        clock.part(UPDATE, Kind::Computing, || {
            for row in mine.clone() {
                let (above, here, below) = (other.row(row - 1)?, other.row(row)?, other.row(row + 1)?);
                update_row(own.row_mut(row)?, above, here, below, cols, parity(row, sweep % 2));
            }
            Ok(())
        })?;
        clock.part(EDGES, Kind::Sharing, || own.sync())?;
        std::mem::swap(&mut own, &mut other);
    }
    Ok(())
}
