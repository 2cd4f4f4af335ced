//! `distmemcpy` in all directions.

use aurora_core::{Element, GScalar, GVector, MatrixDim, Result, World, distmemcpy, distmemcpy_many};
use aurora_suite::{Body, Random, check, mix};
use std::ops::Range;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(to_local_memory),
        Body::of(from_local_memory),
        Body::of(from_more_local_memory_than_owners_hold_at_a_time),
        Body::of(between_vectors),
        Body::of(between_vectors_laid_out_differently),
        Body::of(empty_ranges),
        Body::of(every_form_of_range),
        Body::of(many_to_local_memory),
        Body::of(many_from_local_memory),
        Body::of(many_between_vectors),
        Body::of(an_exchange_of_everyone_with_everyone),
        Body::of(large_while_others_compute),
        Body::of(large_from_a_block_that_is_then_written),
        Body::of(elements_of_every_size),
        Body::of(an_element_longer_than_a_piece),
    ]
}

pub fn want(i: usize) -> u32 {
    mix(i as u64) as u32
}

/// Ranges that begin or end before, at and after every border between owners.
fn ranges<T: Element>(v: &GVector<T>, p: usize) -> Vec<Range<usize>> {
    let mut borders: Vec<_> = (0..p).map(|rank| v.range_of(rank).start).collect();
    borders.push(v.len());
    let near = |at: &usize| [at.saturating_sub(1), *at, (at + 1).min(v.len())];
    let borders: Vec<_> = borders.iter().flat_map(near).collect();
    let pairs = borders.iter().flat_map(|a| borders.iter().map(move |b| *a..*b));
    pairs.filter(|range| range.start <= range.end).collect()
}

fn to_local_memory(world: &World) -> Result<()> {
    for len in [1, 3, 29, 10_007] {
        let v = GVector::from_fn(world, len, want)?;
        for range in ranges(&v, world.size()) {
            // The memory around the destination does not change.
            let mut memory = vec![5; range.len() + 2];
            let inner = 1..range.len() + 1;
            distmemcpy(&mut memory[inner.clone()], v.range(range.clone()))?;
            check::same(&memory[inner], range.start, want)?;
            assert_eq!((memory[0], memory[range.len() + 1]), (5, 5));
        }
    }
    Ok(())
}

fn from_local_memory(world: &World) -> Result<()> {
    let me = world.rank().index();
    for len in [1, 3, 29, 10_007] {
        let mut v = GVector::<u32>::new(world, len)?;
        let all = ranges(&v, world.size());
        for (turn, range) in all.into_iter().enumerate().step_by(1 + len / 29) {
            v.fill(0)?;
            if turn % world.size() == me {
                let memory: Vec<_> = range.clone().map(want).collect();
                distmemcpy(v.range_mut(range.clone()), &memory[..])?;
            }
            world.barrier()?;
            check::whole(&v, |i| if range.contains(&i) { want(i) } else { 0 })?;
        }
    }
    Ok(())
}

fn from_more_local_memory_than_owners_hold_at_a_time(world: &World) -> Result<()> {
    // Elements whose size does not divide the length of a piece, from all ranks at once.
    let (p, me) = (world.size(), world.rank().index());
    let len = 400_003;
    let triple = |i: usize| [want(i), want(i + len), want(i + 2 * len)];
    let mut v = GVector::<[u32; 3]>::new(world, len)?;
    let mine = len * me / p..len * (me + 1) / p;
    // The part opposite to this rank's part.
    let theirs = len - mine.end..len - mine.start;
    let memory: Vec<_> = theirs.clone().map(triple).collect();
    distmemcpy(v.range_mut(theirs), &memory[..])?;
    world.barrier()?;
    check::whole(&v, triple)
}

fn between_vectors(world: &World) -> Result<()> {
    let me = world.rank().index();
    let from = GVector::from_fn(world, 503, want)?;
    let mut into = GVector::<u32>::new(world, 607)?;
    for (turn, range) in ranges(&from, world.size()).into_iter().enumerate().step_by(3) {
        into.fill(1)?;
        let start = turn * 7 % (into.len() - range.len());
        let there = start..start + range.len();
        if turn % world.size() == me {
            distmemcpy(into.range_mut(there.clone()), from.range(range.clone()))?;
        }
        world.barrier()?;
        check::whole(&into, |i| if there.contains(&i) { want(i - there.start + range.start) } else { 1 })?;
    }
    Ok(())
}

fn between_vectors_laid_out_differently(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    // Longer than the caller's buffer.
    let len = 700_001;
    let from = GVector::from_fn(world, len, want)?;
    let mut home = GVector::<u32>::on(world, p - 1, len)?;
    let mut rows = GVector::<u32>::new(world, MatrixDim::new(7, len / 7 + 1))?;
    if me == 0 {
        distmemcpy(home.range_mut(..), from.range(..))?;
    }
    world.barrier()?;
    if me == p / 2 {
        distmemcpy(rows.range_mut(1..len + 1), home.range(..))?;
    }
    world.barrier()?;
    let mut some = vec![0; 1000];
    for start in [0, len / 3, len - 1000] {
        distmemcpy(&mut some[..], rows.range(start + 1..start + 1001))?;
        check::same(&some, start, want)?;
    }
    check::equal("what lies before", rows.at(0)?, 0)
}

fn empty_ranges(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, 9, want)?;
    let none = GVector::<u32>::new(world, 0)?;
    for at in 0..=9 {
        distmemcpy(&mut [][..], v.range(at..at))?;
        distmemcpy(v.range_mut(at..at), &[][..])?;
        distmemcpy(v.range_mut(at..at), none.range(..))?;
    }
    distmemcpy(&mut [][..], none.range(..))?;
    distmemcpy_many(Vec::<(&mut [u32], aurora_core::VectorRange<'_, u32>)>::new())?;
    world.barrier()?;
    check::whole(&v, want)
}

fn every_form_of_range(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, 11, want)?;
    let mut memory = [0; 11];
    distmemcpy(&mut memory[..], v.range(..))?;
    check::same(&memory, 0, want)?;
    distmemcpy(&mut memory[..4], v.range(..4))?;
    distmemcpy(&mut memory[4..], v.range(4..))?;
    check::same(&memory, 0, want)?;
    distmemcpy(&mut memory[..3], v.range(5..=7))?;
    check::same(&memory[..3], 5, want)
}

fn many_to_local_memory(world: &World) -> Result<()> {
    let p = world.size();
    let (a, b) = (GVector::from_fn(world, 4001, want)?, GVector::from_fn(world, 3 * p, |i| want(i + 9))?);
    let mut random = Random::new(world.rank().index() as u64);
    let picked: Vec<_> = (0..50)
        .map(|_| {
            let start = random.below(a.len());
            start..start + random.below(a.len() - start + 1)
        })
        .collect();
    let mut memory: Vec<Vec<u32>> = picked.iter().map(|range| vec![0; range.len()]).collect();
    let mut of_b = vec![0; b.len()];
    let pairs = memory.iter_mut().zip(&picked);
    let pairs = pairs.map(|(memory, range)| (&mut memory[..], a.range(range.clone())));
    distmemcpy_many(pairs.chain([(&mut of_b[..], b.range(..))]))?;
    for (memory, range) in memory.iter().zip(&picked) {
        check::same(memory, range.start, want)?;
    }
    check::same(&of_b, 9, want)
}

fn many_from_local_memory(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut vectors = (0..3).map(|_| GVector::<u32>::new(world, 100 * p)).collect::<Result<Vec<_>>>()?;
    // Each rank writes every p-th stretch of 10 elements, of all vectors at once.
    let stretch = |i: usize| i / 10 % p == me;
    let values: Vec<_> = (0..100 * p).map(want).collect();
    for start in (0..100 * p).step_by(10).filter(|i| stretch(*i)) {
        let range = start..start + 10;
        let pairs = vectors.iter_mut().map(|v| (v.range_mut(range.clone()), &values[range.clone()]));
        distmemcpy_many(pairs)?;
    }
    world.barrier()?;
    vectors.iter().try_for_each(|v| check::whole(v, want))
}

fn many_between_vectors(world: &World) -> Result<()> {
    let from = GVector::from_fn(world, 1000, want)?;
    let (mut a, mut b) = (GVector::<u32>::new(world, 600)?, GVector::<u32>::new(world, 400)?);
    if world.rank().index() == world.size() - 1 {
        distmemcpy_many([(a.range_mut(..), from.range(..600)), (b.range_mut(..), from.range(600..))])?;
    }
    world.barrier()?;
    check::whole(&a, want)?;
    check::whole(&b, |i| want(i + 600))
}

/// The fourth phase of the paper's sort: every rank reads its part of every block at the same time.
fn an_exchange_of_everyone_with_everyone(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let each = 5000;
    let from = GVector::from_fn(world, p * p * each, want)?;
    let mut mine = vec![0; p * each];
    for _ in 0..3 {
        mine.fill(0);
        let parts = mine.chunks_mut(each).enumerate();
        let start = |owner: usize| (owner * p + me) * each;
        distmemcpy_many(parts.map(|(owner, part)| (part, from.range(start(owner)..start(owner) + each))))?;
        for (owner, part) in mine.chunks(each).enumerate() {
            check::same(part, start(owner), want)?;
        }
    }
    Ok(())
}

/// The daemon of a rank that computes and makes no call answers for it.
fn large_while_others_compute(world: &World) -> Result<()> {
    let me = world.rank().index();
    let len = 1_500_000;
    let mut v = GVector::from_fn(world, len, want)?;
    let done = GScalar::new(world, 0, 0u64)?;
    if me == 0 {
        let mut all = vec![0; len];
        distmemcpy(&mut all[..], v.range(..))?;
        check::same(&all, 0, want)?;
        all.iter_mut().for_each(|x| *x = !*x);
        distmemcpy(v.range_mut(..), &all[..])?;
        done.set(1)?;
    } else {
        while done.get()? == 0 {
            std::hint::black_box((0..300_000u64).map(mix).fold(0, |a, b| a ^ b));
        }
    }
    world.barrier()?;
    let own = v.owner_computes()?;
    check::same(own.local(), own.indices().start, |i| !want(i))
}

/// The owner overwrites its block while a large reply may still be in transit. The reader gets the old or the new value
/// of each element, and after the barrier the new value.
fn large_from_a_block_that_is_then_written(world: &World) -> Result<()> {
    let len = 600_000;
    let mut v = GVector::<u32>::new(world, len)?;
    let mut memory = vec![0; len];
    for round in 1..6 {
        distmemcpy(&mut memory[..], v.range(..))?;
        assert!(memory.iter().all(|x| *x == round || *x == round - 1));
        let mut own = v.owner_computes_mut()?;
        own.local_mut().fill(round);
        own.finish()?;
        world.barrier()?;
        distmemcpy(&mut memory[..], v.range(..))?;
        check::same(&memory, 0, |_| round)?;
        world.barrier()?;
    }
    Ok(())
}

/// The bytes that are copied under one latch where ranks share memory.
pub const PIECE: usize = 256 << 10;

fn elements_of_every_size(world: &World) -> Result<()> {
    fn check_one<T: Element + PartialEq + std::fmt::Debug>(world: &World, value: fn(usize) -> T) -> Result<()> {
        let (p, me) = (world.size(), world.rank().index());
        // Each block needs several pieces, and the last piece is short.
        let each = 2 * PIECE / size_of::<T>() + 7;
        let mut v = GVector::from_fn(world, p * each, value)?;
        let mut memory = vec![T::zeroed(); v.len() + 2];
        let in_a_piece = PIECE / size_of::<T>();
        let lens = [0, 1, 2, 13, in_a_piece - 1, in_a_piece, in_a_piece + 1, 2 * in_a_piece + 3, v.len()];
        for (len, start) in lens.into_iter().flat_map(|len| [0, 1, 3, each - 1, each].map(|start| (len, start))) {
            let range = start..(start + len).min(v.len());
            // At several places of the memory. The memory around them does not change.
            let inner = start % 2 + 1..start % 2 + 1 + range.len();
            let Some(part) = memory.get_mut(inner.clone()) else { continue };
            distmemcpy(&mut *part, v.range(range.clone()))?;
            check::same(part, range.start, value)?;
            part.fill(T::zeroed());
            assert!(memory.iter().all(|element| *element == T::zeroed()), "{range:?} wrote more than its memory");
        }
        world.barrier()?;
        // Each rank writes a range that crosses a border, and begins and ends inside blocks.
        let mine = me * each + 5..((me + 1) * each + 5).min(v.len());
        let values: Vec<_> = mine.clone().map(|i| value(i + 1)).collect();
        distmemcpy(v.range_mut(mine), &values[..])?;
        world.barrier()?;
        check::whole(&v, |i| value(if i < 5 { i } else { i + 1 }))
    }
    check_one(world, |i| want(i) as u8)?;
    check_one(world, |i| want(i) as u16)?;
    check_one(world, |i| [want(i) as u8; 3])?;
    check_one(world, want)?;
    check_one(world, |i| mix(i as u64))?;
    check_one(world, |i| [want(i), want(i + 1), want(i + 2)])?;
    check_one(world, |i| [mix(i as u64); 5])
}

fn an_element_longer_than_a_piece(world: &World) -> Result<()> {
    type Long = [[u64; 1024]; 40];
    const { assert!(size_of::<Long>() > PIECE) };
    let value = |i: usize| [[mix(i as u64); 1024]; 40];
    let mut v = GVector::<Long>::new(world, 2 * world.size())?;
    let mut own = v.owner_computes_mut()?;
    let first = own.indices().start;
    own.local_mut().iter_mut().enumerate().for_each(|(i, element)| *element = value(first + i));
    own.finish()?;
    world.barrier()?;
    check::whole(&v, value)
}
