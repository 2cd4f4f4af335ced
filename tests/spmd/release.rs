//! `ReleaseC`: buffered writes, by all ranks together and by one rank alone.

use aurora_core::ops::{Max, Min, Or, Sum};
use aurora_core::{GScalar, GVector, Op, Result, World};
use aurora_suite::memory;
use aurora_suite::{Body, Random, check, want};
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(puts_of_all_to_all),
        Body::of(slices_across_borders),
        Body::of(puts_and_updates_in_their_order),
        Body::of(minimum_maximum_and_bits),
        Body::of(an_operation_of_ones_own),
        Body::of(several_scopes_without_a_check),
        Body::of(more_than_the_buffers_hold),
        Body::of(large_then_empty_scopes_then_a_cache),
        Body::of(some_ranks_write_nothing),
        Body::of(no_elements),
        Body::of(finish_waits_for_all),
        Body::of(one_element_by_all),
        Body::of(memory_stays_bounded),
        Body::of(random_updates_with_a_rank_that_comes_late),
        Body::of(more_scopes_than_shared_buffers),
        Body::of(many_elements_in_many_pieces),
        Body::of(alone),
        Body::of(alone_with_an_operation),
        Body::of(alone_by_all_at_once),
    ]
}

fn puts_of_all_to_all(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for len in [1, 3, 40, 7001] {
        let mut v = GVector::<u64>::new(world, len)?;
        let mut writes = v.release_c()?;
        for i in (0..len).filter(|i| i % p == me) {
            writes.put(i, want(i))?;
        }
        writes.finish()?;
        // No barrier: an access after the scope sees every rank's writes of the scope.
        check::whole(&v, want)?;
    }
    Ok(())
}

fn slices_across_borders(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 50_000;
    let mut v = GVector::<u64>::new(world, len)?;
    let values: Vec<_> = (0..len).map(want).collect();
    let mut writes = v.release_c()?;
    let share = me * len / p..(me + 1) * len / p;
    // Slices that begin inside a block, slices across borders, and one slice that is larger than a buffer.
    let mut random = Random::new(me as u64);
    let mut at = share.start;
    while at < share.end {
        let end = (at + random.below(12_000)).min(share.end);
        writes.put_slice(at, &values[at..end])?;
        at = end;
    }
    writes.put_slice(len, &[])?;
    drop(writes);
    check::whole(&v, want)?;
    world.barrier()?;
    let mut writes = v.release_c()?;
    if world.is_root() {
        let more: Vec<_> = values.iter().map(|x| !x).collect();
        writes.put_slice(0, &more)?;
    }
    drop(writes);
    check::whole(&v, |i| !want(i))
}

fn puts_and_updates_in_their_order(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 6 * p)?;
    let mut writes = v.release_c_with(Sum)?;
    for i in (0..6 * p).filter(|i| i % p == me) {
        writes.update(i, 1_000_000)?;
        writes.put(i, 5)?;
        writes.update(i, 10)?;
        writes.update(i, 20)?;
        writes.put_slice(i, &[7])?;
        writes.update(i, i as u64)?;
    }
    writes.finish()?;
    check::whole(&v, |i| 7 + i as u64)
}

fn minimum_maximum_and_bits(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<i32>::from_fn(world, 50, |i| i as i32)?;
    let each =
        |step: &mut dyn FnMut(usize, i32) -> Result<()>| (0..50).try_for_each(|i| step(i, me as i32 * 10 - i as i32));
    let top = (p as i32 - 1) * 10;
    let mut scope = v.release_c_with(Max)?;
    each(&mut |i, x| scope.update(i, x))?;
    drop(scope);
    check::whole(&v, |i| (i as i32).max(top - i as i32))?;
    world.barrier()?;
    let mut scope = v.release_c_with(Min)?;
    each(&mut |i, x| scope.update(i, x))?;
    drop(scope);
    check::whole(&v, |i| -(i as i32))?;
    world.barrier()?;
    v.fill(1 << 20)?;
    let mut scope = v.release_c_with(Or)?;
    (0..50).try_for_each(|i| scope.update(i, 1 << me))?;
    drop(scope);
    check::whole(&v, |_| 1 << 20 | ((1 << p) - 1))
}

/// The sum and the number of the operands, in one element.
struct Tally;

impl Op<[u64; 2]> for Tally {
    fn apply([sum, count]: [u64; 2], [more, times]: [u64; 2]) -> [u64; 2] {
        [sum + more, count + times]
    }
}

fn an_operation_of_ones_own(world: &World) -> Result<()> {
    let p = world.size() as u64;
    let mut v = GVector::<[u64; 2]>::new(world, 10)?;
    let mut scope = v.release_c_with(Tally)?;
    for i in 0..1000 {
        scope.update(i % 10, [i as u64, 1])?;
    }
    scope.finish()?;
    let sum = |i: usize| (0..1000).filter(|k| k % 10 == i).sum::<usize>() as u64;
    check::whole(&v, |i| [p * sum(i), p * 100])
}

fn several_scopes_without_a_check(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 3 * p + 1)?;
    let len = v.len();
    for round in 0..30 {
        let mut scope = v.release_c_with(Sum)?;
        for i in 0..len {
            scope.update(i, (round + me) as u64)?;
        }
        if round % 11 == me {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let rounds: usize = (0..30).sum();
    let ranks: usize = (0..p).sum();
    check::whole(&v, |_| (p * rounds + 30 * ranks) as u64)
}

fn more_than_the_buffers_hold(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 60_000;
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 0..2 {
        let mut scope = v.release_c()?;
        // Backwards, so that no two puts share a run.
        for i in (0..len).rev().filter(|i| i % p == me) {
            scope.put(i, want(i + round))?;
        }
        scope.finish()?;
        check::whole(&v, |i| want(i + round))?;
        world.barrier()?;
    }
    Ok(())
}

/// An owner with many incoming writes completes the scopes late, while another owner has completed them and sends its
/// block.
fn large_then_empty_scopes_then_a_cache(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 25_000 * p)?;
    let last = v.range_of(p - 1);
    for round in 0..20 {
        let mut scope = v.release_c()?;
        if me == 0 {
            let values: Vec<_> = last.clone().map(|i| want(i + round)).collect();
            scope.put_slice(last.start, &values)?;
        }
        drop(scope);
        for _ in 0..4 {
            drop(v.release_c()?);
        }
        let all = v.read_cache()?;
        check::same(all.as_slice(), 0, |i| if last.contains(&i) { want(i + round) } else { 0 })?;
    }
    Ok(())
}

fn some_ranks_write_nothing(world: &World) -> Result<()> {
    let p = world.size();
    let mut v = GVector::<u64>::new(world, 2 * p)?;
    for writer in 0..p {
        let mut scope = v.release_c()?;
        if world.rank() == writer {
            for i in 0..2 * p {
                scope.put(i, want(i + writer))?;
            }
        }
        drop(scope);
        check::equal("element", v.at(2 * p - 1)?, want(2 * p - 1 + writer))?;
        world.barrier()?;
    }
    check::whole(&v, |i| want(i + p - 1))
}

fn no_elements(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 0)?;
    for _ in 0..3 {
        let mut scope = v.release_c()?;
        scope.put_slice(0, &[])?;
        scope.finish()?;
        v.release_alone()?.finish()?;
    }
    check::whole(&v, |_| 0)
}

fn finish_waits_for_all(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, p)?;
    let ended = GScalar::new(world, 0, 0u64)?;
    for slow in 0..p {
        let mut scope = v.release_c()?;
        if me == slow {
            std::thread::sleep(Duration::from_millis(20));
        }
        scope.put(me, slow as u64)?;
        ended.fetch_add(1)?;
        scope.finish()?;
        assert!(ended.get()? >= ((slow + 1) * p) as u64, "a rank has not ended yet");
        check::whole(&v, |_| slow as u64)?;
        world.barrier()?;
    }
    Ok(())
}

fn one_element_by_all(world: &World) -> Result<()> {
    let p = world.size() as u64;
    let mut v = GVector::<u64>::new(world, 3)?;
    for round in 1..=2 {
        let mut scope = v.release_c_with(Sum)?;
        for _ in 0..100_000 {
            scope.update(1, 1)?;
        }
        drop(scope);
        check::equal("sum", v.at(1)?, round * 100_000 * p)?;
        world.barrier()?;
    }
    check::whole(&v, |i| if i == 1 { 200_000 * p } else { 0 })
}

/// The memory for buffered, sent and unapplied writes is limited, however fast the writers are.
fn memory_stays_bounded(world: &World) -> Result<()> {
    const UPDATES: u64 = 400_000;
    const LIMIT: usize = 6 << 20;
    let p = world.size() as u64;
    let mut v = GVector::<u64>::new(world, 1)?;
    world.barrier()?;
    memory::reset();
    let before = memory::peak();
    let mut scope = v.release_c_with(Sum)?;
    if world.rank().index() + 1 == world.size() {
        // A late rank: neither the writes to it nor the writes that wait for it may accumulate.
        std::thread::sleep(Duration::from_millis(30));
    }
    for i in 0..UPDATES {
        scope.update(0, i)?;
    }
    drop(scope);
    check::equal("sum", v.at(0)?, p * UPDATES * (UPDATES - 1) / 2)?;
    let growth = memory::peak().saturating_sub(before);
    assert!(growth < LIMIT, "grew by {} KiB", growth / 1024);
    Ok(())
}

/// The updates of a rank. Every rank can compute them.
fn updates(rank: usize, round: usize, len: usize, count: usize) -> impl Iterator<Item = (usize, u64)> {
    let mut random = Random::new((1000 * round + rank) as u64);
    (0..count).map(move |_| (random.below(len), random.below(1000) as u64))
}

/// Writes to a rank that has not opened its scope yet wait there, and their memory is given back.
fn random_updates_with_a_rank_that_comes_late(world: &World) -> Result<()> {
    const UPDATES: usize = 60_000;
    let (p, me) = (world.size(), world.rank().index());
    let len = 1000 * p + 1;
    let mut v = GVector::<u64>::new(world, len)?;
    let mut expected = vec![0; len];
    for round in 0..p + 1 {
        if me == round {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut scope = v.release_c_with(Sum)?;
        for (index, operand) in updates(me, round, len, UPDATES) {
            scope.update(index, operand)?;
        }
        drop(scope);
        for rank in 0..p {
            updates(rank, round, len, UPDATES).for_each(|(index, operand)| expected[index] += operand);
        }
        check::same(v.read_cache()?.as_slice(), 0, |i| expected[i])?;
    }
    Ok(())
}

/// All buffers are filled at the same time. When there is no more shared memory, writes use messages.
fn more_scopes_than_shared_buffers(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 3 * p;
    let count = if p == 1 { 3 } else { 200 / (p - 1) };
    let mut vectors = (0..count).map(|_| GVector::<u64>::new(world, len)).collect::<Result<Vec<_>>>()?;
    for round in 0..2 {
        let mut scopes = vectors.iter_mut().map(|v| v.release_c()).collect::<Result<Vec<_>>>()?;
        for i in (0..len).filter(|i| (i + round) % p == me) {
            for (number, scope) in scopes.iter_mut().enumerate() {
                scope.put(i, want(i * number + round))?;
            }
        }
        scopes.into_iter().try_for_each(|scope| scope.finish())?;
        for (number, v) in vectors.iter().enumerate() {
            check::whole(v, |i| want(i * number + round))?;
        }
        world.barrier()?;
    }
    Ok(())
}

/// Of a length that is sent by messages on every route. The last write to an element counts.
fn many_elements_in_many_pieces(world: &World) -> Result<()> {
    const LEN: usize = 5003;
    let me = world.rank().index();
    let mut v = GVector::<[u16; 3]>::new(world, LEN)?;
    let mut expected = vec![[0; 3]; LEN];
    for writer in 0..world.size() {
        let writes: Vec<_> =
            updates(writer, 7, LEN, 40_000).map(|(index, value)| (index, [value as u16, index as u16, 1])).collect();
        if writer == me {
            v.put_many(&writes)?;
        }
        writes.into_iter().for_each(|(index, value)| expected[index] = value);
        world.barrier()?;
        let asked: Vec<usize> = updates(me, writer, LEN, 70_000).map(|(index, _)| index).collect();
        for (index, found) in asked.iter().zip(v.at_many(&asked)?) {
            check::equal("element", found, expected[*index])?;
        }
        world.barrier()?;
    }
    Ok(())
}

/// The paper's Figure 1: one rank at a time.
fn alone(world: &World) -> Result<()> {
    let p = world.size();
    let mut v = GVector::<u64>::new(world, 30_000)?;
    for writer in 0..p {
        if world.rank() == writer {
            let mut scope = v.release_alone()?;
            for i in (0..30_000).rev() {
                scope.put(i, want(i + writer))?;
            }
            scope.put_slice(10, &[1, 2, 3])?;
            scope.finish()?;
            // Acknowledged: the write is visible at once, to every rank.
            check::equal("what I wrote", v.at(29_999)?, want(29_999 + writer))?;
        }
        world.barrier()?;
        check::whole(&v, |i| match i {
            10..13 => i as u64 - 9,
            _ => want(i + writer),
        })?;
        world.barrier()?;
    }
    Ok(())
}

fn alone_with_an_operation(world: &World) -> Result<()> {
    let p = world.size() as u64;
    let mut v = GVector::<u64>::new(world, 100)?;
    {
        let mut scope = v.release_alone_with(Sum)?;
        for i in 0..1000 {
            scope.update(i % 100, 1)?;
        }
    }
    world.barrier()?;
    check::whole(&v, |_| 10 * p)?;
    world.barrier()?;
    if world.is_root() {
        let mut scope = v.release_alone_with(Max)?;
        scope.put(3, 0)?;
        scope.update(3, 4)?;
        scope.update(3, 2)?;
        drop(scope);
        check::equal("maximum", v.at(3)?, 4)?;
    }
    Ok(())
}

fn alone_by_all_at_once(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 20_000)?;
    for _ in 0..3 {
        let mut scope = v.release_alone()?;
        for i in (0..20_000).filter(|i| i % p == me) {
            scope.put(i, want(i))?;
        }
    }
    world.barrier()?;
    check::whole(&v, want)
}
