//! Reductions, scans, broadcasts and `all_gather`, over each route, with lengths for every algorithm.

use aurora_core::ops::{And, Located, Max, MaxLoc, Min, MinLoc, Or, Product, Sum, Xor};
use aurora_core::prelude::*;
use aurora_suite::{Body, check, mix};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(values),
        Body::of(every_operation),
        Body::of(slices_of_all_lengths),
        Body::of(scans_of_all_lengths),
        Body::of(the_order_of_ranks_decides_the_bits),
        Body::of(operations_and_elements_of_ones_own),
        Body::of(large_elements),
        Body::of(broadcasts),
        Body::of(gathered_values),
        Body::of(ranks_come_late_and_often),
        Body::of(they_order_ranks),
        Body::of(one_flipped_element_is_seen),
    ]
}

fn me(world: &World) -> usize {
    world.rank().index()
}

/// The value of a rank at an index.
fn has(rank: usize, i: usize) -> u64 {
    mix((rank * 1_000_003 + i) as u64)
}

fn sum(upto: usize, i: usize) -> u64 {
    (0..upto).map(|rank| has(rank, i)).fold(0, u64::wrapping_add)
}

/// In the words of the barrier, in one or several steps of a node's memory, with early pieces, and long.
const LENGTHS: [usize; 12] = [0, 1, 2, 3, 7, 100, 1025, 4099, 10_001, 32_768, 40_003, 200_003];

fn values(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    for round in 0..20 {
        let own = has(me, round);
        check::equal("sum", world.all_reduce(Sum, own)?, sum(size, round))?;
        check::equal("least", world.all_reduce(Min, own)?, (0..size).map(|r| has(r, round)).min().unwrap())?;
        check::equal(
            "most",
            world.all_reduce(Max, own as f64)?,
            (0..size).map(|r| has(r, round) as f64).fold(0.0, f64::max),
        )?;
        check::equal("bits", world.all_reduce(Or, 1u8 << me.min(7))?, (0..size).fold(0, |all, r| all | 1 << r.min(7)))?;
        let root = round % size;
        check::equal("to one", world.reduce_to(root, Sum, own)?, (root == me).then(|| sum(size, round)))?;
        check::equal("scan", world.scan(Sum, own)?, sum(me + 1, round))?;
        check::equal("exclusive", world.exclusive_scan(Sum, own)?, (me > 0).then(|| sum(me, round)))?;
        check::equal(
            "wide",
            world.all_reduce(Sum, u128::from(own))?,
            (0..size).map(|r| u128::from(has(r, round))).sum(),
        )?;
        check::equal("one of all", world.broadcast(root, has(me, 0))?, has(root, 0))?;
        check::equal("all of all", world.all_gather(own)?, (0..size).map(|r| has(r, round)).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Each operation in a reduction, also of a slice; in a scope of a vector and of a map; and of a scalar.
fn every_operation(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    let all = |i: usize| (0..size).map(move |rank| has(rank, i));
    let fold = |i: usize, apply: fn(u64, u64) -> u64| all(i).reduce(apply).unwrap();
    for round in 0..3 {
        let own = has(me, round);
        check::equal("product", world.all_reduce(Product, own)?, fold(round, u64::wrapping_mul))?;
        check::equal("and", world.all_reduce(And, own)?, fold(round, |a, b| a & b))?;
        check::equal("xor", world.all_reduce(Xor, own)?, fold(round, |a, b| a ^ b))?;
        let pair = |rank: usize, i: usize| Located::new((has(rank, i) % 3) as f64, rank as u64);
        let place = |i: usize, wanted: f64| (0..size).map(|rank| pair(rank, i)).find(|pair| pair.value == wanted);
        let least = (0..size).map(|rank| pair(rank, round).value).fold(f64::INFINITY, f64::min);
        let most = (0..size).map(|rank| pair(rank, round).value).fold(0.0, f64::max);
        check::equal("place of the least", Some(world.all_reduce(MinLoc, pair(me, round))?), place(round, least))?;
        check::equal("place of the most", Some(world.all_reduce(MaxLoc, pair(me, round))?), place(round, most))?;
    }
    let mut pairs: Vec<[u64; 2]> = (0..1025).map(|i| [has(me, i), has(me, i + 1)]).collect();
    world.all_reduce_slice(Max, &mut pairs)?;
    check::same(&pairs, 0, |i| [fold(i, u64::max), fold(i + 1, u64::max)])?;
    let turn = world.all_reduce(Product, num_complex::Complex::new(0.0, 1.0))?;
    check::equal("a power of i", turn, num_complex::Complex::new(0.0, 1.0).powu(size as u32))?;

    let mut v = GVector::<Located<i64, usize>>::from_fn(world, 10, |_| Located::new(i64::MAX, 0))?;
    let mut scope = v.release_c_with(MinLoc)?;
    (0..10).try_for_each(|i| scope.update(i, Located::new(-((me * i) as i64), me)))?;
    scope.finish()?;
    let last = |i: usize| if i == 0 { 0 } else { size - 1 };
    check::whole(&v, |i| Located::new(-(((size - 1) * i) as i64), last(i)))?;
    let mut sums = GVector::<[u32; 3]>::new(world, 10)?;
    let mut scope = sums.accumulate(Sum)?;
    (0..10).try_for_each(|i| scope.update(i, [1, i as u32, me as u32]))?;
    scope.finish()?;
    check::whole(&sums, |i| [size as u32, (size * i) as u32, (size * (size - 1) / 2) as u32])?;

    let mut map = GMap::<u32, (u64, usize)>::new(world)?;
    let mut scope = map.release_c_with(MaxLoc)?;
    scope.update(&5, (has(me, 0), me))?;
    scope.finish()?;
    check::equal("map", map.get(&5)?, (0..size).map(|rank| (has(rank, 0), rank)).max())?;
    let mut bits = GMap::<u32, u64>::new(world)?;
    bits.update(&1, Xor, has(me, 0))?;
    world.barrier()?;
    check::equal("bits", bits.get(&1)?, Some(fold(0, |a, b| a ^ b)))?;
    let mut scalar = GScalar::new(world, 0, u64::MAX)?;
    let mut scope = scalar.accumulate(And)?;
    scope.update(has(me, 7));
    scope.finish()?;
    check::equal("scalar", scalar.get()?, fold(7, |a, b| a & b))?;
    let scope = scalar.read_mostly_with(And)?;
    scope.offer(has(me, 8))?;
    scope.finish()?;
    check::equal("offered", scalar.get()?, fold(7, |a, b| a & b) & fold(8, |a, b| a & b))
}

fn slices_of_all_lengths(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    for len in LENGTHS {
        let own: Vec<u64> = (0..len).map(|i| has(me, i)).collect();
        let mut values = own.clone();
        world.all_reduce_slice(Sum, &mut values)?;
        check::same(&values, 0, |i| sum(size, i))?;
        let root = (len + 1) % size;
        let mut values = own.clone();
        world.reduce_slice_to(root, Sum, &mut values)?;
        check::same(&values, 0, |i| if root == me { sum(size, i) } else { own[i] })?;
    }
    Ok(())
}

fn scans_of_all_lengths(world: &World) -> Result<()> {
    let me = me(world);
    for len in LENGTHS {
        let own: Vec<u64> = (0..len).map(|i| has(me, i)).collect();
        let mut values = own.clone();
        world.scan_slice(Sum, &mut values)?;
        check::same(&values, 0, |i| sum(me + 1, i))?;
        let mut values = own.clone();
        check::equal("replaced", world.exclusive_scan_slice(Sum, &mut values)?, me > 0)?;
        check::same(&values, 0, |i| if me > 0 { sum(me, i) } else { own[i] })?;
    }
    Ok(())
}

/// Floating-point sums are `((x0 + x1) + x2) ..` on all ranks, to the last bit, for every length of the slice.
fn the_order_of_ranks_decides_the_bits(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    let has =
        |rank: usize, i: usize| (has(rank, i) as f64).sqrt() * 10f64.powi((i % 40) as i32 - 20 + 7 * (rank % 3) as i32);
    let sum = |upto: usize, i: usize| (1..upto).fold(has(0, i), |sum, rank| sum + has(rank, i)).to_bits();
    for len in LENGTHS {
        let mut values: Vec<f64> = (0..len).map(|i| has(me, i)).collect();
        let mut scanned = values.clone();
        if let Some(first) = values.first() {
            check::equal("alone", world.all_reduce(Sum, *first)?.to_bits(), sum(size, 0))?;
        }
        world.all_reduce_slice(Sum, &mut values)?;
        check::same(&bits(&values), 0, |i| sum(size, i))?;
        world.scan_slice(Sum, &mut scanned)?;
        check::same(&bits(&scanned), 0, |i| sum(me + 1, i))?;
    }
    Ok(())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// A range of whole numbers. Joining two ranges depends on their order.
#[derive(Clone, Copy, PartialEq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Span {
    first: u32,
    last: u32,
    joined: [u32; 3],
}

struct Join;

impl Op<Span> for Join {
    fn apply(current: Span, operand: Span) -> Span {
        let joined = current.joined[0] + operand.joined[0] + u32::from(current.last + 1 != operand.first);
        Span { first: current.first, last: operand.last, joined: [joined; 3] }
    }
}

/// An operation that combines operands in another way than it applies them.
struct TakeAway;

impl Op<i64> for TakeAway {
    fn apply(current: i64, operand: i64) -> i64 {
        current - operand
    }
    fn combine(first: i64, second: i64) -> i64 {
        first + second
    }
}

fn operations_and_elements_of_ones_own(world: &World) -> Result<()> {
    let (rank, size) = (me(world) as u32, world.size() as u32);
    let span = |first, last| Span { first, last, joined: [0; 3] };
    check::equal("joined", world.all_reduce(Join, span(rank, rank))?, span(0, size - 1))?;
    for len in [2, 900, 30_000] {
        let mut spans = vec![span(2 * rank, 2 * rank + 1); len];
        world.all_reduce_slice(Join, &mut spans)?;
        check::same(&spans, 0, |_| span(0, 2 * size - 1))?;
    }
    check::equal("combined", world.all_reduce(TakeAway, 5)?, 5 * i64::from(size))
}

/// Each element is longer than the space of a rank in a barrier of its node.
fn large_elements(world: &World) -> Result<()> {
    const LEN: usize = 17_000;
    struct Each;
    impl Op<[u64; LEN]> for Each {
        fn apply(mut current: [u64; LEN], operand: [u64; LEN]) -> [u64; LEN] {
            current.iter_mut().zip(operand).for_each(|(a, b)| *a = a.wrapping_add(b));
            current
        }
    }
    let (me, size) = (me(world), world.size());
    let own: [u64; LEN] = std::array::from_fn(|i| has(me, i));
    let all = world.all_reduce(Each, own)?;
    check::same(&all, 0, |i| sum(size, i))?;
    let given = world.all_gather_slice(&[own])?;
    check::equal("gathered", given[size - 1][0][LEN - 1], has(size - 1, LEN - 1))
}

fn broadcasts(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    for len in LENGTHS {
        let root = len % size;
        let letter = |rank: usize, i: usize| b'a' + (has(rank, i) % 26) as u8;
        let text = (0..len).map(|i| char::from(letter(me, i))).collect::<String>();
        check::same(world.broadcast(root, text)?.as_bytes(), 0, |i| letter(root, i))?;
        let mut values: Vec<u32> = (0..len).map(|i| has(me, i) as u32).collect();
        world.broadcast_slice(root, &mut values)?;
        check::same(&values, 0, |i| has(root, i) as u32)?;
    }
    Ok(())
}

fn gathered_values(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    for len in LENGTHS {
        // Some ranks have much, other ranks little or nothing.
        let len_of = |rank: usize| len * (rank % 3);
        let of = |rank: usize| (0..len_of(rank)).map(|i| has(rank, i)).collect::<Vec<_>>();
        let all: Vec<_> = (0..size).map(of).collect();
        check::equal("elements", &world.all_gather_slice(&of(me))?, &all)?;
        check::equal("values", &world.all_gather((me, of(me)))?, &all.into_iter().enumerate().collect())?;
    }
    Ok(())
}

/// No call takes the data of another call: neither of the next, nor of one with another length, nor of a barrier.
fn ranks_come_late_and_often(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    for round in 0..60usize {
        if round % size == me && round % 7 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let len = [1, 600, 5, 9000, 2][round % 5];
        let mut values = vec![(round * (me + 1)) as u64; len];
        world.all_reduce_slice(Sum, &mut values)?;
        check::equal("round", values, vec![(round * size * (size + 1) / 2) as u64; len])?;
        if round % 3 == 0 {
            world.barrier()?;
        }
    }
    Ok(())
}

fn they_order_ranks(world: &World) -> Result<()> {
    let (me, size) = (me(world), world.size());
    let mut v = GVector::<u64>::new(world, size)?;
    for round in 1..10 {
        v.put((me + 1) % size, round)?;
        world.all_reduce(Sum, 1)?;
        check::equal("written before", v.at(me)?, round)?;
        world.broadcast(0, ())?;
    }
    Ok(())
}

/// The comparison of the bodies above finds one changed element.
fn one_flipped_element_is_seen(world: &World) -> Result<()> {
    let size = world.size();
    let mut values: Vec<u64> = (0..40_003).map(|i| has(me(world), i)).collect();
    if world.rank() == size - 1 {
        values[31_007] ^= 1 << 17;
    }
    world.all_reduce_slice(Sum, &mut values)?;
    let wrong: Vec<usize> = (0..values.len()).filter(|i| values[*i] != sum(size, *i)).collect();
    check::equal("the flipped one", wrong, vec![31_007])
}
