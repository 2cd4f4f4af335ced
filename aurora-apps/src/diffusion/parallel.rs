//! The parallel program: a rank's rows, and one row on either side.

use super::stencil::step_row;
use crate::clock::{Clock, Kind};
use aurora_core::prelude::*;

/// The name of the computing phase in the report.
pub(super) const STENCIL: &str = "stencil";
/// The name of the sharing phase.
pub(super) const EDGES: &str = "edges";

/// Collective. Computes `steps` steps of `plate`. `other` must hold the same plate; the two take turns as the present
/// plate and the next. The result is in `plate` after an even number of steps, and in `other` after an odd number.
///
/// ```
/// use aurora_apps::clock::Clock;
/// use aurora_apps::diffusion::steps;
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let warm = |i| if i == 12 { 100.0 } else { 0.0 }; // the centre
///     let mut plate = GVector::<f64>::from_fn(world, MatrixDim::new(5, 5), warm)?;
///     let mut other = GVector::<f64>::from_fn(world, MatrixDim::new(5, 5), warm)?;
///     steps(&mut plate, &mut other, 2, &mut Clock::start(world)?)?;
///     world.barrier()?;
///     assert_eq!(plate.at(6)?, 8.0);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn steps(plate: &mut GVector<f64>, other: &mut GVector<f64>, steps: usize, clock: &mut Clock<'_>) -> Result<()> {
    let rows = plate.dim().map_or(0, |dim| dim.rows);
    let (mut now, mut next) =
        clock.part(EDGES, Kind::Sharing, || Ok((plate.halo_cache_mut(1)?, other.halo_cache_mut(1)?)))?;
    for _ in 0..steps {
        clock.part(STENCIL, Kind::Computing, || {
            for (row, next) in next.iter_rows_mut().filter(|(row, _)| *row > 0 && row + 1 < rows) {
                step_row(now.row(row - 1), now.row(row), now.row(row + 1), next);
            }
            Ok(())
        })?;
        clock.part(EDGES, Kind::Sharing, || next.refresh())?;
        std::mem::swap(&mut now, &mut next);
    }
    now.finish()?;
    next.finish()
}
