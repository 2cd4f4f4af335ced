//! `Accumulate`: every rank updates a partial copy, and the owners merge them.

use aurora_core::ops::{Max, Min, Or, Sum};
use aurora_core::{Error, GVector, MatrixDim, Op, Result, World};
use aurora_suite::{Body, Random, check, mix, want};
use std::thread::sleep;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(sums_of_all_in_all),
        Body::of(a_few_elements_of_many),
        Body::of(slices_across_borders),
        Body::of(minimum_maximum_and_bits),
        Body::of(operations_of_ones_own),
        Body::of(elements_that_are_structs),
        Body::of(rows_one_rank_and_nothing_at_all),
        Body::of(sums_in_order_are_the_same_to_the_last_bit),
        Body::of(the_order_is_that_of_ranks_whoever_comes_first),
        Body::of(one_scope_after_the_other),
        Body::of(finish_waits_for_all),
        Body::of(more_than_goes_ahead_of_a_late_owner),
        Body::of(what_is_outside_is_refused_and_the_rest_counts),
        Body::of(copies_that_owners_fold_late),
        Body::of(many_updates_in_one_call),
        Body::of(floats_keep_their_bits),
    ]
}

/// The operand of rank `rank` for element `i`.
fn share(rank: usize, i: usize) -> u64 {
    mix((rank << 32 | i) as u64)
}

/// The sum of all ranks' operands for element `i`.
fn sum(world: &World, i: usize) -> u64 {
    (0..world.size()).fold(0, |sum: u64, rank| sum.wrapping_add(share(rank, i)))
}

fn sums_of_all_in_all(world: &World) -> Result<()> {
    let me = world.rank().index();
    for len in [1, 2, 3, 40, 63, 64, 65, 7001, 100_003] {
        let mut v = GVector::<u64>::from_fn(world, len, want)?;
        let mut sums = v.accumulate(Sum)?;
        for i in 0..len {
            sums.update(i, share(me, i).wrapping_sub(7))?;
        }
        for i in (0..len).rev() {
            sums.update(i, 7)?;
        }
        sums.finish()?;
        check::whole(&v, |i| want(i).wrapping_add(sum(world, i)))?;
        world.barrier()?;
    }
    Ok(())
}

fn a_few_elements_of_many(world: &World) -> Result<()> {
    let (p, me, len) = (world.size(), world.rank().index(), 1_000_003);
    let mut v = GVector::<u32>::from_fn(world, len, |i| i as u32)?;
    // All ranks update these elements, and one rank the right neighbour of each.
    let common = |k: usize| (mix(k as u64) % (len as u64 - 1)) as usize & !1;
    let mut sums = v.accumulate(Sum)?;
    for k in 0..50 {
        sums.update(common(k), 1)?;
        if k % p == me {
            sums.update(common(k) + 1, 10)?;
        }
    }
    drop(sums);
    let mut model: Vec<u32> = (0..len as u32).collect();
    for k in 0..50 {
        model[common(k)] += p as u32;
        model[common(k) + 1] += 10;
    }
    check::whole(&v, |i| model[i])
}

fn slices_across_borders(world: &World) -> Result<()> {
    let len = 50_000;
    let mut v = GVector::<u64>::from_fn(world, len, want)?;
    let mut model: Vec<u64> = (0..len).map(want).collect();
    let mut sums = v.accumulate(Sum)?;
    for rank in 0..world.size() {
        let mut random = Random::new(rank as u64);
        for _ in 0..20 {
            let start = random.below(len);
            let operands: Vec<u64> = (0..random.below(9000).min(len - start)).map(|_| random.bits()).collect();
            for (x, operand) in model[start..].iter_mut().zip(&operands) {
                *x = x.wrapping_add(*operand);
            }
            if world.rank() == rank {
                sums.update_slice(start, &operands)?;
            }
        }
    }
    sums.update_slice(len, &[])?;
    drop(sums);
    check::whole(&v, |i| model[i])
}

fn minimum_maximum_and_bits(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<i32>::from_fn(world, 50, |i| -980 - i as i32)?;
    // Zero is not neutral for these values: a wrong operand 0 would change each of the results.
    let operand = |i: usize, from: i32| from + me as i32 * 10 - i as i32;
    let mut scope = v.accumulate(Max)?;
    (0..50).try_for_each(|i| scope.update(i, operand(i, -1000)))?;
    drop(scope);
    check::whole(&v, |i| (p as i32 * 10 - 1010).max(-980) - i as i32)?;
    world.barrier()?;
    v.fill(80)?;
    let mut scope = v.accumulate(Min)?;
    (0..50).try_for_each(|i| scope.update(i, operand(i, 100)))?;
    drop(scope);
    check::whole(&v, |i| (100 - i as i32).min(80))?;
    world.barrier()?;
    v.fill(1 << 20)?;
    let mut scope = v.accumulate(Or)?;
    scope.update_slice(0, &[1 << me; 50])?;
    scope.update_slice(7, &[1 << (me + 8); 20])?;
    drop(scope);
    let all = |shift: usize| ((1 << p) - 1) << shift;
    check::whole(&v, |i| 1 << 20 | all(0) | if (7..27).contains(&i) { all(8) } else { 0 })
}

struct Times;

impl Op<u64> for Times {
    fn apply(current: u64, operand: u64) -> u64 {
        current.wrapping_mul(operand)
    }
}

/// Not associative, but two operands combine into one: their sum.
struct TakeAway;

impl Op<u64> for TakeAway {
    fn apply(current: u64, operand: u64) -> u64 {
        current.wrapping_sub(operand)
    }

    fn combine(first: u64, second: u64) -> u64 {
        first.wrapping_add(second)
    }
}

fn operations_of_ones_own(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::from_fn(world, 400, want)?;
    let mut scope = v.accumulate(Times)?;
    for i in me..400 {
        scope.update(i, 3)?;
        scope.update(i, 5)?;
    }
    scope.finish()?;
    check::whole(&v, |i| want(i).wrapping_mul(15_u64.wrapping_pow(p.min(i + 1) as u32)))?;
    world.barrier()?;
    v.fill(0)?;
    let mut scope = v.accumulate(TakeAway)?;
    for i in 0..400 {
        scope.update(i, 1)?;
        scope.update(i, 2)?;
    }
    scope.update_slice(0, &[4; 400])?;
    scope.finish()?;
    check::whole(&v, |_| 0_u64.wrapping_sub(7 * p as u64))
}

/// The sum, the number and the maximum of the operands, in one element.
#[derive(Clone, Copy, PartialEq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Mean {
    sum: f64,
    number: u32,
    largest: f32,
}

struct Join;

impl Op<Mean> for Join {
    fn apply(a: Mean, b: Mean) -> Mean {
        Mean { sum: a.sum + b.sum, number: a.number + b.number, largest: a.largest.max(b.largest) }
    }
}

fn elements_that_are_structs(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<Mean>::new(world, 3 * p + 1)?;
    let mut scope = v.accumulate(Join)?;
    for k in 0..100 {
        let x = (k * p + me) as f64;
        scope.update(k % (3 * p + 1), Mean { sum: x, number: 1, largest: x as f32 })?;
    }
    drop(scope);
    let mut model = vec![Mean { sum: 0.0, number: 0, largest: 0.0 }; 3 * p + 1];
    for n in 0..100 * p {
        let mean = &mut model[n / p % (3 * p + 1)];
        *mean = Join::apply(*mean, Mean { sum: n as f64, number: 1, largest: n as f32 });
    }
    check::whole(&v, |i| model[i])
}

fn rows_one_rank_and_nothing_at_all(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let (rows, cols) = (2 * p + 1, 7);
    let mut m = GVector::<u16>::new(world, MatrixDim::new(rows, cols))?;
    let mut sums = m.accumulate(Sum)?;
    (0..rows).filter(|row| row % 2 == me % 2).try_for_each(|row| sums.update_slice(row * cols, &[1; 7]))?;
    drop(sums);
    check::whole(&m, |i| if i / cols % 2 == 0 { p.div_ceil(2) as u16 } else { (p / 2) as u16 })?;

    let mut on = GVector::<u8>::on(world, p - 1, 1000)?;
    let mut sums = on.accumulate_in_order(Sum)?;
    (0..1000).try_for_each(|i| sums.update(i, 1))?;
    drop(sums);
    check::whole(&on, |_| p as u8)?;

    let mut empty = GVector::<u64>::new(world, 0)?;
    empty.accumulate(Sum)?.update_slice(0, &[])?;
    empty.accumulate_in_order(Max)?.finish()?;

    let mut untouched = GVector::<u64>::from_fn(world, 10, want)?;
    drop(untouched.accumulate(Min)?);
    drop(untouched.accumulate_in_order(Min)?);
    check::whole(&untouched, want)
}

/// Numbers of every magnitude: their sum depends on the order in the last bits.
fn number(rank: usize, i: usize, k: usize) -> f64 {
    let random = mix(mix((rank << 40 | i << 4 | k) as u64));
    (random >> 12) as f64 * 2_f64.powi((random % 40) as i32 - 20)
}

/// Several times, with ranks that end their scopes at random times. One length exceeds the room that ranks may send
/// ahead.
fn sums_in_order_are_the_same_to_the_last_bit(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut speed = Random::new(me as u64 + 99);
    for len in [30, 100_000 * p + 1] {
        let mine = [0, 1].map(|k| (0..len).map(|i| number(me, i, k)).collect::<Vec<_>>());
        let model: Vec<f64> =
            (0..len).map(|i| (0..p).fold(1.0, |old, rank| old + (number(rank, i, 0) + number(rank, i, 1)))).collect();
        let mut v = GVector::<f64>::new(world, len)?;
        for _ in 0..3 {
            v.fill(1.0)?;
            let mut sums = v.accumulate_in_order(Sum)?;
            for operands in &mine {
                (0..len).try_for_each(|i| sums.update(i, operands[i]))?;
            }
            sleep(Duration::from_millis(speed.below(8) as u64));
            sums.finish()?;
            let own = v.owner_computes()?;
            for i in own.indices() {
                check::equal("bits", own[i].to_bits(), model[i].to_bits())?;
            }
            own.finish()?;
            world.barrier()?;
        }
    }
    Ok(())
}

/// An operation that is not commutative: it keeps the last operand.
struct Replace;

impl Op<u64> for Replace {
    fn apply(_: u64, operand: u64) -> u64 {
        operand
    }
}

/// First rank 0 ends its scope last, and then the last rank does.
fn the_order_is_that_of_ranks_whoever_comes_first(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 3 * p)?;
    for late in [0, p - 1] {
        let mut last = v.accumulate_in_order(Replace)?;
        for i in 0..3 * p {
            last.update(i, 1000)?;
            last.update(i, me as u64)?;
        }
        if me == late {
            sleep(Duration::from_millis(15));
        }
        drop(last);
        check::whole(&v, |_| p as u64 - 1)?;
        world.barrier()?;
        v.fill(0)?;
    }
    Ok(())
}

fn one_scope_after_the_other(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 5000 * p + 1;
    let mut v = GVector::<u64>::new(world, len)?;
    let mut total = 0;
    for round in 0..6 {
        // Twenty scopes ahead of a slow rank, without a check in between.
        for k in 0..20 {
            let mut sums = v.accumulate(Sum)?;
            // Sparse and dense by turns.
            let step = if k % 2 == 0 { 1 } else { 1000 };
            (0..len).step_by(step).try_for_each(|i| sums.update(i, 1))?;
        }
        if me == round % p {
            sleep(Duration::from_millis(5));
        }
        total += 10 * p as u64;
        check::same(v.read_cache()?.as_slice(), 0, |i| if i % 1000 == 0 { 2 * total } else { total })?;
        let mut all = v.read_cache_release_c()?;
        for i in (me..len).step_by(p).filter(|i| i % 1000 == 0) {
            all[i] -= total;
        }
        drop(all);
        let mut sums = v.release_c_with(Sum)?;
        (me..len).step_by(p).filter(|i| i % 1000 == 0).try_for_each(|i| sums.update(i, total))?;
        drop(sums);
        if round == 3 {
            v.release_cache()?;
        }
    }
    check::whole(&v, |i| if i % 1000 == 0 { 2 * total } else { total })
}

/// A read after the scope sees all updates, without a barrier.
fn finish_waits_for_all(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, p)?;
    for late in 0..p {
        let mut sums = v.accumulate(Sum)?;
        sums.update_slice(0, &vec![1; p])?;
        if me == late {
            sleep(Duration::from_millis(4));
        }
        sums.finish()?;
        check::equal("my own", v.at(me)?, (late as u64 + 1) * p as u64)?;
        check::whole(&v, |_| (late as u64 + 1) * p as u64)?;
        world.barrier()?;
    }
    Ok(())
}

/// One rank opens its scope late. The other ranks have more updates for it than may wait there.
fn more_than_goes_ahead_of_a_late_owner(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 200_000 * p;
    let mut v = GVector::<u64>::new(world, len)?;
    let ones = vec![1; len];
    for (late, in_order) in [(p - 1, false), (0, true), (p - 1, true)] {
        if me == late {
            sleep(Duration::from_millis(30));
        }
        let mut sums = if in_order { v.accumulate_in_order(Sum)? } else { v.accumulate(Sum)? };
        sums.update_slice(0, &ones)?;
    }
    check::whole(&v, |_| 3 * p as u64)
}

fn what_is_outside_is_refused_and_the_rest_counts(world: &World) -> Result<()> {
    let mut v = GVector::<u32>::new(world, 10)?;
    let mut sums = v.accumulate(Sum)?;
    sums.update(9, 1)?;
    assert!(matches!(sums.update(10, 1), Err(Error::IndexOutside { index: 10, len: 10, .. })));
    assert!(matches!(sums.update(usize::MAX, 1), Err(Error::IndexOutside { .. })));
    assert!(matches!(sums.update_slice(9, &[1, 1]), Err(Error::RangeOutside { start: 9, end: 11, len: 10, .. })));
    assert!(matches!(sums.update_slice(usize::MAX, &[1]), Err(Error::RangeOutside { .. })));
    sums.finish()?;
    check::whole(&v, |i| if i == 9 { world.size() as u32 } else { 0 })
}

/// An owner that shows its block folds the others' copies when its guard ends. The others go on meanwhile, with copies
/// of their own.
fn copies_that_owners_fold_late(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    // Also a vector that one rank owns, of which the others fold nothing, and blocks that are folded in steps.
    for (len, on) in [(3000 * p, None), (5000, Some(p - 1)), (70_000 * p, None)] {
        let mut v = match on {
            Some(owner) => GVector::<u64>::on(world, owner, len)?,
            None => GVector::<u64>::new(world, len)?,
        };
        for late in 0..p {
            let before = (2 * late * p) as u64;
            let mut sums = v.accumulate(Sum)?;
            sums.update_many((0..len).map(|i| (i, 1)))?;
            drop(sums);
            if me == late {
                sleep(Duration::from_millis(2));
            }
            // Of the scope before: all ranks have ended it, and the own part is folded.
            let own = v.owner_computes()?;
            assert!(own.local().iter().all(|x| *x == before + p as u64), "{late}: {:?}", own.local().first());
            if me == late {
                sleep(Duration::from_millis(2));
            }
            drop(own);
            let mut sums = v.accumulate_in_order(Sum)?;
            sums.update_many((0..len).rev().map(|i| (i, 1)))?;
            if late % 2 == 0 {
                sums.finish()?;
            }
        }
        if p > 1 {
            v.release_cache()?;
        }
        let mut sums = v.accumulate(Sum)?;
        sums.update_slice(0, &vec![1; len])?;
        drop(sums);
        check::whole(&v, |_| (2 * p * p + p) as u64)?;
        world.barrier()?;
    }
    Ok(())
}

fn many_updates_in_one_call(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for len in [10, 40_000] {
        let mut v = GVector::<u64>::new(world, len)?;
        let mut model = vec![0; len];
        for seed in 0..3 {
            let updates = |rank: usize| {
                let mut random = Random::new((seed * p + rank) as u64);
                (0..2 * len).map(move |_| (random.below(len), random.bits()))
            };
            for (index, operand) in (0..p).flat_map(updates) {
                model[index] = operand.max(model[index]);
            }
            let mut scope = v.accumulate(Max)?;
            scope.update_many(updates(me))?;
            let refused = scope.update_many([(0, 0), (len, 1), (1, u64::MAX)]);
            assert!(matches!(refused, Err(Error::IndexOutside { index, .. }) if index == len), "{refused:?}");
        }
        check::whole(&v, |i| model[i])?;
        // Of a part, with indices of the whole.
        let half = len / 2;
        world.barrier()?;
        let slice = v.slice_mut(half..len);
        let mut scope = slice.accumulate(Sum)?;
        scope.update_many((half..len).map(|i| (i, i as u64)))?;
        assert!(matches!(scope.update_many([(half - 1, 1)]), Err(Error::NotShown { .. })));
        drop(scope);
        check::whole(&v, |i| model[i].wrapping_add(if i < half { 0 } else { (p * i) as u64 }))?;
        world.barrier()?;
    }
    Ok(())
}

/// Elements that no rank updates, or only by the neutral element, keep their bits; so do operands.
fn floats_keep_their_bits(world: &World) -> Result<()> {
    let (me, len) = (world.rank().index(), 3000);
    let value = |i: usize| [-0.0, 0.0, f64::INFINITY, f64::NAN, 1.5][i % 5];
    let same = |v: &GVector<f64>, want: &dyn Fn(usize) -> f64| {
        let all = v.read_cache()?;
        for (i, x) in all.iter().enumerate() {
            let (x, want) = (x.to_bits(), want(i).to_bits());
            assert_eq!(x, want, "element {i}");
        }
        Ok::<_, Error>(())
    };
    let mut v = GVector::<f64>::from_fn(world, len, value)?;
    for sets in [false, true] {
        let mut sums = v.accumulate(Sum)?;
        (0..len).filter(|i| i % 5 > 0).try_for_each(|i| sums.update(i, -0.0))?;
        // One rank alone, so that the sum is the operand; element 0 becomes -0.0 + 0.0.
        if sets && me == 0 {
            sums.update(0, 0.0)?;
        }
        drop(sums);
        same(&v, &|i| if sets && i == 0 { 0.0 } else { value(i) })?;
        world.barrier()?;
    }
    let mut w = GVector::<f64>::from_fn(world, len, |_| f64::NAN)?;
    let mut least = w.accumulate(Min)?;
    (0..len).filter(|i| i % 3 > 0).try_for_each(|i| least.update(i, if i % 3 == 1 { f64::INFINITY } else { -1.0 }))?;
    drop(least);
    same(&w, &|i| [f64::NAN, f64::INFINITY, -1.0][i % 3])
}
