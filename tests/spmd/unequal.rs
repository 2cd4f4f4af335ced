//! Blocks of unequal length: every behaviour shows and writes the correct elements, wherever the borders are.

use aurora_core::ops::Sum;
use aurora_core::{GVector, GlobalRead, Halo, MatrixDim, Op, Partition, Result, World, distmemcpy, distmemcpy_many};
use aurora_suite::{Body, Random, check, lengths, mix, want};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(each_rank_owns_what_it_was_given),
        Body::of(weights_of_ranks),
        Body::of(own_parts_and_loads),
        Body::of(streams),
        Body::of(single_elements),
        Body::of(buffered_writes),
        Body::of(sums),
        Body::of(gathers),
        Body::of(halos),
        Body::of(pages),
        Body::of(slices),
        Body::of(copies_between_vectors_of_other_blocks),
        Body::of(elements_of_odd_size),
        Body::of(large_blocks),
        Body::of(values_that_follow_their_rows),
    ]
}

/// Lengths of blocks: empty blocks at the start, between others, at the end or anywhere; everything on one rank, for
/// each rank; increasing lengths; and random lengths.
fn partitions(p: usize) -> Vec<Vec<usize>> {
    let of = |length: &dyn Fn(usize) -> usize| (0..p).map(length).collect::<Vec<usize>>();
    let mut all = vec![
        of(&|_| 0),
        of(&|rank| if rank == 0 { 0 } else { 40 }),
        of(&|rank| if rank == p / 2 { 0 } else { 3 + rank }),
        of(&|rank| if rank + 1 == p { 0 } else { 1 }),
        of(&|rank| 1 + 100 * rank * rank),
        of(&|rank| if rank == 0 { 5000 } else { 2 }),
    ];
    all.extend((0..p).map(|owner| of(&|rank| if rank == owner { 700 } else { 0 })));
    let mut random = Random::new(p as u64);
    all.extend((0..4).map(|round| lengths(&mut random, [7, 100, 3000, 20_000][round], p)));
    all
}

/// Runs a body on a vector of each of these partitions, with the elements of [`want`].
fn each(world: &World, body: impl Fn(&mut GVector<u64>) -> Result<()>) -> Result<()> {
    for lengths in partitions(world.size()) {
        let mut v = GVector::from_fn(world, Partition::lengths(&lengths), want)?;
        body(&mut v).map_err(|error| check::amid(format!("blocks of {lengths:?}"), error))?;
        let mut v = GVector::from_fn(world, Partition::rows(&lengths, 3), want)?;
        body(&mut v).map_err(|error| check::amid(format!("blocks of {lengths:?} rows"), error))?;
    }
    Ok(())
}

/// The elements that this rank writes, where each element has one writer.
fn mine(world: &World, len: usize) -> impl Iterator<Item = usize> + use<> {
    (world.rank().index()..len).step_by(world.size())
}

fn each_rank_owns_what_it_was_given(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for lengths in partitions(p) {
        for cols in [None, Some(0), Some(1), Some(7)] {
            let row = cols.unwrap_or(1);
            let v = match cols {
                None => GVector::from_fn(world, Partition::lengths(&lengths), want)?,
                Some(cols) => GVector::from_fn(world, Partition::rows(&lengths, cols), want)?,
            };
            let (rows, mut next) = (lengths.iter().sum::<usize>(), 0);
            assert_eq!((v.len(), v.dim()), (rows * row, cols.map(|cols| MatrixDim::new(rows, cols))));
            for (rank, length) in lengths.iter().enumerate() {
                let range = v.range_of(rank);
                assert_eq!(range, next..next + length * row);
                range.clone().for_each(|i| assert_eq!(v.owner(i), rank));
                next = range.end;
            }
            assert_eq!(v.local_range(), v.range_of(me));
            let first = v.local_range().start.checked_div(row).unwrap_or(0);
            assert_eq!(v.local_rows(), first..first + if row == 0 { 0 } else { lengths[me] });
            check::whole(&v, want)?;
        }
    }
    Ok(())
}

fn weights_of_ranks(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let speeds: Vec<f64> = (0..p).map(|rank| 1.0 + 2.0 * rank as f64).collect();
    let all: usize = (0..p).map(|rank| 1 + 2 * rank).sum();
    let x = GVector::from_fn(world, Partition::weighted(10 * all, &speeds), want)?;
    let a = GVector::from_fn(world, Partition::weighted((10 * all, 3), &speeds), want)?;
    assert_eq!(x.local_range().len(), 10 * (1 + 2 * me));
    assert_eq!(x.local_range(), a.local_rows());
    check::same(x.read_cache()?.as_slice(), 0, want)?;
    check::same(a.read_cache()?.as_slice(), 0, want)?;
    // Equal weights give the blocks of a vector without a partition, so all ranks construct the same vector.
    let equal = vec![0.1; p];
    let v = if me == 0 { GVector::new(world, 1003)? } else { GVector::new(world, Partition::weighted(1003, &equal))? };
    check::whole(&v, |_| 0_u8)
}

fn own_parts_and_loads(world: &World) -> Result<()> {
    each(world, |v| {
        check::same(v.read_cache()?.as_slice(), 0, want)?;
        for round in 1..4 {
            let own = v.owner_computes()?;
            check::same(own.local(), own.indices().start, |i| want(i + round - 1))?;
            drop(own);
            let mut own = v.owner_computes_mut()?;
            own.indices().for_each(|i| own[i] = want(i + round));
            own.finish()?;
            check::same(v.read_cache()?.as_slice(), 0, |i| want(i + round))?;
        }
        // Only one rank changes its part.
        let changed = v.range_of(world.size() / 2);
        if world.rank() == world.size() / 2 {
            v.owner_computes_mut()?.local_mut().fill(7);
        }
        let all = v.read_cache()?;
        check::same(all.as_slice(), 0, |i| if changed.contains(&i) { 7 } else { want(i + 3) })?;
        for (row, elements) in all.iter_rows() {
            let cols = v.dim().map_or(1, |dim| dim.cols);
            check::equal("row", elements, &all[row * cols..(row + 1) * cols])?;
        }
        drop(all);
        v.fill(9)?;
        check::same(v.read_cache()?.as_slice(), 0, |_| 9)
    })
}

fn streams(world: &World) -> Result<()> {
    each(world, |v| {
        for round in 0..2 {
            let stream = v.read_cache_blocks()?;
            let mut seen = vec![0; v.len()];
            for block in stream.blocks() {
                let (range, elements) = block?;
                check::same(elements, range.start, |i| want(i + round))?;
                seen[range].iter_mut().for_each(|seen| *seen += 1);
            }
            assert!(seen.iter().all(|seen| *seen == 1), "{seen:?}");
            let rows: usize = stream.row_blocks().map(|block| block.map_or(0, |(rows, _)| rows.len())).sum();
            check::equal("rows", rows, v.dim().map_or(v.len(), |dim| dim.rows))?;
            check::same(stream.whole()?, 0, |i| want(i + round))?;
            drop(stream);
            let mut own = v.owner_computes_mut()?;
            own.indices().for_each(|i| own[i] = want(i + round + 1));
        }
        Ok(())
    })
}

fn single_elements(world: &World) -> Result<()> {
    each(world, |v| {
        let len = v.len();
        let some: Vec<usize> = (0..len).step_by(1 + len / 50).chain(len.checked_sub(1)).collect();
        for i in &some {
            check::equal("element", v.at(*i)?, want(*i))?;
        }
        check::same(&v.at_many(&some)?, 0, |k| want(some[k]))?;
        world.barrier()?;
        let (few, many): (Vec<_>, Vec<_>) =
            mine(world, len).map(|i| (i, want(i + 1))).partition(|(i, _)| i % 40 < world.size());
        v.put_many(&many)?;
        few.into_iter().try_for_each(|(i, x)| v.put(i, x))?;
        world.barrier()?;
        check::whole(v, |i| want(i + 1))?;
        if let Some(all) = v.gather_to(world.size() - 1)? {
            check::same(&all, 0, |i| want(i + 1))?;
        }
        Ok(())
    })
}

fn buffered_writes(world: &World) -> Result<()> {
    let p = world.size();
    each(world, |v| {
        let len = v.len();
        let mut scope = v.release_c()?;
        mine(world, len).try_for_each(|i| scope.put(i, want(i + 1)))?;
        scope.finish()?;
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i + 1))?;
        let mut scope = v.release_c_with(Sum)?;
        (0..len).try_for_each(|i| scope.update(i, 1))?;
        drop(scope);
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i + 1).wrapping_add(p as u64))?;
        // One rank writes a run across all borders.
        let values: Vec<u64> = (0..len).map(|i| want(i + 2)).collect();
        let mut scope = v.release_c()?;
        if world.rank() == p / 2 {
            scope.put_slice(0, &values)?;
        }
        scope.finish()?;
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i + 2))?;
        let mut alone = v.release_alone_with(Sum)?;
        mine(world, len).try_for_each(|i| alone.update(i, 5))?;
        alone.finish()?;
        world.barrier()?;
        check::whole(v, |i| want(i + 2).wrapping_add(5))?;
        world.barrier()?;
        let mut both = v.read_cache_release_c()?;
        check::same(both.as_slice(), 0, |i| want(i + 2).wrapping_add(5))?;
        mine(world, len).for_each(|i| both[i] = want(i + 3));
        both.finish()?;
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i + 3))
    })
}

/// An operation that depends on the order of the ranks.
struct Twist;

impl Op<u64> for Twist {
    fn apply(current: u64, operand: u64) -> u64 {
        current.wrapping_mul(31).wrapping_add(operand)
    }
}

fn sums(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    each(world, |v| {
        let len = v.len();
        for dense in [true, false] {
            let is_written = |i: usize| dense || i.is_multiple_of(11);
            v.fill(3)?;
            let mut scope = v.accumulate(Sum)?;
            (0..len).filter(|i| is_written(*i)).try_for_each(|i| scope.update(i, i as u64 + me))?;
            scope.finish()?;
            let sum = |i: usize| if is_written(i) { 3 + p * i as u64 + p * (p - 1) / 2 } else { 3 };
            check::same(v.read_cache()?.as_slice(), 0, sum)?;
            let mut scope = v.accumulate_in_order(Twist)?;
            (0..len).filter(|i| is_written(*i)).try_for_each(|i| scope.update(i, me))?;
            scope.finish()?;
            let folded = |i: usize| if is_written(i) { (0..p).fold(sum(i), Twist::apply) } else { sum(i) };
            check::same(v.read_cache()?.as_slice(), 0, folded)?;
        }
        Ok(())
    })
}

fn gathers(world: &World) -> Result<()> {
    each(world, |v| {
        let mut random = Random::new(world.rank().index() as u64);
        let count = if v.is_empty() { 0 } else { 2000 };
        let indices: Vec<usize> = (0..count).map(|_| random.below(v.len())).collect();
        let gather = v.batched_reads()?;
        check::same(&gather.read(&indices)?, 0, |k| want(indices[k]))?;
        let values = gather.iter(indices.iter().copied()).collect::<Result<Vec<_>>>()?;
        check::same(&values, 0, |k| want(indices[k]))
    })
}

/// Narrower and wider than blocks, and wider than the whole.
fn halos(world: &World) -> Result<()> {
    each(world, |v| {
        let (len, row) = (v.len(), v.dim().map_or(1, |dim| dim.cols));
        for width in [0, 1, 2, 45, 800] {
            for halo in [Halo::fixed(width), Halo::periodic(width)] {
                v.fill(0)?;
                let mut h = v.halo_cache_mut(halo)?;
                for round in 1..3 {
                    let own = h.indices();
                    own.clone().for_each(|i| h[i] = want(i + round));
                    h.refresh()?;
                    let reach = if own.is_empty() { 0 } else { width * row };
                    let whole = if halo == Halo::fixed(width) { own.start.min(reach) } else { reach };
                    check::equal("elements before", h.before().len(), whole)?;
                    let first = own.start + len * reach - whole;
                    let before = |k: usize| want((first + k) % len + round);
                    check::same(h.before(), 0, before)?;
                    check::same(h.behind(), 0, |k| want((own.end + k) % len + round))?;
                    for i in own.start.saturating_sub(reach)..(own.end + reach).min(len) {
                        check::equal("shown", h.at(i)?, want(i + round))?;
                    }
                }
            }
        }
        Ok(())
    })
}

/// All ranks write to all pages, wherever blocks end.
fn pages(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    each(world, |v| {
        let n = v.len();
        let mut pages = v.paged_mut()?;
        check::same(pages.slice(0..n)?, 0, want)?;
        pages.sync()?;
        for i in (me..n).step_by(p) {
            pages[i] = want(i + 1);
        }
        pages.sync()?;
        check::same(pages.slice(0..n)?, 0, |i| want(i + 1))?;
        pages.sync()?;
        for i in (me..n).step_by(p) {
            pages[i] = want(i + 2);
        }
        pages.finish()?;
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i + 2))
    })
}

fn slices(world: &World) -> Result<()> {
    each(world, |v| {
        let len = v.len();
        for at in [0, len / 3, len / 2, len] {
            let (mut left, mut right) = v.split_at_mut(at);
            let all = left.slice(..).read_cache()?;
            let mut own = right.slice_mut(..).owner_computes_mut()?;
            check::same(all.as_slice(), 0, want)?;
            check::same(own.local(), own.indices().start, want)?;
            own.indices().for_each(|i| own[i] = want(i) ^ 1);
            own.finish()?;
            drop(all);
            let mut puts = left.slice_mut(..).release_c()?;
            mine(world, at).try_for_each(|i| puts.put(i, want(i) ^ 1))?;
            puts.finish()?;
            check::same(right.slice(..).read_cache()?.as_slice(), at, |i| want(i) ^ 1)?;
            let mut sums = right.slice_mut(..).accumulate(Sum)?;
            (at..len).try_for_each(|i| sums.update(i, 1))?;
            sums.finish()?;
            let p = world.size() as u64;
            check::same(v.read_cache()?.as_slice(), 0, |i| (want(i) ^ 1).wrapping_add(if i < at { 0 } else { p }))?;
            let mut own = v.owner_computes_mut()?;
            own.indices().for_each(|i| own[i] = want(i));
        }
        let rows = v.dim().map_or(len, |dim| dim.rows);
        let cols = v.dim().map_or(1, |dim| dim.cols);
        let some = v.rows(rows / 4..rows / 2).read_cache()?;
        check::same(some.as_slice(), rows / 4 * cols, want)
    })
}

fn copies_between_vectors_of_other_blocks(world: &World) -> Result<()> {
    each(world, |v| {
        let (p, me, len) = (world.size(), world.rank().index(), v.len());
        let mut equal = GVector::<u64>::new(world, len)?;
        let own = equal.local_range();
        distmemcpy(equal.range_mut(own.clone()), v.range(own))?;
        world.barrier()?;
        check::whole(&equal, want)?;
        world.barrier()?;
        // And back: each rank a share that it chooses itself.
        let share = me * len / p..(me + 1) * len / p;
        v.owner_computes_mut()?.local_mut().fill(0);
        world.barrier()?;
        distmemcpy(v.range_mut(share.clone()), equal.range(share))?;
        world.barrier()?;
        let (mut one, mut other) = (vec![0; len / 2], vec![0; len - len / 2]);
        distmemcpy_many([(&mut one[..], v.range(..len / 2)), (&mut other[..], v.range(len / 2..))])?;
        check::same(&one, 0, want)?;
        check::same(&other, len / 2, want)
    })
}

fn elements_of_odd_size(world: &World) -> Result<()> {
    let element = |i: usize| [i as u16, (i >> 16) as u16, want(i) as u16];
    for lengths in partitions(world.size()) {
        let mut v = GVector::from_fn(world, Partition::lengths(&lengths), element)?;
        check::same(v.read_cache()?.as_slice(), 0, element)?;
        let mut scope = v.release_c()?;
        mine(world, lengths.iter().sum()).try_for_each(|i| scope.put(i, element(i + 1)))?;
        scope.finish()?;
        check::whole(&v, |i| element(i + 1))?;
    }
    Ok(())
}

/// So large that all ranks together check the memory for them, and that a load is sent in pieces.
fn large_blocks(world: &World) -> Result<()> {
    let p = world.size();
    let of = |length: &dyn Fn(usize) -> usize| (0..p).map(length).collect::<Vec<usize>>();
    let all_on_the_last = of(&|rank| if rank + 1 == p { 1_200_001 } else { 0 });
    for lengths in [all_on_the_last, of(&|rank| if rank % 2 == 0 { 600_011 } else { 3 })] {
        let mut v = GVector::from_fn(world, Partition::lengths(&lengths), want)?;
        check::same(v.read_cache()?.as_slice(), 0, want)?;
        let mut scope = v.release_c_with(Sum)?;
        mine(world, lengths.iter().sum()).step_by(7).try_for_each(|i| scope.update(i, 1))?;
        scope.finish()?;
        let is_written = |i: usize| (i / p).is_multiple_of(7);
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i).wrapping_add(u64::from(is_written(i))))?;
    }
    Ok(())
}

/// A sparse matrix: the values of a row are on the same rank as the row.
fn values_that_follow_their_rows(world: &World) -> Result<()> {
    let (me, rows) = (world.rank().index(), 50 * world.size() + 7);
    let count = |row: usize| mix(row as u64) as usize % 9;
    let mut first = GVector::<u64>::new(world, rows)?;
    let held = first.local_range().map(count).sum::<usize>();
    let lengths = world.all_gather(held)?;
    let values = GVector::from_fn(world, Partition::lengths(&lengths), |i| i as u64)?;
    let mut next = values.local_range().start;
    let mut own = first.owner_computes_mut()?;
    for row in own.indices() {
        own[row] = next as u64;
        next += count(row);
    }
    own.finish()?;
    check::equal("end of my values", next, values.range_of(me).end)?;
    let (first, values) = (first.read_cache()?, values.read_cache()?);
    check::same(first.as_slice(), 0, |row| (0..row).map(count).sum::<usize>() as u64)?;
    check::same(values.as_slice(), 0, |i| i as u64)
}
