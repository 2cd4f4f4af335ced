//! The number of messages of scalar scopes.

use super::until;
use aurora_core::ops::{Min, Sum};
use aurora_core::{GScalar, Result, World};
use aurora_suite::check;

/// The messages of the lines with this action.
fn accounted(world: &World, action: &str) -> u64 {
    world.usage().iter().filter(|line| line.action == action).map(|line| line.usage.messages).sum()
}

pub fn what_scopes_cost(world: &World) -> Result<()> {
    let others = world.size() as u64 - 1;
    for home in 0..world.size() {
        let at_home = world.rank() == home;
        let mut number = GScalar::new(world, home, 7u64)?;
        let mut cost = |action, once: &mut dyn FnMut(&mut GScalar<u64>) -> Result<()>, each: u64| {
            let before = accounted(world, action);
            once(&mut number)?;
            let want = if at_home { each * others } else { each };
            check::equal(action, accounted(world, action) - before, want)
        };
        // One from each rank to the home, and one from the home to each rank.
        cost("ReadCache", &mut |number| number.read_cache()?.finish(), 1)?;
        cost(
            "ReleaseC",
            &mut |number| {
                let mut scope = number.release_c()?;
                (0..1000).try_for_each(|i| scope.set(i))?;
                scope.finish()
            },
            1,
        )?;
        cost(
            "Accumulate",
            &mut |number| {
                let mut scope = number.accumulate(Sum)?;
                (0..1000).for_each(|i| scope.update(i));
                scope.finish()
            },
            1,
        )?;
        // At the start and at the end; reads send nothing.
        cost(
            "ReadMostly",
            &mut |number| {
                let scope = number.read_mostly()?;
                let first = scope.get()?;
                for _ in 0..100_000 {
                    check::equal("number", scope.get()?, first)?;
                }
                scope.finish()
            },
            2,
        )?;
    }
    Ok(())
}

/// The rank that makes a request gets an answer, and every other rank gets one message at the same time: without a
/// request of its own and without a further hop.
pub fn a_bound_is_told_at_once(world: &World) -> Result<()> {
    const ROUNDS: u64 = 10;
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let writer = (home + 1) % p;
        let bound = GScalar::new(world, home, 1000u64)?;
        let before = [accounted(world, "ReadMostly"), accounted(world, "fetch_min")];
        let scope = bound.read_mostly()?;
        for round in 1..=ROUNDS {
            if me == writer {
                check::equal("old", scope.fetch_min(1000 - round)?, 1001 - round)?;
            }
            check::equal("bound", until(&scope, |seen| *seen <= 1000 - round)?, 1000 - round)?;
            world.barrier()?;
        }
        scope.finish()?;
        let after = [accounted(world, "ReadMostly"), accounted(world, "fetch_min")];
        let (others, asked) = (p as u64 - 1, if me == writer { ROUNDS } else { 0 });
        // For ten received values, two messages that report them to the home.
        let seen = if me == writer || me == home { 0 } else { ROUNDS / 4 };
        let want = if me == home { 2 * others + ROUNDS * (others - 1) } else { 2 + seen };
        check::equal("asked", after[1] - before[1], asked)?;
        // The first value also counts as received.
        let found = after[0] - before[0];
        assert!((want..=want + u64::from(me != home)).contains(&found), "{found} messages instead of {want}");
    }
    Ok(())
}

/// Each rank has at most one offer in flight. So each offer causes at most one message to the home and one answer to
/// each other rank, which reports every fourth value. Offers made meanwhile are combined. A unit test of the replica
/// proves that; here a fast network may answer each offer before the next is made.
pub fn an_offer_costs_at_most_one_message_each_way(world: &World) -> Result<()> {
    const OFFERS: u64 = 20_000;
    let (p, me) = (world.size(), world.rank().index());
    let home = p - 1;
    let bound = GScalar::new(world, home, u64::MAX)?;
    let before = accounted(world, "ReadMostly");
    let scope = bound.read_mostly_with(Min)?;
    if me == 0 {
        (0..OFFERS).try_for_each(|i| scope.offer(2 * OFFERS - i))?;
    }
    until(&scope, |seen| *seen == OFFERS + 1)?;
    scope.finish()?;
    let sent = accounted(world, "ReadMostly") - before;
    // Each rank also gets the first value, and each rank opens and ends the scope.
    let (others, reports) = (p as u64 - 1, (OFFERS + 1) / 4);
    let most = if me == home { others * (OFFERS + 2) } else { OFFERS + reports + 2 };
    assert!(sent <= most, "{sent} messages for {OFFERS} offers, {most} are allowed");
    check::equal("bound", bound.get()?, OFFERS + 1)
}
