//! All policies: results move between ranks, and partial results are merged.

use super::both_by;
use aurora_core::ops::Sum;
use aurora_core::{Result, World};
use aurora_suite::{Body, check};
use aurora_super::policy::Version;
use aurora_super::{Dense, Policy, Super, SuperProgram, Update, Val};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![Body::of(results_that_move_and_parts_that_are_merged), Body::of(work_in_balance)]
}

/// All policies that ranks know, among them one of each version.
fn policies() -> Vec<Policy> {
    let mixture = Policy { version: Version::Mixture, ..Policy::TAIL };
    let written = Policy { version: Version::Simple, ..Policy::ECT };
    Policy::ALL.map(|(_, policy)| policy).into_iter().chain([mixture, written]).collect()
}

/// Writes that do not commute, updates that do, and reads of both.
fn program(sp: &SuperProgram<'_>) -> Result<Vec<u64>> {
    let (a, b) = (sp.blocks(7, u64::from)?, sp.blocks((3, 2), |(i, j)| Dense::from_fn(2, 2, |_, _| i + 10 * j))?);
    for round in 0..3 {
        let write = |b: &Dense<u32>, Val(k): Val<u64>, a: &mut u64| {
            *a = (*a * 31 + k + u64::from(b.values()[0])) % 1_000_003;
        };
        sp.launch(7, 3, write, move |i, k| (b.at((i % 3, i % 2)), Val(u64::from(k + round)), a.at(i)))?;
        let update = |a: &u64, b: &mut Update<Dense<u32>, Sum>| {
            b.values_mut().iter_mut().for_each(|value| *value = value.wrapping_add((*a % 1000) as u32));
        };
        sp.launch((3, 2), 5, update, move |(i, j), k| (a.at((i + j + k) % 7), b.at((i, j))))?;
    }
    let found = sp.fold(&b, |b| b.values().iter().copied().map(u64::from).collect(), joined)?;
    Ok(joined(sp.fold(&a, |a| vec![*a], joined)?, found))
}

fn joined(one: Vec<u64>, other: Vec<u64>) -> Vec<u64> {
    [one, other].concat()
}

fn results_that_move_and_parts_that_are_merged(world: &World) -> Result<()> {
    policies().into_iter().try_for_each(|policy| both_by(world, policy, program).map(drop))
}

/// Few instructions last long, or many are on one rank.
fn work_in_balance(world: &World) -> Result<()> {
    all_blocks_on_one_rank(world)?;
    a_launch_of_one_long_instruction(world)?;
    a_rank_that_becomes_slow(world)
}

/// One counter: other ranks can join the only group.
fn all_blocks_on_one_rank(world: &World) -> Result<()> {
    for policy in [Policy::TAIL, Policy::ECT, Policy::R] {
        let sp = Super::default().policy(policy).workers(1).in_flight(1).start(world)?;
        let count = sp.blocks(1, |_| 5_u64)?;
        let add = |Val(k): Val<u64>, count: &mut Update<u64, Sum>| {
            sleep(Duration::from_millis(5));
            **count += k;
        };
        for launch in 1..3 {
            sp.launch(1, 20, add, move |_, k| (Val(k.into()), count.at(0)))?;
            check::equal("count", sp.value(count.at(0))?, 5 + launch * 190)?;
        }
        let (all, ranks) = (sp.report()?.total(), world.size() as u64);
        check::equal("instructions", all.instructions, 40)?;
        check::equal("at most one part of each rank", all.merges <= 2 * (ranks - 1), true)?;
        let shares = policy != Policy::R && ranks > 1;
        check::equal("whether parts were merged", all.merges > 0, shares)?;
    }
    Ok(())
}

/// The other ranks take the short groups of the rank that runs the long one.
fn a_launch_of_one_long_instruction(world: &World) -> Result<()> {
    let sp = Super::default().workers(1).start(world)?;
    let a = sp.blocks(24, |_| 0_u64)?;
    let run = |Val(micros): Val<u64>, a: &mut u64| {
        sleep(Duration::from_micros(micros));
        *a += 1;
    };
    sp.each(24, run, move |i| (Val(if i == 0 { 250_000 } else { 250 }), a.at(i)))?;
    check::equal("sum", sp.fold(&a, |a| *a, |x, y| x + y)?, 24)?;
    let (own, ranks) = (sp.report()?.ranks[0].instructions, world.size() as u64);
    check::equal("the long one, and those that it had ahead", ranks == 1 || own <= 12 / ranks + 2, true)
}

/// Rank 0 becomes 20 times slower half-way: the others do most of the rest.
fn a_rank_that_becomes_slow(world: &World) -> Result<()> {
    let sp = Super::default().workers(1).start(world)?;
    let a = sp.blocks((6, 6), |_| 0_u64)?;
    let (is_slow, steps) = (world.is_root() && world.size() > 1, AtomicU32::new(0));
    let add = move |a: &mut Update<u64, Sum>| {
        let step = steps.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(if is_slow && step > 10 { 20 } else { 1 }));
        **a += 1;
    };
    sp.launch((6, 6), 4, add, move |at, _| (a.at(at),))?;
    check::equal("sum", sp.fold(&a, |a| *a, |x, y| x + y)?, 144)?;
    let (own, ranks) = (sp.report()?.ranks[0].instructions, world.size() as u64);
    check::equal("not its whole share", ranks == 1 || own < 144 / ranks, true)
}
