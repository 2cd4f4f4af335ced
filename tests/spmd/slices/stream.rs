//! A part while the whole is still arriving: a streamed load continues after its guard has been dropped.

use aurora_core::{GVector, Result, World};
use aurora_suite::{Random, check, mix};
use std::ops::Range;
use std::time::Duration;

/// The value of element `i` in a round.
fn want(seed: u64, round: u64, i: usize) -> u64 {
    mix(seed << 40 | round << 32 | i as u64)
}

/// Several rounds for every seed, on a vector whose blocks arrive in several pieces or in one.
fn rounds(world: &World, body: impl Fn(&mut Draws<'_>, &mut GVector<u64>, (u64, u64)) -> Result<()>) -> Result<()> {
    for seed in 0..6 {
        let mut shared = Random::new(seed);
        let len = [1, world.size() + 1, 3000, 90_001][shared.below(4)];
        let speed = Random::new(seed * 100 + world.rank().index() as u64);
        let mut v = GVector::from_fn(world, len, |i| want(seed, 0, i))?;
        let mut draws = Draws { world, shared, speed };
        for round in 0..6 {
            body(&mut draws, &mut v, (seed, round))
                .map_err(|error| check::amid(format!("seed {seed}, round {round}"), error))?;
        }
    }
    Ok(())
}

struct Draws<'w> {
    world: &'w World,
    /// A sequence that is the same on all ranks.
    shared: Random,
    /// This rank's own sequence.
    speed: Random,
}

impl Draws<'_> {
    fn range(&mut self, len: usize) -> Range<usize> {
        let (one, other) = (self.shared.below(len + 1), self.shared.below(len + 1));
        one.min(other)..one.max(other)
    }

    fn dawdle(&mut self) {
        if self.speed.below(3) == 0 {
            std::thread::sleep(Duration::from_micros(self.speed.below(2000) as u64));
        }
    }

    /// Begins to load the whole and drops the guard after the first pieces, or before.
    fn glance(&mut self, v: &GVector<u64>, want: impl Fn(usize) -> u64) -> Result<()> {
        self.dawdle();
        let stream = v.read_cache_blocks()?;
        for block in stream.blocks().take(self.speed.below(4)) {
            let (range, elements) = block?;
            check::same(elements, range.start, &want)?;
        }
        Ok(())
    }
}

pub fn a_part_is_loaded_while_a_stream_comes_in(world: &World) -> Result<()> {
    rounds(world, |draws, v, (seed, round)| {
        let now = |i| want(seed, round, i);
        draws.glance(v, now)?;
        let part = draws.range(v.len());
        check::same(v.slice(part.clone()).read_cache()?.as_slice(), part.start, now)?;
        // Again the whole, which waits for the rest of the stream.
        check::same(v.read_cache()?.as_slice(), 0, now)?;
        let mut own = v.owner_computes_mut()?;
        own.indices().for_each(|i| own[i] = want(seed, round + 1, i));
        Ok(())
    })
}

/// Each owner writes as soon as it has dropped the stream, and meanwhile reads its own part of the rest.
pub fn a_part_is_written_while_a_stream_comes_in(world: &World) -> Result<()> {
    rounds(world, |draws, v, (seed, round)| {
        let (now, next) = (|i| want(seed, round, i), |i| want(seed, round + 1, i));
        draws.glance(v, now)?;
        let at = draws.range(v.len()).end;
        let (mut left, mut right) = v.split_at_mut(at);
        {
            let mut written = left.slice_mut(..).owner_computes_mut()?;
            check::same(written.local(), written.indices().start, now)?;
            written.indices().for_each(|i| written[i] = next(i));
            draws.dawdle();
            let beside = right.slice(..).owner_computes()?;
            check::same(beside.local(), beside.indices().start, now)?;
            check::same(written.local(), written.indices().start, next)?;
        }
        let mut rest = right.slice_mut(..).owner_computes_mut()?;
        rest.indices().for_each(|i| rest[i] = next(i));
        drop(rest);
        draws.world.barrier()?;
        check::same(v.read_cache()?.as_slice(), 0, next)
    })
}

/// The stream of a late or slow rank has the values of the time when all ranks had opened it, even if other ranks have
/// written since.
pub fn late_ranks_see_nothing_of_a_part_that_is_written(world: &World) -> Result<()> {
    let me = world.rank().index();
    rounds(world, |draws, v, (seed, round)| {
        let (now, next) = (|i| want(seed, round, i), |i| want(seed, round + 1, i));
        let (late, part) = (draws.shared.below(draws.world.size()), draws.range(v.len()));
        if me == late {
            std::thread::sleep(Duration::from_millis(1));
            let stream = v.read_cache_blocks()?;
            for block in stream.blocks() {
                let (range, elements) = block?;
                std::thread::sleep(Duration::from_micros(200));
                check::same(elements, range.start, now)?;
            }
            check::same(stream.whole()?, 0, now)?;
        } else {
            draws.glance(v, now)?;
            let mut own = v.slice_mut(part.clone()).owner_computes_mut()?;
            check::same(own.local(), own.indices().start, now)?;
            own.indices().for_each(|i| own[i] = next(i));
        }
        draws.world.barrier()?;
        let owner_is_late = v.range_of(late);
        let written = |i: usize| part.contains(&i) && !owner_is_late.contains(&i);
        check::same(v.slice(part.clone()).read_cache()?.as_slice(), part.start, |i| {
            if written(i) { next(i) } else { now(i) }
        })?;
        let mut own = v.owner_computes_mut()?;
        own.indices().for_each(|i| own[i] = next(i));
        Ok(())
    })
}
