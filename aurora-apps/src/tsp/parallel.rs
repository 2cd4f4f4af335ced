//! The parallel program: parts of the search are taken from a shared counter, and the bound is shared.

use super::Instance;
use super::search::{Best, Bound, Search, Tour};
use crate::clock::{Clock, Laps};
use aurora_core::ops::{Min, Sum};
use aurora_core::prelude::*;

/// The result of a search: figures, the tour, and the numbers of nodes and improvements.
pub(super) type Outcome = (Laps, Tour, [u64; 2]);

/// Collective. Runs the parallel program: parts of the search are taken from a shared counter, and the bound is shared.
pub(super) fn together(world: &World, chunk: u64, naive: bool, instance: &Instance) -> Result<Outcome> {
    let n = instance.cities();
    let distances = GVector::<u32>::from_fn(world, MatrixDim::new(n, n), |k| instance.distances()[k])?;
    let next = GScalar::new(world, 0, 0u64)?;
    let bound = GScalar::new(world, 0, u32::MAX)?;
    let mut best = GScalar::new(world, 0, Tour::none())?;

    let mut clock = Clock::start(world)?;
    let distances = clock.sharing("read distances", || distances.read_cache())?;
    let instance = Instance::new(n, |i, j| distances[i * n + j]);
    let found = if naive {
        clock.computing("search", || take_parts(chunk, &instance, &next, &bound))?
    } else {
        let bound = clock.sharing("read bound", || bound.read_mostly_with(Min))?;
        clock.computing("search", || take_parts(chunk, &instance, &next, &bound))?
    };
    drop(distances);
    let mut figures = [found.nodes, found.improvements];
    clock.sharing("collect tours", || {
        best.accumulate(Best)?.update(found.tour);
        world.all_reduce_slice(Sum, &mut figures)
    })?;
    let tour = best.read_cache()?.clone();
    Ok((clock.stop()?, tour, figures))
}

/// The result of one rank.
struct Found {
    tour: Tour,
    nodes: u64,
    improvements: u64,
}

fn take_parts(chunk: u64, instance: &Instance, next: &GScalar<u64>, bound: &impl Bound) -> Result<Found> {
    let mut search = Search::new(instance, bound);
    let parts = search.parts();
    loop {
        let first = next.fetch_add(chunk)?;
        if first >= parts {
            break;
        }
        (first..parts.min(first + chunk)).try_for_each(|part| search.part(part))?;
    }
    Ok(Found { tour: search.best, nodes: search.nodes, improvements: search.improvements })
}
