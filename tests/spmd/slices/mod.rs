//! Behaviours on parts of a vector.

use aurora_core::{Add, Error, GScalar, GVector, GlobalRead, GlobalWrite, MatrixDim, Result, World, distmemcpy};
use aurora_suite::body::Body;
use aurora_suite::check;
use std::ops::Range;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(sums_of_a_part_and_reads_of_it),
        Body::of(reads_of_a_part_beside_writes_to_another),
        Body::of(a_part_is_loaded),
        Body::of(a_loaded_part_stays_as_it_is),
        Body::of(writes_before_a_load_are_in_it),
        Body::of(a_part_is_loaded_beside_writers_of_another),
        Body::of(my_part_of_a_part),
        Body::of(both_parts_at_once),
        Body::of(what_is_not_lent_is_served).from_ranks(2),
        Body::of(two_collective_scopes_at_once),
        Body::of(many_scopes_around_each_other),
        Body::of(one_rank_writes_alone_beside_a_scope_of_all),
        Body::of(a_load_does_not_wait_for_writes_to_another_part).from_ranks(2),
        Body::of(a_part_to_read_and_to_write),
        Body::of(rows),
        Body::of(a_place_that_others_show),
        Body::of(shared_guards_that_overlap),
        Body::of(outside_of_a_part),
    ]
}

/// Ranges of every kind.
fn ranges(len: usize) -> Vec<Range<usize>> {
    let mut ranges = vec![0..0, 0..len, 0..len / 2, len / 2..len, len / 3..len - len / 3, len..len, len / 2..len / 2];
    ranges.extend((0..len.min(3)).map(|i| i..i + 1));
    ranges
}

fn a_part_is_loaded(world: &World) -> Result<()> {
    for len in [1, world.size(), 3 * world.size() + 1, 1000, 70_001] {
        let mut v = GVector::<u32>::from_fn(world, len, |i| i as u32)?;
        for range in ranges(len) {
            let part = v.slice(range.clone()).read_cache()?;
            assert_eq!((part.len(), part.window(), part.iter().count()), (len, range.clone(), range.len()));
            check::same(&part, range.start, |i| i as u32)?;
            for i in range.clone().step_by(range.len() / 10 + 1) {
                assert_eq!((part[i], part.at(i)?), (i as u32, i as u32));
            }
            assert_eq!(part[range.clone()], part[..]);
        }
        // Nor is the whole disturbed by it.
        v.owner_computes_mut()?.local_mut().iter_mut().for_each(|x| *x += 1);
        check::same(&v.read_cache()?, 0, |i| i as u32 + 1)?;
        v.slice_mut(len / 2..).owner_computes_mut()?.local_mut().fill(7);
        check::same(&v.slice(..len / 2).read_cache()?, 0, |i| i as u32 + 1)?;
        let want = |i| if i < len / 2 { i as u32 + 1 } else { 7 };
        check::same(&v.read_cache()?, 0, want)?;
        check::whole(&v, want)?;
        world.barrier()?;
    }
    Ok(())
}

fn a_loaded_part_stays_as_it_is(world: &World) -> Result<()> {
    let len = 40 * world.size();
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..6 {
        {
            let (left, right) = (v.slice(..len / 2).read_cache()?, v.slice(len / 4..).read_cache()?);
            check::same(&left, 0, |_| round)?;
            drop(left);
            check::same(&right, 0, |_| round)?;
        }
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let seen = left.slice(..).read_cache()?;
        let mut own = right.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        check::same(&seen, 0, |_| round)?;
        drop(own);
        check::same(&seen, 0, |_| round)?;
        drop(seen);
        // Others may still show it.
        let mut own = left.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
    }
    world.barrier()?;
    check::whole(&v, |_| 6)
}

fn writes_before_a_load_are_in_it(world: &World) -> Result<()> {
    let (len, p, me) = (60 * world.size() + 1, world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 1..12_u64 {
        for i in (me..len).step_by(p).filter(|i| i % 7 == 3) {
            v.put(i, round)?;
        }
        if round % 2 == 0 {
            // More of them, of which a load of another part knows nothing.
            let mut alone = v.slice_mut(len / 2..).release_alone()?;
            (len / 2..len).filter(|i| i % p == me && i % 7 == 4).try_for_each(|i| alone.put(i, round))?;
        }
        if me == round as usize % p {
            std::thread::sleep(Duration::from_micros(300));
        }
        let part = v.slice(len / 4..len - 3).read_cache()?;
        check::same(&part, len / 4, |i| match i % 7 {
            3 => round,
            4 if i >= len / 2 => round / 2 * 2,
            _ => 0,
        })?;
        drop(part);
        if round % 3 == 0 {
            check::same(&v.read_cache()?[3..4], 3, |_| round)?;
        }
    }
    Ok(())
}

fn a_part_is_loaded_beside_writers_of_another(world: &World) -> Result<()> {
    let len = 64 * world.size();
    let mut v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let (mut left, mut right) = v.split_at_mut(len / 2 + 1);
    // What is lent for writing when the other part is loaded.
    for round in 0..5 {
        let mut own = right.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        for _ in 0..3 {
            let seen = left.slice(..).read_cache()?;
            check::same(&seen, 0, |i| i as u64 + round)?;
        }
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        drop(own);
        let mut own = left.slice_mut(..).owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x += 1);
        let seen = right.slice(..).read_cache()?;
        check::same(&seen, len / 2 + 1, |i| i as u64 + 2 * round + 2)?;
        drop((own, seen));
    }
    world.barrier()?;
    check::whole(&v, |i| i as u64 + if i <= len / 2 { 5 } else { 10 })
}

fn my_part_of_a_part(world: &World) -> Result<()> {
    for len in [1, world.size() + 1, 501] {
        let mut v = GVector::<u32>::from_fn(world, len, |i| i as u32)?;
        let mine = v.local_range();
        for range in ranges(len) {
            let want = mine.start.max(range.start)..mine.end.min(range.end);
            let own = v.slice(range.clone()).owner_computes()?;
            assert_eq!(own.indices().len(), want.len());
            check::same(own.local(), want.start, |i| i as u32)?;
            for i in own.indices() {
                assert_eq!((own[i], own.at(i)?), (i as u32, i as u32));
            }
            drop(own);
            let mut own = v.slice_mut(range).owner_computes_mut()?;
            for i in own.indices() {
                own[i] += 1;
                own.put(i, i as u32 + 5)?;
            }
            own.finish()?;
            check::same(v.owner_computes()?.local(), mine.start, |i| {
                if want.contains(&i) { i as u32 + 5 } else { i as u32 }
            })?;
            v.slice_mut(want.start.min(want.end)..want.end)
                .owner_computes_mut()?
                .local_mut()
                .iter_mut()
                .for_each(|x| *x -= 5);
            world.barrier()?;
            check::whole(&v, |i| i as u32)?;
            world.barrier()?;
        }
    }
    Ok(())
}

fn both_parts_at_once(world: &World) -> Result<()> {
    let (len, me) = (30 * world.size() + 2, world.rank().index());
    let mut v = GVector::<i64>::new(world, len)?;
    for at in [0, 1, len / 2, len - 1, len] {
        let mine = v.local_range();
        let middle = (mine.start + mine.end) / 2;
        for at in [at, middle] {
            // Each rank may cut where it likes: nothing of this is collective.
            let (mut left, mut right) = v.split_at_mut(at);
            let (mut one, mut other) =
                (left.slice_mut(..).owner_computes_mut()?, right.slice_mut(..).owner_computes_mut()?);
            let (a, b) = (one.local_mut(), other.local_mut());
            assert_eq!(a.len() + b.len(), mine.len());
            std::thread::scope(|scope| {
                scope.spawn(|| a.fill(me as i64));
                b.fill(-(me as i64));
            });
            if at % 2 == 0 {
                drop((one, other))
            } else {
                drop((other, one))
            }
            let seen = v.owner_computes()?;
            check::same(seen.local(), mine.start, |i| if i < at { me as i64 } else { -(me as i64) })?;
        }
    }
    world.barrier()
}

/// Rank 0 holds half of its block for writing and waits; the other half is read and written by the others meanwhile.
fn what_is_not_lent_is_served(world: &World) -> Result<()> {
    let len = 100 * world.size();
    let mut v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let done = GScalar::new(world, world.size() - 1, 0u64)?;
    if world.is_root() {
        let (mut left, _right) = v.split_at_mut(50);
        let mut own = left.slice_mut(10..).owner_computes_mut()?;
        own.local_mut().fill(0);
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while done.get()? < world.size() as u64 - 1 {
            if std::time::Instant::now() > until {
                return Err(Error::user("the others wait for what is lent"));
            }
            std::thread::yield_now();
        }
        own.local_mut().fill(1);
    } else {
        let at = 50 + world.rank().index();
        assert_eq!(v.at(at)?, at as u64);
        assert_eq!(v.at_many(&[at, 3, len - 1])?, [at as u64, 3, len as u64 - 1]);
        let mut some = [0; 40];
        distmemcpy(&mut some[..], v.range(60..100))?;
        check::same(&some, 60, |i| i as u64)?;
        v.put(at, 7)?;
        let mut alone = v.slice_mut(50..60).release_alone()?;
        alone.put(at, 8)?;
        alone.finish()?;
        assert_eq!(v.at(at)?, 8);
        done.fetch_add(1)?;
    }
    world.barrier()?;
    let written = 51..50 + world.size();
    check::whole(&v, |i| match i {
        10..50 => 1,
        i if written.contains(&i) => 8,
        i => i as u64,
    })
}

fn two_collective_scopes_at_once(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 50 * world.size() + 3);
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..10_u64 {
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut puts = left.slice_mut(..).release_c()?;
        let mut sums = right.slice_mut(..).release_c_with::<Add>()?;
        for i in (me..len).step_by(p) {
            if i < len / 2 { puts.put(i, round)? } else { sums.update(i, 1)? }
        }
        match round % 4 {
            0 => puts.finish().and(sums.finish())?,
            1 => sums.finish().and(puts.finish())?,
            2 => drop((puts, sums)),
            _ => drop((sums, puts)),
        }
        check::same(&v.read_cache()?, 0, |i| if i < len / 2 { round } else { round + 1 })?;
        // A load of one part, with what the last scope wrote there, while a scope of the other is open.
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut puts = right.slice_mut(..).release_c()?;
        check::same(&left.slice(..).read_cache()?, 0, |_| round)?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| puts.put(i, round + 1))?;
        let mut more = left.slice_mut(1..).release_c()?;
        (1..len / 2).filter(|i| i % p == me).try_for_each(|i| more.put(i, round))?;
        more.finish()?;
        check::same(&left.slice(..).read_cache()?, 0, |_| round)?;
        puts.finish()?;
    }
    Ok(())
}

/// More of them than a rank may be ahead: one open, the others one after the other.
fn many_scopes_around_each_other(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 40 * world.size());
    let mut v = GVector::<u32>::new(world, len)?;
    let (mut first, mut rest) = v.split_at_mut(len / 4);
    let mut outer = first.slice_mut(..).release_c()?;
    for round in 1..=20_u32 {
        let mut inner = rest.slice_mut(len / 2..).release_c()?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| inner.put(i, round))?;
        drop(inner);
        (0..len / 4).filter(|i| i % p == me).try_for_each(|i| outer.put(i, round))?;
        if round % 5 == 0 {
            check::same(&rest.slice(len / 4..).read_cache()?, len / 4, |i| if i < len / 2 { 0 } else { round })?;
        }
    }
    drop(outer);
    check::same(&v.read_cache()?, 0, |i| if i < len / 4 || i >= len / 2 { 20 } else { 0 })
}

fn one_rank_writes_alone_beside_a_scope_of_all(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 24_000 * world.size());
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 1..4_u64 {
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut alone = right.slice_mut(..).release_alone()?;
        let mut all = left.slice_mut(..).release_c()?;
        for i in (me..len).step_by(p) {
            if i < len / 2 { all.put(i, round)? } else { alone.put(i, round)? }
        }
        // It ends before the scope that is open around it everywhere.
        alone.finish()?;
        all.finish()?;
        check::same(&v.read_cache()?, 0, |_| round)?;
        // And it stays open around a load of the other part.
        let (mut left, mut right) = v.split_at_mut(len / 2);
        let mut alone = right.slice_mut(..).release_alone_with::<Add>()?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| alone.update(i, 1))?;
        check::same(&left.slice(..).read_cache()?, 0, |_| round)?;
        (len / 2..len).filter(|i| i % p == me).try_for_each(|i| alone.update(i, 1))?;
        left.slice_mut(..).owner_computes_mut()?.local_mut().reverse();
        alone.finish()?;
        check::same(&v.read_cache()?, 0, |i| if i < len / 2 { round } else { round + 2 })?;
    }
    Ok(())
}

/// Rank 0 has the right of its block in its hands, and loads the left; rank 1 has sent writes to the right, and loads it too.
fn a_load_does_not_wait_for_writes_to_another_part(world: &World) -> Result<()> {
    let (block, me) = (20_000, world.rank().index());
    let mut v = GVector::<u64>::new(world, block * world.size())?;
    let (left, mut right) = v.split_at_mut(block / 2);
    if me == 0 {
        let mut own = right.slice_mut(..).owner_computes_mut()?;
        own.local_mut().fill(1);
        world.barrier()?;
        check::same(&left.slice(..).read_cache()?, 0, |_| 0)?;
        check::same(own.local(), block / 2, |_| 1)?;
    } else {
        world.barrier()?;
        let mut alone = right.slice_mut(..).release_alone()?;
        if me == 1 {
            // More than one batch holds, less than two do.
            (block / 2..block / 2 + 7000).try_for_each(|i| alone.put(i, if i % 2 == 0 { 7 } else { 8 }))?;
            (block / 2..block / 2 + 10).rev().try_for_each(|i| alone.put(i, 9))?;
        }
        check::same(&left.slice(..).read_cache()?, 0, |_| 0)?;
        alone.finish()?;
    }
    world.barrier()?;
    check::same(&v.slice(..block).read_cache()?, 0, |i| match i - block / 2 * usize::from(i >= block / 2) {
        _ if i < block / 2 => 0,
        0..10 => 9,
        10..7000 => {
            if i % 2 == 0 {
                7
            } else {
                8
            }
        }
        _ => 1,
    })
}

fn a_part_to_read_and_to_write(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 50 * world.size() + 1);
    let mut v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let (from, upto) = (len / 5, len - len / 4);
    for round in 0..4_u64 {
        let mut part = v.slice_mut(from..upto).read_cache_release_c()?;
        assert_eq!((part.window(), part.len(), part.iter().count()), (from..upto, len, upto - from));
        check::same(&part, from, |i| (i as u64) + round)?;
        for i in (from..upto).filter(|i| i % p == me) {
            part[i] += 1;
            assert_eq!(part.at(i)?, i as u64 + round + 1);
        }
        drop(part);
        check::same(&v.read_cache()?, 0, |i| i as u64 + if (from..upto).contains(&i) { round + 1 } else { 0 })?;
    }
    let (mut left, mut right) = v.split_at_mut(len / 2);
    let (mut a, mut b) = (left.slice_mut(..).read_cache_release_c()?, right.slice_mut(..).read_cache_release_c()?);
    for i in (me..len).step_by(p) {
        if i < len / 2 { a[i] = 1 } else { b[i] = 2 }
    }
    drop((a, b));
    check::same(&v.read_cache()?, 0, |i| if i < len / 2 { 1 } else { 2 })
}

fn rows(world: &World) -> Result<()> {
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
    // Part of a row is shown, not the row.
    let some = m.slice(1..cols * 2).owner_computes()?;
    assert!(some.rows().len() <= 1 && !some.rows().contains(&0));
    drop(some);
    let all = m.rows(..).slice(..).rows(1..).read_cache()?;
    check::same(&all, cols, |i| match (i / cols, i % cols) {
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

/// A block moves away by parts from a place that others still show, and comes together again.
fn a_place_that_others_show(world: &World) -> Result<()> {
    let (p, len) = (world.size(), 64 * world.size());
    let mut v = GVector::<u64>::new(world, len)?;
    let seen = GScalar::new(world, 0, 0u64)?;
    for round in 0..6_u64 {
        let whole = v.read_cache()?;
        if world.rank() == round as usize % p {
            std::thread::sleep(Duration::from_millis(1));
        }
        check::same(&whole, 0, |_| round)?;
        drop(whole);
        let mine = v.local_range();
        let middle = (mine.start + mine.end) / 2;
        let (mut left, mut right) = v.split_at_mut(middle);
        let mut one = left.slice_mut(..).owner_computes_mut()?;
        one.local_mut().fill(round + 1);
        let mut other = right.slice_mut(..).owner_computes_mut()?;
        other.local_mut().fill(round + 1);
        drop(one);
        check::same(left.slice(..).owner_computes()?.local(), mine.start, |_| round + 1)?;
        drop(other);
        check::same(v.owner_computes()?.local(), mine.start, |_| round + 1)?;
        let local = v.owner_computes()?;
        check::same(local.local(), mine.start, |_| round + 1)?;
        drop(local);
        seen.fetch_add(1)?;
    }
    world.barrier()?;
    assert_eq!(seen.get()?, 6 * p as u64);
    check::whole(&v, |_| 6)
}

fn shared_guards_that_overlap(world: &World) -> Result<()> {
    let len = 30 * world.size();
    let v = GVector::<u64>::from_fn(world, len, |i| i as u64)?;
    let mine = v.local_range();
    let a = v.slice(..len / 2 + 5).owner_computes()?;
    check::same(a.local(), a.indices().start, |i| i as u64)?;
    let b = v.slice(mine.start + 3..).owner_computes()?;
    check::same(b.local(), mine.start + 3, |i| i as u64)?;
    let c = v.owner_computes()?;
    check::same(c.local(), mine.start, |i| i as u64)?;
    drop(a);
    check::same(&v.read_cache()?, 0, |i| i as u64)?;
    check::same(&v.slice(3..len - 3).read_cache()?, 3, |i| i as u64)?;
    check::same(b.local(), mine.start + 3, |i| i as u64)?;
    drop((b, c));
    check::whole(&v, |i| i as u64)
}

fn outside_of_a_part(world: &World) -> Result<()> {
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
    // Ranges that cannot be: before anything is collective.
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

/// Sums of a part beside writes to another, merged in its elements alone; and then those elements, here and there.
fn sums_of_a_part_and_reads_of_it(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 40 * world.size() + 3);
    let mut v = GVector::from_fn(world, len, |i| i as u64)?;
    let at = len / 3;
    let (mut left, mut right) = v.split_at_mut(at);
    let mut writes = left.slice_mut(..).release_c()?;
    let mut sums = right.slice_mut(at + 2..).accumulate::<Add>()?;
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
    let gather = part.gatherer()?;
    check::same(&gather.read(&indices)?, 0, |k| want(indices[k]))?;
    check::same(&gather.iter(indices.iter().copied()).collect::<Result<Vec<_>>>()?, 0, |k| want(indices[k]))?;
    assert!(matches!(gather.read(&[at]), Err(Error::NotShown { .. })));
    assert!(matches!(gather.queue().push(len - 1), Err(Error::NotShown { .. })));
    assert!(matches!(gather.read(&[len]), Err(Error::IndexOutside { .. })));
    assert!(matches!(gather.at(at), Err(Error::NotShown { .. })));
    check::equal("one", gather.at(at + 5)?, want(at + 5))?;
    drop(gather);
    world.barrier()?;
    let mut sums = v.slice_mut(..at).accumulate_in_order::<Add>()?;
    sums.update(0, me as u64)?;
    drop(sums);
    check::equal("the first", v.at(0)?, 7 + (0..p as u64).sum::<u64>())
}

/// Elements of a part here and there, while this rank writes to another part, in a scope of all or by itself.
fn reads_of_a_part_beside_writes_to_another(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 60 * world.size() + 1);
    let mut v = GVector::from_fn(world, len, |i| i as u64)?;
    let at = len / 3;
    let indices: Vec<usize> = (at..len).rev().step_by(2).collect();
    let (mut left, right) = v.split_at_mut(at);
    let read = || -> Result<()> {
        let gather = right.slice(..).gatherer()?;
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
    // Not collective: a rank that is late would fill what others have put.
    world.barrier()?;
    let mut alone = left.slice_mut(..).release_alone()?;
    (0..at).filter(|i| i % p == me).try_for_each(|i| alone.put(i, 9))?;
    read()?;
    alone.finish()?;
    check::same(&v.read_cache()?, 0, |i| if i < at { 9 } else { i as u64 })
}
