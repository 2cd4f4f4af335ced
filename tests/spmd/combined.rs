//! `ReadCache` and `ReleaseC` in one scope.

use aurora_core::{GVector, GlobalRead, GlobalWrite, MatrixDim, Result, World};
use aurora_suite::{Body, check};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(own_writes_are_seen_at_once_and_by_all_afterwards),
        Body::of(rows_and_cells),
        Body::of(only_some_write),
        Body::of(one_scope_after_the_other),
        Body::of(lengths),
    ]
}

/// The elements that this rank writes.
fn mine(world: &World, len: usize) -> impl Iterator<Item = usize> + use<> {
    (world.rank().index()..len).step_by(world.size())
}

fn own_writes_are_seen_at_once_and_by_all_afterwards(world: &World) -> Result<()> {
    let len = 100 * world.size() + 3;
    let mut v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let mut all = v.read_cache_release_c()?;
    for i in mine(world, len) {
        // The neighbour's element has its value from the start of the scope.
        let next = if i + 1 < len { all[i + 1] } else { 0 };
        all[i] += 1000 * next;
        check::equal("what I have written", all.at(i)?, i as u64 + 1000 * next)?;
    }
    // Writes of other ranks are not visible inside the scope.
    let me = world.rank().index();
    let want = |i: usize| (i + if i + 1 < len { 1000 * (i + 1) } else { 0 }) as u64;
    check::same(all.as_slice(), 0, |i| if i % world.size() == me { want(i) } else { i as u64 })?;
    all.finish()?;
    check::whole(&v, want)
}

fn rows_and_cells(world: &World) -> Result<()> {
    let (rows, cols) = (3 * world.size() + 1, 5);
    let mut m = GVector::<u32>::from_fn(world, MatrixDim::new(rows, cols), |i| i as u32)?;
    let mut all = m.read_cache_release_c()?;
    for row in mine(world, rows) {
        check::same(all.row(row), 0, |col| (row * cols + col) as u32)?;
        match row % 3 {
            0 => all.row_mut(row).fill(7),
            1 => (0..cols).for_each(|col| all[(row, col)] += 1),
            _ => all.slice_mut(row * cols + 1..row * cols + 3).fill(9),
        }
        assert_eq!(all[(row, 1)], all.row(row)[1]);
    }
    drop(all);
    check::whole(&m, |i| match (i / cols % 3, i % cols) {
        (0, _) => 7,
        (1, _) => i as u32 + 1,
        (_, 1 | 2) => 9,
        _ => i as u32,
    })
}

/// Ranks that only read do not delay the writing ranks, and do not see their writes.
fn only_some_write(world: &World) -> Result<()> {
    let len = 50 * world.size();
    let mut v = GVector::<i64>::new(world, len)?;
    for round in 1..6 {
        let writer = round as usize % world.size();
        let mut all = v.read_cache_release_c()?;
        check::same(all.as_slice(), 0, |_| round - 1)?;
        if world.rank() == writer {
            for i in 0..len {
                all.put(i, round)?;
            }
        }
        let want = if world.rank() == writer { round } else { round - 1 };
        check::same(all.as_slice(), 0, |_| want)?;
        drop(all);
    }
    check::whole(&v, |_| 5)
}

fn one_scope_after_the_other(world: &World) -> Result<()> {
    let len = 30 * world.size() + 1;
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..5 {
        let mut all = v.read_cache_release_c()?;
        check::same(all.as_slice(), 0, |_| 4 * round)?;
        mine(world, len).for_each(|i| all[i] += 1);
        drop(all);
        let mut sums = v.release_c_with(aurora_core::ops::Sum)?;
        mine(world, len).try_for_each(|i| sums.update(i, 1))?;
        drop(sums);
        check::same(v.read_cache()?.as_slice(), 0, |_| 4 * round + 2)?;
        let mut all = v.read_cache_release_c()?;
        mine(world, len).for_each(|i| all[i] += 1);
        all.finish()?;
        for x in v.owner_computes_mut()?.local_mut() {
            *x += 1;
        }
        if round == 2 {
            v.release_cache()?;
        }
    }
    Ok(())
}

fn lengths(world: &World) -> Result<()> {
    for len in [0, 1, world.size(), 63, 64, 65, 1000] {
        let mut v = GVector::<u8>::new(world, len)?;
        let mut all = v.read_cache_release_c()?;
        assert_eq!(all.len(), len);
        for i in mine(world, len) {
            all[i] = i as u8;
        }
        drop(all);
        check::whole(&v, |i| i as u8)?;
        world.barrier()?;
    }
    Ok(())
}
