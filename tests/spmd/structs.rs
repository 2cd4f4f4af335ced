//! Elements that users define: odd sizes and large ones. No rank ever sees half of an element.

use aurora_core::{Element, GVector, Result, World, distmemcpy};
use aurora_suite::{Body, check, mix};
use bytemuck::{Pod, Zeroable};
use std::fmt::Debug;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(three_bytes),
        Body::of(twelve_bytes),
        Body::of(sixteen_bytes_aligned),
        Body::of(several_kilobytes),
        Body::of(never_half),
    ]
}

#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[repr(C)]
struct Edge {
    from: u32,
    to: u32,
    weight: f32,
}

#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
#[repr(C)]
struct Page {
    words: [u64; 600],
}

fn three_bytes(world: &World) -> Result<()> {
    every_way(world, 1000, |i| [mix(i) as u8, (mix(i) >> 8) as u8, i as u8])
}

fn twelve_bytes(world: &World) -> Result<()> {
    every_way(world, 1000, |i| Edge { from: i as u32, to: mix(i) as u32, weight: i as f32 / 3.0 })
}

fn sixteen_bytes_aligned(world: &World) -> Result<()> {
    every_way(world, 501, |i| u128::from(mix(i)) << 60 | u128::from(i))
}

fn several_kilobytes(world: &World) -> Result<()> {
    every_way(world, 41, |i| Page { words: std::array::from_fn(|word| mix(i * 600 + word as u64)) })
}

/// Every kind of access, from every rank, with other contents each time.
fn every_way<T: Element + PartialEq + Debug>(world: &World, len: usize, value: impl Fn(u64) -> T) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let want = |round: u64| {
        let value = &value;
        move |i: usize| value(i as u64 + 7 * round)
    };
    let mut v = GVector::from_fn(world, len, want(0))?;
    let mine = || (0..len).filter(|i| i % p == me);
    check::whole(&v, want(0))?;

    world.barrier()?;
    for i in mine() {
        v.put(i, want(1)(i))?;
    }
    world.barrier()?;
    let all: Vec<_> = (0..len).collect();
    check::same(&v.at_many(&all)?, 0, want(1))?;
    check::equal("the last", v.at(len - 1)?, want(1)(len - 1))?;

    world.barrier()?;
    v.put_many(&mine().map(|i| (i, want(2)(i))).collect::<Vec<_>>())?;
    check::same(v.read_cache()?.as_slice(), 0, want(2))?;

    let mut writes = v.release_c()?;
    for i in mine() {
        writes.put(i, want(3)(i))?;
    }
    writes.finish()?;
    check::whole(&v, want(3))?;

    world.barrier()?;
    let mut own = v.owner_computes_mut()?;
    for i in own.indices() {
        own[i] = want(4)(i);
    }
    own.finish()?;
    check::same(v.read_cache()?.as_slice(), 0, want(4))?;

    if me == p - 1 {
        let values: Vec<_> = (0..len).map(want(5)).collect();
        distmemcpy(v.range_mut(..), &values[..])?;
    }
    world.barrier()?;
    check::whole(&v, want(5))
}

/// An element is written as a whole: while one rank puts pages of equal words, no rank reads a page with two values.
fn never_half(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<Page>::new(world, p)?;
    for round in 0..60 {
        if me == round % p {
            let words = [round as u64; 600];
            for i in 0..p {
                v.put(i, Page { words })?;
            }
        } else {
            let page = v.at((me + round) % p)?;
            check::same(&page.words, 0, |_| page.words[0])?;
        }
    }
    Ok(())
}
