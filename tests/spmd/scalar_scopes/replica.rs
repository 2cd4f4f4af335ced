//! The values of a ReadMostly's replica, and the effect of offers.

use super::until;
use aurora_core::ops::{Min, Sum};
use aurora_core::{GScalar, Result, World};
use aurora_suite::check;

pub fn a_replica_follows_what_is_set(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let number = GScalar::new(world, home, 0u32)?;
        let wide = GScalar::new(world, home, 0u128)?;
        let text = GScalar::new(world, home, String::from("start"))?;
        let flag = GScalar::new(world, home, false)?;
        let (number_seen, wide_seen) = (number.read_mostly()?, wide.read_mostly()?);
        let (text_seen, flag_seen) = (text.read_mostly()?, flag.read_mostly()?);
        check::equal("text", text_seen.get()?, "start".into())?;
        // No rank sets a value before all ranks have read.
        world.barrier()?;
        for writer in 0..p {
            let (low, high) = (writer as u32 + 1, (writer as u128 + 1) << 90);
            let long = format!("{writer}").repeat(300);
            if me == writer {
                check::equal("old", number_seen.swap(low)?, writer as u32)?;
                check::equal("own", number_seen.get()?, low)?;
                wide_seen.set(high)?;
                text_seen.set(long.clone())?;
                flag_seen.set(writer % 2 == 0)?;
            }
            until(&number_seen, |seen| *seen == low)?;
            until(&wide_seen, |seen| *seen == high)?;
            until(&text_seen, |seen| *seen == long)?;
            until(&flag_seen, |seen| *seen == (writer % 2 == 0))?;
            world.barrier()?;
        }
        number_seen.finish()?;
        drop((wide_seen, text_seen, flag_seen));
        check::equal("number", number.get()?, p as u32)?;
        check::equal("wide", wide.get()?, (p as u128) << 90)?;
    }
    Ok(())
}

pub fn a_replica_never_goes_back(world: &World) -> Result<()> {
    const EACH: u64 = 150;
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    for home in 0..world.size() {
        let count = GScalar::new(world, home, 0u64)?;
        let scope = count.read_mostly()?;
        let mut last = 0;
        for step in 0..EACH {
            let mine = if (step + me) % 3 == 0 { scope.fetch_add(1)? + 1 } else { scope.fetch_max(0)? };
            let seen = scope.get()?;
            assert!(seen >= last && seen >= mine, "{seen} after {last}, with {mine} of its own");
            last = seen;
        }
        let want = (0..p).map(|rank| (0..EACH).filter(|step| (step + rank) % 3 == 0).count() as u64).sum();
        until(&scope, |seen| {
            assert!(*seen >= last);
            last = *seen;
            *seen == want
        })?;
        scope.finish()?;
        check::equal("count", count.get()?, want)?;
    }
    Ok(())
}

pub fn the_better_bound_is_never_lost(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let bound = GScalar::new(world, home, u64::MAX)?;
        for round in 0..20u64 {
            let floor = 1000 * (100 - round);
            let scope = bound.read_mostly_with(Min)?;
            // All ranks offer at once; each time a different rank has the best offer.
            for step in (0..8).rev() {
                let mine = floor + 10 * step + (me as u64 + round) % p as u64;
                let before = scope.get()?;
                if step % 3 == 0 {
                    assert!(scope.fetch_min(mine)? <= before, "the home has no worse one");
                } else {
                    scope.offer(mine)?;
                }
                assert!(scope.get()? <= mine.min(before), "its own is seen at once");
            }
            if round % 2 == 0 {
                until(&scope, |seen| *seen == floor)?;
                scope.finish()?;
            } else {
                drop(scope);
            }
            check::equal("bound", bound.get()?, floor)?;
            world.barrier()?;
        }
    }
    Ok(())
}

/// A rank that does not know the value that another rank has set must still send its offer.
pub fn an_offer_after_a_worse_value_was_set_counts(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for round in 0..30 {
        let bound = GScalar::new(world, round % p, 10u64)?;
        let scope = bound.read_mostly_with(Min)?;
        if me == p - 1 {
            bound.set(100)?;
        }
        world.barrier()?;
        if me == 0 {
            scope.offer(50)?; // worse than the 10 that this rank may still know
        }
        scope.finish()?;
        check::equal("the bound", bound.get()?, 50)?;
        world.barrier()?;
    }
    Ok(())
}

/// The operation of offers need not be a bound.
pub fn offers_of_sums_count_once(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    for home in 0..world.size() {
        let sum = GScalar::new(world, home, 0u64)?;
        let scope = sum.read_mostly_with(Sum)?;
        let mut mine = 0;
        for step in 0..100 {
            scope.offer(step + me)?;
            mine += step + me;
            assert!(scope.get()? >= mine);
            if step % 40 == 39 {
                // After the offers.
                assert!(scope.fetch_add(0)? >= mine);
            }
        }
        let want = p * 4950 + 100 * p * (p - 1) / 2;
        until(&scope, |seen| *seen == want)?;
        drop(scope);
        check::equal("sum", sum.get()?, want)?;
    }
    Ok(())
}

pub fn the_scalar_itself_inside_a_read_mostly(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let number = GScalar::new(world, home, 1u64)?;
        let before = number.read_cache()?;
        let scope = number.read_mostly()?;
        number.fetch_add(1)?;
        assert!(number.get()? >= 2);
        let all = 1 + p as u64;
        until(&scope, |seen| *seen == all)?;
        check::equal("asked", number.get()?, all)?;
        world.barrier()?;
        if me == (home + 1) % p {
            number.set(0)?;
        }
        until(&scope, |seen| *seen == 0)?;
        scope.finish()?;
        check::equal("a snapshot", *before, 1)?;
        check::equal("number", number.get()?, 0)?;
    }
    Ok(())
}
