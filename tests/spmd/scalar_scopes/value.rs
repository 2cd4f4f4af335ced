//! Values that ranks set and merge, and the values that they see.

use aurora_core::ops::{Max, Sum};
use aurora_core::{GScalar, Op, Result, World};
use aurora_suite::check;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
struct Settings {
    title: String,
    weights: Vec<f64>,
}

pub fn a_read_cache_shows_what_was_set_before(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let number = GScalar::new(world, home, 0u64)?;
        let settings = GScalar::new(world, home, Settings::default())?;
        for round in 0..6 {
            let writer = (home + round) % p;
            let want = Settings { title: format!("by {writer}"), weights: vec![0.5; round * 1000] };
            if me == writer {
                number.set(round as u64 + 1)?;
                settings.set(want.clone())?;
            }
            let (shown, text) = (number.read_cache()?, settings.read_cache()?);
            if me == (writer + 1) % p {
                // The shown value stays, whatever is set meanwhile.
                number.set(77)?;
            }
            check::equal("number", *shown, round as u64 + 1)?;
            check::equal("title", &text.title[..], &want.title)?;
            check::equal("settings", &*text, &want)?;
            shown.finish()?;
            text.finish()?;
            world.barrier()?;
            check::equal("set beside it", number.get()?, 77)?;
            // The next round must not begin before all ranks have read.
            world.barrier()?;
        }
    }
    Ok(())
}

pub fn the_last_write_of_the_highest_rank_wins(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let mut number = GScalar::new(world, home, 5i64)?;
        for round in 0..4 {
            let mut scope = number.release_c()?;
            if me <= round {
                scope.set(-1)?;
                scope.set((100 * round + me) as i64)?;
            }
            if me % 2 == 0 {
                scope.finish()?;
            } else {
                drop(scope);
            }
            let want = (100 * round + round.min(p - 1)) as i64;
            check::equal("number", number.get()?, want)?;
        }
        let before = number.get()?;
        drop(number.release_c()?);
        check::equal("nobody has set it", number.get()?, before)?;
        let mut text = GScalar::new(world, home, String::new())?;
        text.release_c()?.set("x".repeat(me * 5000))?;
        check::equal("text", text.read_cache()?.len(), (p - 1) * 5000)?;
    }
    Ok(())
}

/// Concatenates texts: the order matters.
struct Join;

impl Op<String> for Join {
    fn apply(current: String, operand: String) -> String {
        current + &operand
    }
}

pub fn partial_values_are_merged_in_the_order_of_ranks(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let mut sum = GScalar::new(world, home, 1000u64)?;
        let mut total = sum.accumulate(Sum)?;
        (0..100).for_each(|i| total.update(i + me as u64));
        check::equal("partial", total.partial().copied(), Some(4950 + 100 * me as u64))?;
        total.finish()?;
        check::equal("sum", sum.get()?, 1000 + (0..p as u64).map(|r| 4950 + 100 * r).sum::<u64>())?;

        let mut highest = GScalar::new(world, home, -5i32)?;
        if me == p - 1 {
            highest.accumulate(Max)?.update(-3);
        } else {
            // Nothing to merge.
            drop(highest.accumulate(Max)?);
        }
        check::equal("highest", highest.get()?, -3)?;

        // Sums of floating-point numbers depend on the order, which is that of the ranks.
        let part = |rank: usize| 1.0 / (3.0 + rank as f64) + 1e10 * rank as f64;
        let mut float = GScalar::new(world, home, 0.1f64)?;
        for _ in 0..5 {
            float.accumulate(Sum)?.update(part(me));
        }
        let once = |value| (0..p).map(part).fold(value, |sum: f64, part| sum + part);
        let want = (0..5).fold(0.1, |value, _| once(value));
        check::equal("float", float.get()?.to_bits(), f64::to_bits(want))?;

        let mut text = GScalar::new(world, home, String::from(">"))?;
        let mut mine = text.accumulate(Join)?;
        mine.update(format!("{me}"));
        mine.update("+".into());
        drop(mine);
        let want = (0..p).map(|rank| format!("{rank}+")).collect::<String>();
        check::equal("text", text.get()?, format!(">{want}"))?;
    }
    Ok(())
}

pub fn scopes_follow_each_other_without_waiting(world: &World) -> Result<()> {
    let (p, me) = (world.size() as u64, world.rank().index() as u64);
    let mut sum = GScalar::new(world, world.size() - 1, 0u64)?;
    // More scopes than a rank may be ahead of the other ranks.
    for round in 0..30 {
        if me == 0 && round % 7 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
        sum.accumulate(Sum)?.update(round + me);
    }
    let want = (0..30).map(|round| p * round + p * (p - 1) / 2).sum::<u64>();
    check::equal("sum", *sum.read_cache()?, want)?;
    check::equal("sum", sum.get()?, want)
}
