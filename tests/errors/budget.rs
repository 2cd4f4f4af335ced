//! Copies that are larger than the limit of a rank: all ranks get the error before memory is allocated.

use crate::provoke::{Job, Outcomes, on_every_route};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// 8000 bytes.
const LEN: usize = 1000;

fn says(outcomes: &Outcomes, purpose: &str, line: &str) {
    outcomes
        .all_say(&[purpose, "of the GVector<u64> of 1000 elements (made at", "of AURORA_CACHE_LIMIT: read a slice"])
        .all_say(&["`batched_reads`", "`v.slice(range)`, then `read_cache`"])
        .all_cite(&[line, "let mut v = GVector"]);
    let typed = outcomes.ranks.iter().flatten().all(|outcome| matches!(outcome, Err(Error::CacheLimit { .. })));
    assert!(typed, "{outcomes:?}");
}

/// The maximum bytes that a rank allocates for a ReadCache: the whole, or half of the other node's data with two nodes
/// of two ranks.
fn most(job: Job) -> usize {
    if job.is_nodes() && job.ranks == 4 { 8 * LEN / 4 } else { 8 * LEN }
}

fn load(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::from_fn(world, LEN, |i| i as u64)?;
    for round in 0..3 {
        let all = v.read_cache()?;
        assert!(all.iter().enumerate().all(|(i, value)| *value == i as u64 + round));
        drop(all);
        v.owner_computes_mut()?.local_mut().iter_mut().for_each(|value| *value += 1);
    }
    Ok(())
}

#[test]
fn a_read_cache() {
    on_every_route([2, 3, 4], |job| {
        // A limit of exactly the needed bytes is enough for every load.
        job.cache_limit(most(job)).run(load).run.expect("it fits");
        let outcomes = job.cache_limit(most(job) - 1).run(load);
        if job.is_shared() {
            // Nothing is copied, so nothing counts against the limit.
            outcomes.run.expect("it takes nothing");
        } else {
            says(&outcomes, "for a ReadCache", "let all = v.read_cache()?");
        }
    });
}

#[test]
fn a_streaming_one() {
    on_every_route([2, 3], |job| {
        let outcomes = job.cache_limit(100).run(|world| {
            let mut v = GVector::<u64>::new(world, LEN)?;
            let stream = v.read_cache_blocks()?;
            stream.whole()?;
            drop(stream);
            v.fill(1)
        });
        if job.is_shared() {
            outcomes.run.expect("it takes nothing");
        } else {
            says(&outcomes, "for a ReadCache", "let stream = v.read_cache_blocks()?");
        }
    });
}

/// A view is the rank's own copy, also where memory is shared.
#[test]
fn a_view_of_pages() {
    on_every_route([1, 2, 3], |job| {
        let body = |world: &World| {
            let mut v = GVector::<u64>::new(world, LEN)?;
            let pages = v.paged_mut()?;
            pages.finish()
        };
        job.cache_limit(8 * LEN).run(body).run.expect("it fits");
        says(&job.cache_limit(8 * LEN - 1).run(body), "for the view of a Paged scope", "let pages = v.paged_mut()?");
    });
}

/// A ReadCache + ReleaseC has a copy of its own, also where memory is shared.
#[test]
fn one_that_is_written_to() {
    on_every_route([1, 2, 3], |job| {
        let outcomes = job.cache_limit(8 * LEN - 1).run(|world| {
            let mut v = GVector::<u64>::new(world, LEN)?;
            let mut all = v.read_cache_release_c()?;
            all[0] = 1;
            all.finish()
        });
        says(&outcomes, "for the copy of a ReadCache + ReleaseC", "let mut all = v.read_cache_release_c()?");
    });
}

/// One of the two nodes has a single rank, which needs the whole.
#[test]
fn one_rank_alone_is_short() {
    on_every_route([3], |job| {
        if !job.is_nodes() {
            return;
        }
        let outcomes = job.cache_limit(8 * LEN / 2).run(|world| {
            let mut v = GVector::<u64>::new(world, LEN)?;
            let all = v.read_cache()?;
            drop(all);
            v.fill(1)
        });
        says(&outcomes, "rank 2 needs 8000 bytes for a ReadCache", "let all = v.read_cache()?");
    });
}

/// A ReadCache of a part counts only the part.
#[test]
fn one_of_a_part() {
    let load = |world: &World| {
        let mut v = GVector::<u64>::from_fn(world, LEN, |i| i as u64)?;
        let some = v.slice(300..700).read_cache()?;
        assert!(some.iter().zip(300..).all(|(value, i)| *value == i));
        drop(some);
        v.fill(1)
    };
    on_every_route([2, 4], |job| {
        job.cache_limit(8 * 400).run(load).run.expect("it fits");
        let outcomes = job.cache_limit(8 * 400 - 1).run(load);
        if job.is_shared() {
            outcomes.run.expect("it takes nothing");
        } else {
            says(&outcomes, "needs 3200 bytes for a ReadCache", "let some = v.slice(300..700).read_cache()?");
        }
    });
}

/// A HaloCache allocates its halo twice, also where memory is shared.
#[test]
fn a_halo_cache() {
    on_every_route([2], |job| {
        let load = |world: &World| {
            let mut v = GVector::<u64>::new(world, LEN)?;
            let around = v.halo_cache(10)?;
            drop(around);
            v.fill(1)
        };
        job.cache_limit(2 * 8 * 20).run(load).run.expect("it fits");
        let outcomes = job.cache_limit(100).run(load);
        says(&outcomes, "for a HaloCache", "let around = v.halo_cache(10)?");
    });
}

/// The Accumulate has touched so many elements that a copy of the whole is shorter than a list.
#[test]
fn what_is_accumulated() {
    on_every_route([1, 2], |job| {
        let outcomes = job.cache_limit(8 * LEN - 1).run(|world| {
            let mut v = GVector::<u64>::new(world, LEN)?;
            let mut sums = v.accumulate(Sum)?;
            (0..LEN).try_for_each(|i| sums.update(i, 1))?;
            sums.finish()
        });
        says(&outcomes, "needs 8000 bytes for this rank's part of an Accumulate", "let mut sums = v.accumulate(Sum)?");
    });
}
