//! Threads inside a rank: slices of guards with rayon.

use aurora_core::{GVector, MatrixDim, Result, World};
use aurora_suite::{Body, check, want};
use rayon::prelude::*;

pub fn bodies() -> Vec<Body> {
    vec![Body::of(threads_divide_what_is_mine), Body::of(threads_share_a_cache), Body::of(a_pool_of_each_rank)]
}

fn threads_divide_what_is_mine(world: &World) -> Result<()> {
    for len in [1, 7, 10_001, 300_000] {
        let mut v = GVector::<u64>::new(world, len)?;
        for round in 0..3 {
            let mut own = v.owner_computes_mut()?;
            let first = own.indices().start;
            own.local_mut().par_iter_mut().enumerate().for_each(|(i, x)| *x = want(first + i + round));
            own.finish()?;
            let own = v.owner_computes()?;
            let right = own.local().par_iter().enumerate().all(|(i, x)| *x == want(first + i + round));
            assert!(right, "the threads have written something else");
            drop(own);
            world.barrier()?;
            check::whole(&v, |i| want(i + round))?;
            world.barrier()?;
        }
    }
    Ok(())
}

fn threads_share_a_cache(world: &World) -> Result<()> {
    let dim = MatrixDim::new(97, 61);
    let a = GVector::from_fn(world, dim, want)?;
    let mut sums = GVector::<u64>::new(world, 97)?;
    {
        let whole = a.read_cache()?;
        let mut sums = sums.owner_computes_mut()?;
        let (first, rows) = (sums.indices().start, &whole[..]);
        sums.local_mut().par_iter_mut().enumerate().for_each(|(i, sum)| {
            let row = &rows[(first + i) * dim.cols..][..dim.cols];
            *sum = row.par_iter().copied().reduce(|| 0, u64::wrapping_add);
        });
    }
    world.barrier()?;
    let sum = |row: usize| (0..dim.cols).map(|col| want(row * dim.cols + col)).fold(0, u64::wrapping_add);
    check::whole(&sums, sum)
}

fn a_pool_of_each_rank(world: &World) -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().map_err(aurora_core::Error::user)?;
    let mut v = GVector::from_fn(world, 5003, |i| 5003 - i as u64)?;
    {
        let mut own = v.owner_computes_mut()?;
        let mine = own.local_mut();
        pool.install(|| mine.par_sort_unstable());
    }
    let whole = v.read_cache()?;
    let (whole, parts) = (&whole[..], (0..world.size()).map(|rank| v.range_of(rank)).collect::<Vec<_>>());
    let sorted = pool.install(|| parts.par_iter().all(|part| whole[part.clone()].is_sorted()));
    assert!(sorted, "each block is sorted");
    Ok(())
}
