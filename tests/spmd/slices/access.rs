//! Reads and writes of a part, by rows and by elements, and accesses outside of the part.

use aurora_core::ops::Sum;
use aurora_core::{Error, GVector, GlobalRead, GlobalWrite, MatrixDim, Result, World};
use aurora_suite::check;

pub fn a_part_to_read_and_to_write(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 50 * world.size() + 1);
    let mut v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let (from, upto) = (len / 5, len - len / 4);
    for round in 0..4_u64 {
        let mut part = v.slice_mut(from..upto).read_cache_release_c()?;
        assert_eq!((part.window(), part.len(), part.iter().count()), (from..upto, len, upto - from));
        check::same(part.as_slice(), from, |i| (i as u64) + round)?;
        for i in (from..upto).filter(|i| i % p == me) {
            part[i] += 1;
            assert_eq!(part.at(i)?, i as u64 + round + 1);
        }
        drop(part);
        check::same(v.read_cache()?.as_slice(), 0, |i| {
            i as u64 + if (from..upto).contains(&i) { round + 1 } else { 0 }
        })?;
    }
    let (mut left, mut right) = v.split_at_mut(len / 2);
    let (mut a, mut b) = (left.slice_mut(..).read_cache_release_c()?, right.slice_mut(..).read_cache_release_c()?);
    for i in (me..len).step_by(p) {
        if i < len / 2 { a[i] = 1 } else { b[i] = 2 }
    }
    drop((a, b));
    check::same(v.read_cache()?.as_slice(), 0, |i| if i < len / 2 { 1 } else { 2 })
}

pub fn rows(world: &World) -> Result<()> {
    let (rows, cols) = (4 * world.size() + 1, 6);
    let mut m = GVector::<u32>::from_fn(world, MatrixDim::new(rows, cols), |i| i as u32)?;
    let (from, upto) = (rows / 3, rows - 1);
    let part = m.rows(from..upto).read_cache()?;
    assert_eq!(part.window(), from * cols..upto * cols);
    for row in from..upto {
        check::same(part.row(row), row * cols, |i| i as u32)?;
        assert_eq!(part[(row, 5)], (row * cols + 5) as u32);
    }
    drop(part);
    let mut own = m.rows_mut(from..).owner_computes_mut()?;
    for row in own.rows() {
        own.row_mut(row).fill(9);
        own[(row, 1)] = 8;
    }
    drop(own);
    let mut some = m.rows_mut(..from).read_cache_release_c()?;
    if world.is_root() {
        some.row_mut(0).fill(3);
        some[(from - 1, 2)] = 4;
    }
    drop(some);
    // A part of a row is shown, so the row is not.
    let some = m.slice(1..cols * 2).owner_computes()?;
    assert!(some.rows().len() <= 1 && !some.rows().contains(&0));
    drop(some);
    let all = m.rows(..).slice(..).rows(1..).read_cache()?;
    check::same(all.as_slice(), cols, |i| match (i / cols, i % cols) {
        (row, col) if row >= from => {
            if col == 1 {
                8
            } else {
                9
            }
        }
        (row, 2) if row == from - 1 => 4,
        (0, _) => 3,
        _ => i as u32,
    })
}

pub fn outside_of_a_part(world: &World) -> Result<()> {
    let len = 20;
    let mut v = GVector::<i32>::new(world, len)?;
    let shown = |error: Error| match error {
        Error::NotShown { index, start, end, .. } => (index, start, end),
        error => panic!("{error}"),
    };
    let cache = v.slice(5..15).read_cache()?;
    assert_eq!(shown(cache.at(15).unwrap_err()), (15, 5, 15));
    assert!(matches!(cache.at(20), Err(Error::IndexOutside { index: 20, len: 20, .. })));
    drop(cache);
    let mut writes = v.slice_mut(5..15).release_c()?;
    assert_eq!(shown(writes.put(4, 1).unwrap_err()), (4, 5, 15));
    assert_eq!(shown(writes.put_slice(14, &[1, 2]).unwrap_err()), (15, 5, 15));
    assert_eq!(shown(writes.put_slice(4, &[1, 2]).unwrap_err()), (4, 5, 15));
    writes.put_slice(4, &[])?;
    assert!(matches!(writes.put_slice(19, &[1, 2]), Err(Error::RangeOutside { start: 19, end: 21, len: 20, .. })));
    writes.finish()?;
    let mut both = v.slice_mut(5..15).read_cache_release_c()?;
    assert_eq!(shown(both.put(15, 1).unwrap_err()), (15, 5, 15));
    assert_eq!(shown(both.at(0).unwrap_err()), (0, 5, 15));
    drop(both);
    let mut alone = v.slice_mut(5..15).release_alone()?;
    assert_eq!(shown(alone.put(0, 1).unwrap_err()), (0, 5, 15));
    drop(alone);
    // Invalid ranges are refused before the collective step.
    assert!(matches!(v.slice(5..21).read_cache(), Err(Error::RangeOutside { start: 5, end: 21, len: 20, .. })));
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = v.slice(7..5).owner_computes().map(drop);
    assert!(matches!(reversed, Err(Error::RangeOutside { start: 7, end: 5, len: 20, .. })));
    assert_eq!(shown(v.slice(5..15).slice(4..6).read_cache().unwrap_err()), (4, 5, 15));
    let (mut left, _) = v.split_at_mut(10);
    assert_eq!(shown(left.slice_mut(..11).release_c().unwrap_err()), (10, 0, 10));
    assert_eq!(shown(left.slice(5..11).slice(..).owner_computes().unwrap_err()), (10, 0, 10));
    check::whole(&v, |_| 0)
}

/// Sums of a part while another part is written, merged only into the part's elements. Then reads of these elements.
pub fn sums_of_a_part_and_reads_of_it(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 40 * world.size() + 3);
    let mut v = GVector::from_fn(world, len, |i| i as u64)?;
    let at = len / 3;
    let (mut left, mut right) = v.split_at_mut(at);
    let mut writes = left.slice_mut(..).release_c()?;
    let mut sums = right.slice_mut(at + 2..).accumulate(Sum)?;
    (0..at).filter(|i| i % p == me).try_for_each(|i| writes.put(i, 7))?;
    (at + 2..len).try_for_each(|i| sums.update(i, 1))?;
    sums.update_slice(at + 2, &vec![me as u64; len - at - 2])?;
    assert!(matches!(sums.update(at + 1, 1), Err(Error::NotShown { .. })));
    assert!(matches!(sums.update_slice(at + 1, &[1, 1]), Err(Error::NotShown { .. })));
    drop((writes, sums));
    let more = (p + (0..p).sum::<usize>()) as u64;
    let want = |i: usize| match i {
        _ if i < at => 7,
        _ if i < at + 2 => i as u64,
        _ => i as u64 + more,
    };
    let part = v.slice(at + 1..len - 1);
    let indices: Vec<usize> = part.range().rev().step_by(3).collect();
    let gather = part.batched_reads()?;
    check::same(&gather.read(&indices)?, 0, |k| want(indices[k]))?;
    check::same(&gather.iter(indices.iter().copied()).collect::<Result<Vec<_>>>()?, 0, |k| want(indices[k]))?;
    assert!(matches!(gather.read(&[at]), Err(Error::NotShown { .. })));
    assert!(matches!(gather.queue().push(len - 1), Err(Error::NotShown { .. })));
    assert!(matches!(gather.read(&[len]), Err(Error::IndexOutside { .. })));
    assert!(matches!(gather.at(at), Err(Error::NotShown { .. })));
    check::equal("one", gather.at(at + 5)?, want(at + 5))?;
    drop(gather);
    world.barrier()?;
    let mut sums = v.slice_mut(..at).accumulate_in_order(Sum)?;
    sums.update(0, me as u64)?;
    drop(sums);
    check::equal("the first", v.at(0)?, 7 + (0..p as u64).sum::<u64>())
}

/// Reads of elements of a part while this rank writes to another part, in a collective scope or alone.
pub fn reads_of_a_part_beside_writes_to_another(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 60 * world.size() + 1);
    let mut v = GVector::from_fn(world, len, |i| i as u64)?;
    let at = len / 3;
    let indices: Vec<usize> = (at..len).rev().step_by(2).collect();
    let (mut left, right) = v.split_at_mut(at);
    let read = || -> Result<()> {
        let gather = right.slice(..).batched_reads()?;
        check::same(&gather.read(&indices)?, 0, |k| indices[k] as u64)?;
        check::same(&gather.iter(indices.iter().copied()).collect::<Result<Vec<_>>>()?, 0, |k| indices[k] as u64)
    };
    let mut writes = left.slice_mut(..).release_c()?;
    (0..at).filter(|i| i % p == me).try_for_each(|i| writes.put(i, 7))?;
    read()?;
    writes.finish()?;
    let mut own = left.slice_mut(..).owner_computes_mut()?;
    own.local_mut().fill(8);
    read()?;
    drop(own);
    // Not collective: a late rank would overwrite the writes of other ranks.
    world.barrier()?;
    let mut alone = left.slice_mut(..).release_alone()?;
    (0..at).filter(|i| i % p == me).try_for_each(|i| alone.put(i, 9))?;
    read()?;
    alone.finish()?;
    check::same(v.read_cache()?.as_slice(), 0, |i| if i < at { 9 } else { i as u64 })
}
