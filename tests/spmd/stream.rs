//! The streaming `ReadCache`: every element arrives once with its final value, whichever ranks are late or write.

use aurora_core::{Element, GVector, MatrixDim, ReadCacheBlocks, Result, Route, World, distmemcpy};
use aurora_suite::{Body, End, check, mix, want};
use std::fmt::Debug;
use std::time::{Duration, Instant};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(every_element_comes_once_own_first),
        Body::of(rows_come_whole),
        Body::of(pieces_come_before_the_whole),
        Body::of(beside_ranks_that_load_it_whole),
        Body::of(what_late_ranks_wrote_is_in_it),
        Body::of(what_has_been_shown_stays),
        Body::of(computing_while_others_wait),
        Body::of(dropped_before_anything_has_come),
        Body::of(dropped_and_given_back),
        Body::of(dropped_with_its_vector),
        Body::of(one_inside_of_another),
        Body::of(beside_owner_computes_and_single_elements),
        Body::of(blocks_that_have_not_changed),
        Body::of(forgotten).ends(End::Fails("has not closed the streaming ReadCache")),
    ]
}

/// All elements in order of indices. It is an error if an element does not come once, or has a wrong value.
fn collect<T: Element + PartialEq + Debug>(
    stream: &ReadCacheBlocks<'_, T>,
    want: impl Fn(usize) -> T,
) -> Result<usize> {
    let (mut ranges, mut pieces) = (Vec::new(), 0);
    for block in stream.blocks() {
        let (range, elements) = block?;
        check::equal("elements of a piece", elements.len(), range.len())?;
        check::same(elements, range.start, &want)?;
        ranges.push(range);
        pieces += 1;
    }
    ranges.sort_by_key(|range| range.start);
    let mut next = 0;
    for range in ranges {
        check::equal("first of the next piece", range.start, next)?;
        next = range.end;
    }
    check::equal("elements together", next, stream.whole()?.len())?;
    Ok(pieces)
}

fn every_element_comes_once_own_first(world: &World) -> Result<()> {
    for len in [0, 1, 2, 3, 5, 17, 1000, 100_003] {
        let v = GVector::from_fn(world, len, want)?;
        let stream = v.read_cache_blocks()?;
        let own = v.local_range();
        if !own.is_empty() {
            let (first, elements) = stream.blocks().next().expect("something")?;
            check::equal("first piece", first, own)?;
            check::same(elements, v.local_range().start, want)?;
        }
        collect(&stream, want)?;
        check::same(stream.whole()?, 0, want)?;
        check::equal("what is here", stream.try_whole().map(<[u64]>::len), Some(len))?;
        assert!(stream.load_time().is_some());
        // Once more, from the received elements.
        collect(&stream, want)?;
        stream.finish()?;
    }
    Ok(())
}

fn rows_come_whole(world: &World) -> Result<()> {
    for (rows, cols) in [(7, 30), (0, 5), (61, 3001), (13, 40_000)] {
        let mut v = GVector::from_fn(world, MatrixDim::new(rows, cols), want)?;
        for round in 0..2 {
            let stream = v.read_cache_blocks()?;
            let mut seen = vec![0; rows];
            for block in stream.row_blocks() {
                let (range, elements) = block?;
                check::equal("elements", elements.len(), range.len() * cols)?;
                check::same(elements, range.start * cols, |i| want(i + round))?;
                seen[range].iter_mut().for_each(|seen| *seen += 1);
            }
            assert!(seen.iter().all(|seen| *seen == 1), "{seen:?}");
            drop(stream);
            let mut own = v.owner_computes_mut()?;
            own.indices().for_each(|i| own[i] = want(i + round + 1));
        }
    }
    Ok(())
}

/// Over a network, with large blocks. All blocks may arrive before a rank reads the first, but hardly in every round.
fn pieces_come_before_the_whole(world: &World) -> Result<()> {
    const MOST_ROUNDS: u64 = 60;
    let apart = world.about().routes == [Route::Udp] && world.about().node_ranks.len() == 1;
    let mut v = GVector::<u64>::new(world, 500_000 * world.size())?;
    let mut content = GVector::<u64>::new(world, world.size())?;
    let mut most = 0;
    for round in 1..=MOST_ROUNDS {
        v.owner_computes_mut()?.local_mut().fill(round);
        world.barrier()?;
        most = most.max(collect(&v.read_cache_blocks()?, |_| round)?);
        content.owner_computes_mut()?.local_mut().fill(u64::from(!apart || most > world.size()));
        if content.read_cache()?.iter().all(|content| *content == 1) {
            return Ok(());
        }
    }
    panic!("at most {most} pieces");
}

fn beside_ranks_that_load_it_whole(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for each in [1, 300, 40_000] {
        let mut v = GVector::<u64>::new(world, each * p)?;
        for round in 1..12u64 {
            v.owner_computes_mut()?.local_mut().fill(round);
            if mix(round * 64 + me as u64).is_multiple_of(2) {
                collect(&v.read_cache_blocks()?, |_| round)?;
            } else {
                check::same(v.read_cache()?.as_slice(), 0, |_| round)?;
            }
        }
    }
    Ok(())
}

/// One rank is late and first writes to all blocks: nothing is shown without its writes.
fn what_late_ranks_wrote_is_in_it(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for each in [2, 3000, 30_000] {
        let mut v = GVector::<u64>::new(world, each * p)?;
        for round in 1..40u64 {
            let writer = mix(round) as usize % p;
            let late = |i: usize| if i.is_multiple_of(each) { round } else { 0 };
            if me == writer {
                std::thread::sleep(Duration::from_micros(300));
                (0..p).try_for_each(|rank| v.put(rank * each, round))?;
            } else if mix(round + me as u64).is_multiple_of(2) {
                // This block is sent as it is; the other blocks have not changed so far.
                v.put(me * each + 1, 0)?;
            }
            if mix(round * 64 + me as u64).is_multiple_of(4) {
                check::same(v.read_cache()?.as_slice(), 0, late)?;
            } else {
                collect(&v.read_cache_blocks()?, late)?;
            }
        }
    }
    Ok(())
}

/// Pieces are read again after all other ranks have overwritten their blocks and loaded them again.
fn what_has_been_shown_stays(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for each in [1, 100, 40_000] {
        let mut v = GVector::<u64>::new(world, each * p)?;
        let mut versions = vec![0u64; p];
        for round in 1..20u64 {
            let before = versions.clone();
            let holds = |rank: usize| mix(round * 64 + rank as u64).is_multiple_of(3);
            (0..p).filter(|rank| !holds(*rank)).for_each(|rank| versions[rank] = round);
            if holds(me) {
                let held = v.read_cache_blocks()?;
                let pieces = held.blocks().collect::<Result<Vec<_>>>()?;
                collect(&v.read_cache_blocks()?, |i| versions[i / each])?;
                for (range, elements) in pieces {
                    check::same(elements, range.start, |i| before[i / each])?;
                }
                check::same(held.whole()?, 0, |i| before[i / each])?;
            } else {
                // In some rounds without having read all of it.
                let stream = v.read_cache_blocks()?;
                if round % 2 == 0 {
                    collect(&stream, |i| before[i / each])?;
                }
                drop(stream);
                v.owner_computes_mut()?.local_mut().fill(round);
                collect(&v.read_cache_blocks()?, |i| versions[i / each])?;
            }
        }
    }
    Ok(())
}

/// A rank that computes between two pieces delays no other rank: neither the ranks to which it sends, nor the ranks for
/// which it receives.
fn computing_while_others_wait(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 20_000 * p)?;
    let mut in_time = GVector::<u64>::new(world, p)?;
    let (busy, mut long, mut took) = (p / 2, Duration::from_millis(100), Duration::ZERO);
    // A busy machine may keep the other ranks from a processor for as long, but hardly in every round.
    for round in 1..=6 {
        v.owner_computes_mut()?.local_mut().fill(round);
        world.barrier()?;
        let begun = Instant::now();
        let stream = v.read_cache_blocks()?;
        let mut blocks = stream.blocks();
        if me == busy {
            blocks.next().transpose()?;
            std::thread::sleep(long);
        }
        let mut rest = 0;
        for block in blocks {
            rest += block?.0.len();
        }
        assert!(rest >= 20_000 * (p - 1));
        took = begun.elapsed();
        drop(stream);
        in_time.owner_computes_mut()?.local_mut().fill(u64::from(me == busy || took < long));
        if in_time.read_cache()?.iter().all(|in_time| *in_time == 1) {
            return Ok(());
        }
        long *= 2;
    }
    panic!("it took {took:?}");
}

fn dropped_before_anything_has_come(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for len in [1, 1000, 200_000 * p] {
        let mut v = GVector::<u64>::new(world, len)?;
        for round in 1..16u64 {
            let stream = v.read_cache_blocks()?;
            if mix(round + 5 * me as u64).is_multiple_of(3) {
                stream.blocks().next().transpose()?;
            }
            drop(stream);
            // At once, while blocks still arrive.
            match round % 3 {
                0 => v.owner_computes_mut()?.local_mut().fill(round),
                1 => {
                    let mut scope = v.release_c()?;
                    (me..len).step_by(p).try_for_each(|i| scope.put(i, round))?;
                }
                _ => {
                    let mine = v.local_range();
                    distmemcpy(v.range_mut(mine.clone()), &vec![round; mine.len()][..])?;
                }
            }
            let loaded = v.read_cache()?;
            check::same(loaded.as_slice(), 0, |_| round)?;
        }
    }
    Ok(())
}

fn dropped_and_given_back(world: &World) -> Result<()> {
    for len in [7, 100_000] {
        let mut v = GVector::from_fn(world, len, want)?;
        for round in 0..6 {
            let stream = v.read_cache_blocks()?;
            if world.rank() == round % 3 {
                stream.whole()?;
            }
            drop(stream);
            v.release_cache()?;
            collect(&v.read_cache_blocks()?, |i| want(i + round))?;
            let mut own = v.owner_computes_mut()?;
            own.indices().for_each(|i| own[i] = want(i + round + 1));
        }
    }
    Ok(())
}

fn dropped_with_its_vector(world: &World) -> Result<()> {
    for round in 0..20 {
        let v = GVector::from_fn(world, 100_000 + round, want)?;
        let stream = v.read_cache_blocks()?;
        if mix((world.rank().index() + 7 * round) as u64).is_multiple_of(3) {
            stream.blocks().next().transpose()?;
        }
        drop(stream);
    }
    Ok(())
}

fn one_inside_of_another(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, 60_001, want)?;
    let outer = v.read_cache_blocks()?;
    let first = outer.blocks().next().transpose()?;
    let inner = v.read_cache_blocks()?;
    let third = v.read_cache()?;
    collect(&inner, want)?;
    collect(&outer, want)?;
    if let Some((range, elements)) = first {
        check::same(elements, range.start, want)?;
    }
    drop(outer);
    check::same(third.as_slice(), 0, want)?;
    let fourth = v.read_cache_blocks()?;
    drop((inner, third));
    collect(&fourth, want)?;
    fourth.finish()
}

fn beside_owner_computes_and_single_elements(world: &World) -> Result<()> {
    let len = 30_000 * world.size();
    let v = GVector::from_fn(world, len, want)?;
    let stream = v.read_cache_blocks()?;
    let own = v.owner_computes()?;
    check::same(own.local(), own.indices().start, want)?;
    for i in (0..len).step_by(len / 7) {
        check::equal("element", v.at(i)?, want(i))?;
        check::equal("loaded element", aurora_core::GlobalRead::at(&stream, i)?, want(i))?;
    }
    collect(&stream, want).map(drop)
}

/// Unchanged blocks are not sent again; a changed block is sent.
fn blocks_that_have_not_changed(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 20_000 * p)?;
    let mut last = vec![0u64; p];
    for round in 1..15 {
        for (rank, last) in last.iter_mut().enumerate() {
            if mix(round * 64 + rank as u64).is_multiple_of(2) {
                *last = round;
                if rank == me {
                    v.owner_computes_mut()?.local_mut().fill(round);
                }
            }
        }
        let stream = v.read_cache_blocks()?;
        collect(&stream, |i| last[i / 20_000])?;
        if round % 4 == 0 {
            // The next load finds this load in use and takes other memory.
            collect(&v.read_cache_blocks()?, |i| last[i / 20_000])?;
        }
    }
    Ok(())
}

fn forgotten(world: &World) -> Result<()> {
    let v = GVector::from_fn(world, 9_999, want)?;
    let stream = v.read_cache_blocks()?;
    stream.blocks().next().transpose()?;
    std::mem::forget(stream);
    collect(&v.read_cache_blocks()?, want).map(drop)
}
