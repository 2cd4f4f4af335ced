//! Pages: each rank sees its own writes at once and the other ranks' writes after a sync, also within one page.

use aurora_core::ops::Sum;
use aurora_core::{Element, Error, GVector, GlobalRead, GlobalWrite, Kind, MatrixDim, Result, World};
use aurora_suite::{Body, Random, check, mix, want};
use std::iter::once;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(reads_that_nobody_foresees),
        Body::of(writes_after_a_scope_wait_for_its_readers),
        Body::of(neighbours_in_one_page),
        Body::of(elements_that_begin_anywhere),
        Body::of(first_touches_cross),
        Body::of(a_slice_stands_still),
        Body::of(random_programs),
        Body::of(scopes_follow_each_other),
        Body::of(placed_vectors_and_little_ones),
        Body::of(rows_of_matrices),
        Body::of(many_pages_at_once),
        Body::of(two_scopes_side_by_side),
        Body::of(by_index),
        Body::of(elements_outside),
        Body::of(pages_are_asked_for_once_and_changes_pushed),
        Body::of(every_other_element),
    ]
}

fn reads_that_nobody_foresees(world: &World) -> Result<()> {
    let n = 20_011;
    let follow = |i: usize| want(i) as usize % n;
    let next = GVector::from_fn(world, n, |i| follow(i) as u32)?;
    let next = next.paged()?;
    let (mut found, mut model) = (world.rank().index(), world.rank().index());
    for _ in 0..20_000 {
        found = next.at(found)? as usize;
        model = follow(model);
    }
    check::equal("the end of the chain", found, model)?;
    next.finish()
}

/// A rank that has ended its scope writes at once; the other ranks still read the old values.
fn writes_after_a_scope_wait_for_its_readers(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::from_fn(world, 2000 * p, want)?;
    for round in 0..3 {
        let pages = v.paged()?;
        let seen = pages.slice(0..1000 * p)?;
        check::same(seen, 0, |i| want(i) + round)?;
        if me > 0 {
            std::thread::sleep(std::time::Duration::from_millis(me as u64));
        }
        check::same(pages.slice(1000 * p..2000 * p)?, 1000 * p, |i| want(i) + round)?;
        check::equal("an element", pages[2000 * p - 1], want(2000 * p - 1) + round)?;
        drop(pages);
        match round {
            0 => v.owner_computes_mut()?.local_mut().iter_mut().for_each(|x| *x += 1),
            1 => {
                let mut buffered = v.release_c_with(Sum)?;
                (me..2000 * p).step_by(p).try_for_each(|i| buffered.update(i, 1))?;
            }
            _ => {}
        }
        world.barrier()?;
    }
    check::equal("by itself", v.at(7)?, want(7) + 2)
}

/// Element `i` is written by rank `i mod p` in each round: all ranks write all pages.
fn interleaved<T: Element + PartialEq + std::fmt::Debug>(
    world: &World,
    n: usize,
    value: impl Fn(usize) -> T,
) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<T>::new(world, n)?;
    let mut pages = v.paged_mut()?;
    for round in 0..4 {
        for i in (me..n).step_by(p) {
            pages.put(i, value(i + round))?;
        }
        pages.sync()?;
        check::same(pages.slice(0..n)?, 0, |i| value(i + round))?;
        pages.sync()?;
    }
    for i in (me..n).step_by(p) {
        pages.put(i, value(i + 7))?;
    }
    drop(pages);
    check::same(v.read_cache()?.as_slice(), 0, |i| value(i + 7))
}

fn neighbours_in_one_page(world: &World) -> Result<()> {
    interleaved(world, 40_961, |i| want(i) as u8)
}

fn elements_that_begin_anywhere(world: &World) -> Result<()> {
    interleaved(world, 5003, |i| want(i).to_le_bytes()[..3].try_into().unwrap_or([0_u8; 3]))?;
    interleaved(world, 7, |i| [want(i); 600])
}

/// All ranks write their own pages, then read the pages of the next ranks, before any rank syncs. No rank waits for a
/// rank that computes.
fn first_touches_cross(world: &World) -> Result<()> {
    let (p, me, block) = (world.size(), world.rank().index(), 3000);
    let mut v = GVector::from_fn(world, p * block, want)?;
    for round in 0..3 {
        let mut pages = v.paged_mut()?;
        let was = |i: usize| want(i) + round;
        for turn in 0..p {
            let of = (me + turn) % p;
            // The owner writes the second third at this moment.
            for part in [of * block..of * block + block / 3, of * block + 2 * block / 3..(of + 1) * block] {
                check::same(pages.slice(part.clone())?, part.start, was)?;
            }
            if turn == 0 {
                let middle = me * block + block / 3..me * block + 2 * block / 3;
                pages.slice_mut(middle)?.iter_mut().for_each(|x| *x += 1);
            }
        }
        pages.sync()?;
        for part in [me * block..me * block + block / 3, me * block + 2 * block / 3..(me + 1) * block] {
            pages.slice_mut(part)?.iter_mut().for_each(|x| *x += 1);
        }
        pages.sync()?;
        check::same(pages.slice(0..p * block)?, 0, |i| was(i) + 1)?;
    }
    Ok(())
}

/// A view changes only in the rank's own syncs: not while other ranks sync, end their scopes, or meet at a barrier.
fn a_slice_stands_still(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::from_fn(world, 4000 * p, want)?;
    let mut other = GVector::from_fn(world, 10, want)?;
    let mut pages = v.paged_mut()?;
    pages.fetch(once(0..pages.len()))?;
    let theirs = (me + 1) % p * 4000 + 10;
    pages.put(me * 4000 + 10, 1)?;
    let shown = pages.slice(theirs..theirs + 1)?;
    let before = if p == 1 { 1 } else { want(theirs) };
    world.barrier()?;
    check::equal("over a barrier", shown[0], before)?;
    let mut pages_of_other = other.paged_mut()?;
    pages_of_other.put(me % 10, 5)?;
    pages_of_other.sync()?;
    check::equal("over a sync of another vector", shown[0], before)?;
    drop(pages_of_other);
    pages.sync()?;
    check::equal("after the sync", pages.at(theirs)?, 1)
}

/// In each interval every element has one random writer. A rank reads only elements that no other rank writes then.
fn random_programs(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for round in 0..6 {
        let mut random = Random::new(100 * round + 7);
        let n = 1 + random.below(30_000);
        let mut model: Vec<u32> = (0..n as u32).collect();
        let mut v = GVector::from_fn(world, n, |i| i as u32)?;
        let mut pages = v.paged_mut()?;
        for interval in 1..6_u64 {
            let writer = |i: usize| mix((round << 40) + (interval << 32) + i as u64 / 50) as usize % (2 * p);
            let mut choice = Random::new(mix(interval) ^ me as u64);
            for _ in 0..30 {
                let first = choice.below(n);
                let run = pages.slice(first..n.min(first + 700))?;
                let is_mine = |i: &usize| writer(*i) == me || writer(*i) >= p;
                for i in (first..first + run.len()).filter(is_mine) {
                    check::equal("an element", (run[i - first], pages.at(i)?), (model[i], model[i]))?;
                }
            }
            let written = |i: usize| (interval as u32) << 20 | i as u32;
            for i in (0..n).filter(|i| writer(*i) == me) {
                pages.put(i, written(i))?;
            }
            pages.sync()?;
            (0..n).filter(|i| writer(*i) < p).for_each(|i| model[i] = written(i));
        }
        pages.finish()?;
        check::same(v.read_cache()?.as_slice(), 0, |i| model[i])?;
    }
    Ok(())
}

fn scopes_follow_each_other(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let n = 900 * p + 1;
    let mut v = GVector::from_fn(world, n, want)?;
    for round in 1..4 {
        v.owner_computes_mut()?.local_mut().iter_mut().for_each(|x| *x += 1);
        let mut pages = v.paged_mut()?;
        pages.put((900 * me + 5) % n, round)?;
        drop(pages);
        let mut buffered = v.release_c()?;
        buffered.put((900 * me + 907) % n, round)?;
        drop(buffered);
        let mut pages = v.paged_mut()?;
        let mut model: Vec<u64> = (0..n).map(|i| want(i) + round).collect();
        for rank in 0..p {
            model[(900 * rank + 5) % n] = round;
            model[(900 * rank + 907) % n] = round;
        }
        check::same(pages.slice(0..n)?, 0, |i| model[i])?;
        pages.sync()?;
        for i in (me..n).step_by(p) {
            pages.put(i, want(i) + round)?;
        }
    }
    world.barrier()?;
    check::equal("the last scope", v.at(n - 1)?, want(n - 1) + 3)
}

fn placed_vectors_and_little_ones(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for (root, n) in [(0, 0), (p - 1, 1), (p / 2, 5000), (0, p)] {
        let mut v = GVector::<u16>::on(world, root, n)?;
        let mut pages = v.paged_mut()?;
        check::equal("as empty as the vector", (pages.len(), pages.is_empty()), (n, n == 0))?;
        check::same(pages.slice(0..n)?, 0, |_| 0)?;
        pages.sync()?;
        for i in (me..n).step_by(p) {
            pages.put(i, i as u16 + 1)?;
        }
        pages.sync()?;
        check::same(pages.slice(0..n)?, 0, |i| i as u16 + 1)?;
        pages.finish()?;
        let mut spread = GVector::<u16>::new(world, n)?;
        let mut pages = spread.paged_mut()?;
        if me == 0 {
            pages.slice_mut(0..n)?.fill(3);
        }
        pages.finish()?;
        check::same(spread.read_cache()?.as_slice(), 0, |_| 3)?;
    }
    Ok(())
}

fn rows_of_matrices(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut none = GVector::<f32>::new(world, MatrixDim::new(5, 0))?;
    let pages = none.paged_mut()?;
    check::equal("rows without columns", pages.slice(0..0)?.len(), 0)?;
    pages.finish()?;
    let dim = MatrixDim::new(3 * p + 1, 700);
    let mut v = GVector::<f32>::new(world, dim)?;
    let mut pages = v.paged_mut()?;
    for row in (me..dim.rows).step_by(p) {
        pages.row_mut(row)?.iter_mut().zip(0..).for_each(|(x, col)| *x = (row * 1000 + col) as f32);
    }
    pages.sync()?;
    for row in 0..dim.rows {
        check::same(pages.row(row)?, 0, |col| (row * 1000 + col) as f32)?;
    }
    Ok(())
}

/// More bytes than one request covers, from one owner and from all owners.
fn many_pages_at_once(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let block = 250_000;
    let mut v = GVector::from_fn(world, p * block, want)?;
    let mut pages = v.paged_mut()?;
    check::same(pages.slice(0..p * block)?, 0, want)?;
    pages.sync()?;
    // Every rank changes the whole block of the next rank: many batches to one owner, many parts to all holders.
    let theirs = (me + 1) % p * block..((me + 1) % p + 1) * block;
    pages.slice_mut(theirs.clone())?.iter_mut().zip(theirs.clone()).for_each(|(x, i)| *x = want(i + 1));
    pages.sync()?;
    check::same(pages.slice(0..p * block)?, 0, |i| want(i + 1))?;
    pages.sync()?;
    pages.slice_mut(theirs.clone())?.iter_mut().zip(theirs).for_each(|(x, i)| *x = want(i + 2));
    pages.finish()?;
    check::same(v.read_cache()?.as_slice(), 0, |i| want(i + 2))
}

/// In each step one vector is read and the other written.
fn two_scopes_side_by_side(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let n = 1111 * p;
    let (mut a, mut b) = (GVector::from_fn(world, n, want)?, GVector::<u64>::new(world, n)?);
    let mut model: Vec<u64> = (0..n).map(want).collect();
    let own = a.local_range();
    {
        let (mut from, mut to) = (a.paged_mut()?, b.paged_mut()?);
        for _ in 0..7 {
            for i in own.clone() {
                let sum = from.at((i + n - 1) % n)?.wrapping_add(from.at((i + 1) % n)?);
                to.put(i, sum)?;
            }
            to.sync()?;
            std::mem::swap(&mut from, &mut to);
            model = (0..n).map(|i| model[(i + n - 1) % n].wrapping_add(model[(i + 1) % n])).collect();
        }
        check::equal("an element of another rank", from.at((me + 1) % p * 1111)?, model[(me + 1) % p * 1111])?;
    }
    check::same(b.read_cache()?.as_slice(), 0, |i| model[i])
}

/// A sieve: each rank marks multiples in its part, and reads the marks of the other ranks.
fn by_index(world: &World) -> Result<()> {
    let (p, me, dim) = (world.size(), world.rank().index(), MatrixDim::new(70, 30));
    let mut v = GVector::<u8>::new(world, dim)?;
    let mut pages = v.paged_mut()?;
    let n = dim.rows * dim.cols;
    let own = n * me / p..n * (me + 1) / p;
    for i in 2..46 {
        if pages[i] == 0 {
            own.clone().filter(|at| at % i == 0 && *at > i).for_each(|at| pages[at] = 1);
        }
        pages.sync()?;
    }
    let is_prime = |i: usize| i >= 2 && (2..i).all(|of| !i.is_multiple_of(of));
    for i in 2..n {
        let (row, col) = (i / dim.cols, i % dim.cols);
        check::equal("a prime number", (pages[i] == 0, pages[(row, col)] == 0), (is_prime(i), is_prime(i)))?;
    }
    pages.sync()?;
    pages[(69, 29)] = me as u8;
    if p > 1 {
        pages.sync()?;
    }
    check::equal("a cell", usize::from(pages[n - 1]) < p, true)
}

fn elements_outside(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, 100, want)?;
    let mut pages = v.paged_mut()?;
    check::equal("beyond the end", matches!(pages.slice(90..101), Err(Error::RangeOutside { .. })), true)?;
    check::equal(
        "far beyond",
        matches!(pages.slice_mut(usize::MAX - 1..usize::MAX), Err(Error::RangeOutside { .. })),
        true,
    )?;
    check::equal("one of several", matches!(pages.fetch([0..3, 101..102]), Err(Error::RangeOutside { .. })), true)?;
    check::equal("an index", matches!(GlobalRead::at(&pages, 100), Err(Error::IndexOutside { .. })), true)?;
    check::equal("to write", matches!(GlobalWrite::put(&mut pages, 100, 1), Err(Error::IndexOutside { .. })), true)?;
    check::equal("what is there", pages.at(99)?, want(99))
}

/// The messages of pages that this rank sends in each step. Barriers and answers have kinds of their own.
fn pages_are_asked_for_once_and_changes_pushed(world: &World) -> Result<()> {
    let (p, me, others) = (world.size(), world.rank().index(), world.size() as u64 - 1);
    let block = 2000;
    let mut v = GVector::<u64>::new(world, block * p)?;
    let mut before = world.stats().of(Kind::Page).messages;
    let mut sent = |what: &str, want: u64| {
        let all = world.stats().of(Kind::Page).messages;
        check::equal(what, all - std::mem::replace(&mut before, all), want)
    };
    let mut pages = v.paged_mut()?;
    sent("opening", 0)?;
    pages.fetch(once(0..block * p))?;
    sent("one request to each owner", others)?;
    pages.fetch([0..block, block * p - 7..block * p])?;
    pages.at(block * me)?;
    sent("what is here", 0)?;
    pages.sync()?;
    sent("nothing has changed", 0)?;
    pages.put(block * me + 5, 1)?;
    sent("a write", 0)?;
    pages.sync()?;
    sent("a push to each holder", others)?;
    if me == 0 {
        pages.put(block * p - 1, 2)?;
        pages.slice_mut(block * p - 900..block * p - 800)?.fill(2);
    }
    pages.sync()?;
    let flush = u64::from(me == 0 && p > 1);
    sent("a flush to the home, and its pushes", flush + if me + 1 == p { others } else { 0 })?;
    check::equal("the value", pages.at(block * p - 850)?, 2)?;
    pages.put(block * ((me + 1) % p), 3)?;
    drop(pages);
    sent("the end, with the last changes", others)
}

/// More runs than an owner records: holders get whole pages.
fn every_other_element(world: &World) -> Result<()> {
    let (p, me, block) = (world.size(), world.rank().index(), 150_000);
    let mut v = GVector::from_fn(world, p * block, |i| want(i) as u8)?;
    let mut pages = v.paged_mut()?;
    pages.fetch(once(0..p * block))?;
    pages.sync()?;
    for round in 1..3_u8 {
        let theirs = (me + 1) % p * block..((me + 1) % p + 1) * block;
        pages.slice_mut(theirs)?.iter_mut().step_by(2).for_each(|x| *x = x.wrapping_add(round));
        pages.sync()?;
        let added = if round == 1 { 1 } else { 3 };
        check::same(pages.slice(0..p * block)?, 0, |i| {
            (want(i) as u8).wrapping_add(if i % 2 == 0 { added } else { 0 })
        })?;
        pages.sync()?;
    }
    pages.finish()
}
