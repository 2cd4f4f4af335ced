//! The parallel program: a rank's rows of one colour, and its rows of the other colour with one more row on either
//! side.

use super::kernel::{Real, parity, update_row};
use crate::clock::{Clock, Kind};
use aurora_core::prelude::*;

/// The phase that computes.
pub(super) const UPDATE: &str = "update";
/// The phase that shares.
pub(super) const EDGES: &str = "edges";

/// Collective. Computes `half_sweeps` half-sweeps of the matrix with `cols` columns whose halves are `red` and `black`.
/// The first updates red elements.
///
/// ```
/// use aurora_apps::clock::Clock;
/// use aurora_apps::sor::half_sweeps;
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
///     half_sweeps(&mut red, &mut black, 5, 1, &mut Clock::start(world)?)?;
///     world.barrier()?;
///     assert_eq!(red.at(7)?, 0.0);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn half_sweeps<T: Real>(
    red: &mut GVector<T>,
    black: &mut GVector<T>,
    cols: usize,
    half_sweeps: usize,
    clock: &mut Clock<'_>,
) -> Result<()> {
    let rows = red.dim().map_or(0, |dim| dim.rows);
    let (mut own, mut other) =
        clock.part(EDGES, Kind::Sharing, || Ok((red.halo_cache_mut(1)?, black.halo_cache_mut(1)?)))?;
    for sweep in 0..half_sweeps {
        clock.part(UPDATE, Kind::Computing, || {
            for (row, own) in own.iter_rows_mut().filter(|(row, _)| *row > 0 && row + 1 < rows) {
                let (above, here, below) = (other.row(row - 1), other.row(row), other.row(row + 1));
                update_row(own, above, here, below, cols, parity(row, sweep % 2));
            }
            Ok(())
        })?;
        clock.part(EDGES, Kind::Sharing, || own.refresh())?;
        std::mem::swap(&mut own, &mut other);
    }
    own.finish()?;
    other.finish()
}
