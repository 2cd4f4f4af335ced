//! Times of what all ranks do together, for benches.

use aurora_core::{Config, Result, Route, World};
use std::time::{Duration, Instant};

/// Every route between threads, and its name in a bench's.
pub const ROUTES: [(&str, Route); 3] = [("local", Route::Local), ("shm", Route::Shm), ("udp", Route::Udp)];

/// The time that rank 0 takes for what it makes of `measure`, in a world of `ranks` threads.
///
/// # Panics
/// If the job fails.
pub fn in_threads(ranks: usize, route: Route, measure: impl Fn(&World) -> Result<Duration> + Sync) -> Duration {
    let config = Config::threads(ranks).route(route);
    config.run(measure).expect("a bench does not fail")
}

/// The time from one barrier to another, with `times` steps between them.
///
/// # Errors
/// Those of the steps.
pub fn between_barriers(world: &World, times: u64, mut step: impl FnMut(u64) -> Result<()>) -> Result<Duration> {
    world.barrier()?;
    let start = Instant::now();
    (0..times).try_for_each(&mut step)?;
    world.barrier()?;
    Ok(start.elapsed())
}
