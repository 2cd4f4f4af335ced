//! `BatchedReads`: random reads in batches.

use aurora_core::{BatchedReads, Element, Error, GVector, GlobalRead, MatrixDim, Result, World};
use aurora_suite::{Body, End, Random, check, want};
use std::fmt::Debug;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(every_way_of_asking),
        Body::of(elements_of_every_size),
        Body::of(few_elements_and_none),
        Body::of(all_of_one_owner_and_back_and_forth),
        Body::of(a_queue_that_feeds_itself),
        Body::of(beside_other_scopes_of_the_vector),
        Body::of(while_everyone_writes_its_own),
        Body::of(what_is_written_in_a_scope_is_seen_behind_it),
        Body::of(a_block_that_is_lent_is_waited_for),
        Body::of(iterators_that_are_dropped_early),
        Body::of(indices_are_taken_ahead_but_not_without_end),
        Body::of(an_index_outside_comes_in_its_turn),
        Body::of(messages_are_batches),
        Body::of(nothing_is_sent_by_a_scope_that_reads_nothing),
        Body::of(who_is_asked_ahead_is_not_waited_for).from_ranks(3),
        Body::of(a_flipped_bit_is_seen).ends(End::Fails("value 17 is")),
    ]
}

fn random(world: &World, salt: u64) -> Random {
    Random::new(salt * 1000 + world.rank().index() as u64)
}

/// Random elements. Large counts exceed the requests that may be in flight.
fn picked(random: &mut Random, count: usize, len: usize) -> Vec<usize> {
    (0..count).map(|_| random.below(len)).collect()
}

/// Reads the same elements in all ways.
fn check_all<T: Element + PartialEq + Debug>(
    gather: &BatchedReads<'_, T>,
    indices: &[usize],
    want: impl Fn(usize) -> T,
) -> Result<()> {
    let expected = |k: usize| want(indices[k]);
    check::same(&gather.read(indices)?, 0, expected)?;
    let mut values = vec![T::zeroed(); indices.len()];
    gather.read_into(indices, &mut values)?;
    check::same(&values, 0, expected)?;
    let values = gather.iter(indices.iter().copied()).collect::<Result<Vec<T>>>()?;
    check::equal("number of values", values.len(), indices.len())?;
    check::same(&values, 0, expected)?;
    let mut count = 0;
    for pair in gather.pairs(indices.iter().copied().enumerate()) {
        let (k, value) = pair?;
        check::equal("key", k, count)?;
        check::equal("value", value, expected(k))?;
        count += 1;
    }
    check::equal("number of pairs", count, indices.len())?;
    let mut queue = gather.queue();
    indices.iter().try_for_each(|index| queue.push(*index))?;
    check::equal("queued", queue.len(), indices.len())?;
    for k in 0..indices.len() {
        check::equal("popped", queue.pop()?, Some(expected(k)))?;
    }
    check::equal("one more", queue.pop()?, None)
}

fn every_way_of_asking(world: &World) -> Result<()> {
    let mut random = random(world, 1);
    for (len, count) in [(1000, 5000), (100_003, 200_000), (7 * world.size() + 3, 40_000)] {
        let v = GVector::from_fn(world, len, want)?;
        let gather = v.batched_reads()?;
        check_all(&gather, &picked(&mut random, count, len), want)?;
        check::equal("one by one", gather.at(len - 1)?, want(len - 1))?;
        gather.finish()?;
    }
    Ok(())
}

fn elements_of_every_size(world: &World) -> Result<()> {
    fn check_one<T: Element + PartialEq + Debug>(world: &World, value: fn(usize) -> T) -> Result<()> {
        let mut random = random(world, size_of::<T>() as u64);
        let v = GVector::<T>::from_fn(world, MatrixDim::new(31, 7), value)?;
        let count = (1 << 20) / size_of::<T>();
        check_all(&v.batched_reads()?, &picked(&mut random, count.min(3000), v.len()), value)
    }
    check_one(world, |i| i as u8)?;
    check_one(world, |i| [i as u8; 3])?;
    check_one(world, |i| i as f32)?;
    check_one(world, |i| i as u128)?;
    check_one(world, |i| [i; 40])?;
    // Larger than a request.
    check_one(world, |i| [i; 9000])
}

fn few_elements_and_none(world: &World) -> Result<()> {
    for len in [1, 2, world.size(), world.size() + 1] {
        let v = GVector::from_fn(world, len, want)?;
        let gather = v.batched_reads()?;
        check_all(&gather, &[], want)?;
        check_all(&gather, &[len - 1], want)?;
        check_all(&gather, &vec![0; 100], want)?;
    }
    let empty = GVector::<u64>::new(world, 0)?;
    let gather = empty.batched_reads()?;
    check_all(&gather, &[], want)?;
    assert!(matches!(gather.read(&[0]), Err(Error::IndexOutside { index: 0, len: 0, .. })));
    Ok(())
}

/// Orders of elements that are the worst for looking ahead.
fn all_of_one_owner_and_back_and_forth(world: &World) -> Result<()> {
    let p = world.size();
    let len = 50_000 * p;
    let v = GVector::from_fn(world, len, want)?;
    let gather = v.batched_reads()?;
    let forwards: Vec<usize> = (0..len).collect();
    check_all(&gather, &forwards, want)?;
    // Elements of one owner, with a single element of another owner in between.
    let rare: Vec<usize> =
        (0..120_000).map(|k| if k % 30_000 == 29_999 { k / 30_000 * 50_000 % len } else { k % 50_000 }).collect();
    check_all(&gather, &rare, want)?;
    let zigzag: Vec<usize> = (0..30_000).map(|k| if k % 2 == 0 { k } else { len - k }).collect();
    check_all(&gather, &zigzag, want)?;
    let placed = GVector::on(world, p - 1, 1000)?;
    check_all(&placed.batched_reads()?, &picked(&mut random(world, 5), 50_000, 1000), |_| 0u16)
}

/// A walk through the elements: each element contains the index of the next.
fn a_queue_that_feeds_itself(world: &World) -> Result<()> {
    let len = 1009;
    let next = |i: usize| (i * 7 + 3) % len;
    let v = GVector::<u32>::from_fn(world, len, |i| next(i) as u32)?;
    let gather = v.batched_reads()?;
    let mut queue = gather.keyed_queue();
    // Several walks at once, identified by their first element.
    for start in 0..20 {
        queue.push_with((start, 0), start)?;
    }
    let mut ends = vec![0; 20];
    while let Some(((start, steps), value)) = queue.pop_with()? {
        match steps {
            50 => ends[start] = value,
            _ => queue.push_with((start, steps + 1), value as usize)?,
        }
    }
    check::same(&ends, 0, |start| (0..=50).fold(start, |i, _| next(i)) as u32)
}

fn beside_other_scopes_of_the_vector(world: &World) -> Result<()> {
    let len = 10_001;
    let v = GVector::from_fn(world, len, want)?;
    let indices = picked(&mut random(world, 7), 30_000, len);
    let gather = v.batched_reads()?;
    let mut ahead = gather.iter(indices.iter().copied());
    let mut k = 0;
    let mut step = |count: usize| -> Result<()> {
        for value in ahead.by_ref().take(count) {
            check::equal("value", value?, want(indices[k]))?;
            k += 1;
        }
        Ok(())
    };
    step(10)?;
    {
        let cache = v.read_cache()?;
        step(5000)?;
        let inner = v.batched_reads()?;
        check::same(&inner.read(&indices[..100])?, 0, |k| cache[indices[k]])?;
    }
    let own = v.owner_computes()?;
    check::same(own.local(), own.indices().start, want)?;
    step(5000)?;
    drop(own);
    world.barrier()?;
    step(usize::MAX)?;
    check::equal("number of values", k, indices.len())
}

/// Values that are read during writes have been written by some round.
fn while_everyone_writes_its_own(world: &World) -> Result<()> {
    let len = 3000 * world.size();
    let mut values = GVector::<u64>::new(world, len)?;
    let mut random = random(world, 9);
    for round in 1..=6 {
        let mut own = values.owner_computes_mut()?;
        own.local_mut().fill(round);
        own.finish()?;
        let gather = values.batched_reads()?;
        for value in gather.iter(picked(&mut random, 20_000, len)) {
            let value = value?;
            assert!(value <= 6, "{value}");
        }
        world.barrier()?;
        for value in gather.iter(picked(&mut random, 1000, len)) {
            let value = value?;
            check::equal("value", value, round)?;
        }
        drop(gather);
        world.barrier()?;
    }
    Ok(())
}

fn what_is_written_in_a_scope_is_seen_behind_it(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 501 * p;
    let mut v = GVector::<u64>::new(world, len)?;
    let mut random = random(world, 11);
    for round in 1..10_u64 {
        let mut scope = v.release_c()?;
        (me..len).step_by(p).try_for_each(|i| scope.put(i, round * i as u64))?;
        if me == round as usize % p {
            std::thread::sleep(Duration::from_micros(300));
        }
        drop(scope);
        let indices = picked(&mut random, 2000, len);
        check_all(&v.batched_reads()?, &indices, |i| round * i as u64)?;
        world.barrier()?;
    }
    Ok(())
}

fn a_block_that_is_lent_is_waited_for(world: &World) -> Result<()> {
    let len = 100 * world.size();
    let mut v = GVector::<u64>::new(world, len)?;
    for round in 1..6 {
        let lends = world.rank() == round % world.size();
        if lends {
            let mut own = v.owner_computes_mut()?;
            own.local_mut().fill(99);
            world.barrier()?;
            std::thread::sleep(Duration::from_millis(5));
            own.local_mut().fill(round as u64);
            own.finish()?;
        } else {
            world.barrier()?;
        }
        let block = v.range_of(round % world.size());
        let gather = v.batched_reads()?;
        check_all(&gather, &block.rev().collect::<Vec<_>>(), |_| round as u64)?;
        drop(gather);
        world.barrier()?;
    }
    Ok(())
}

fn iterators_that_are_dropped_early(world: &World) -> Result<()> {
    let len = 20_000;
    let mut v = GVector::from_fn(world, len, want)?;
    let mut random = random(world, 13);
    for taken in [0, 1, 100, 30_000] {
        let gather = v.batched_reads()?;
        let endless = std::iter::repeat_with(|| random.below(len));
        let values = gather.iter(endless).take(taken).collect::<Result<Vec<_>>>()?;
        check::equal("number of values", values.len(), taken)?;
        let mut queue = gather.queue();
        (0..taken).try_for_each(|i| queue.push(i % len))?;
        queue.send()?;
        drop(queue);
        drop(gather);
        // Answers that arrive later disturb nothing.
        v.put(world.rank().index(), want(world.rank().index()))?;
        check::same(v.read_cache()?.as_slice(), 0, want)?;
    }
    Ok(())
}

fn indices_are_taken_ahead_but_not_without_end(world: &World) -> Result<()> {
    let len = 3000;
    let v = GVector::from_fn(world, len, want)?;
    let gather = v.batched_reads()?;
    let (mut random, taken) = (random(world, 15), std::cell::Cell::new(0));
    let endless = std::iter::repeat_with(|| {
        taken.set(taken.get() + 1);
        random.below(len)
    });
    // 16 MiB, with 16 bytes for each element of 8 bytes.
    let most = (16 << 20) / 16;
    let mut values = gather.iter(endless);
    for k in 1..100_000 {
        assert!(values.next().is_some_and(|value| value.is_ok()));
        // At least 512 indices are ahead, even while answers are read.
        let ahead = taken.get() - k;
        assert!((512..=most).contains(&ahead), "{ahead} ahead of {k}");
    }
    Ok(())
}

fn an_index_outside_comes_in_its_turn(world: &World) -> Result<()> {
    let len = 1000;
    let v = GVector::from_fn(world, len, want)?;
    let gather = v.batched_reads()?;
    for at in [0, 1, 700, 5000] {
        let indices = (0..at).map(|k| k % len).chain([len + at, 3, len]);
        let mut values = gather.iter(indices.clone());
        for k in 0..at {
            check::equal("value", values.next().transpose()?, Some(want(k % len)))?;
        }
        let error = values.next();
        assert!(
            matches!(error, Some(Err(Error::IndexOutside { index, position: Some(position), .. }))
                if index == len + at && position == at),
            "{error:?}"
        );
        assert!(values.next().is_none() && values.next().is_none());
        let listed = gather.read(&indices.collect::<Vec<_>>());
        assert!(matches!(listed, Err(Error::IndexOutside { position: Some(position), .. }) if position == at));
        let mut queue = gather.queue();
        (0..at).try_for_each(|k| queue.push(k % len))?;
        let refused = queue.push(len);
        assert!(matches!(refused, Err(Error::IndexOutside { position: Some(position), .. }) if position == at));
        // The refused index leaves no trace in the queue.
        queue.push(5)?;
        for k in (0..at).map(|k| k % len).chain([5]) {
            check::equal("value", queue.pop()?, Some(want(k)))?;
        }
    }
    let differ = gather.read_into(&[1, 2], &mut [0; 3]);
    assert!(matches!(differ, Err(Error::LengthsDiffer { from: 2, into: 3, .. })), "{differ:?}");
    Ok(())
}

/// The number of messages of BatchedReads so far.
fn sent(world: &World) -> u64 {
    world.usage().iter().filter(|line| line.action == "BatchedReads").map(|line| line.usage.messages).sum()
}

fn messages_are_batches(world: &World) -> Result<()> {
    // The number of elements of 8 bytes in a request.
    const BATCH: usize = 8192;
    let (p, count) = (world.size(), 100_000);
    let v = GVector::from_fn(world, 10_007 * p, want)?;
    // Before the barrier, a node-local rank that is not ready yet would be asked by message.
    world.barrier()?;
    let indices = picked(&mut random(world, 17), count, v.len());
    let here = |rank: usize| world.about().node_ranks.iter().any(|peer| *peer == rank);
    let mut elements = vec![0_usize; p];
    indices.iter().for_each(|index| elements[v.owner(*index).index()] += 1);
    let asked = || elements.iter().enumerate().filter(|(owner, _)| !here(*owner));
    let least: usize = asked().map(|(_, count)| count.div_ceil(BATCH)).sum();
    let gather = v.batched_reads()?;
    let before = sent(world);
    check::same(&gather.read(&indices)?, 0, |k| want(indices[k]))?;
    let after = sent(world);
    check::equal("messages of a list", after - before, least as u64)?;
    let before = after;
    for (k, value) in gather.iter(indices.iter().copied()).enumerate() {
        check::equal("value", value?, want(indices[k]))?;
    }
    let messages = sent(world) - before;
    // The last request of each owner, and requests that were sent early because they had waited long.
    let most = 2 * least + asked().count();
    assert!((least as u64..=most as u64).contains(&messages), "{messages} messages instead of {least}");
    Ok(())
}

fn nothing_is_sent_by_a_scope_that_reads_nothing(world: &World) -> Result<()> {
    let v = GVector::<u64>::new(world, 1000)?;
    world.barrier()?;
    let before = world.usage();
    for _ in 0..10 {
        let gather = v.batched_reads()?;
        drop(gather.iter([3, 999]));
        drop(gather.queue());
        gather.finish()?;
    }
    check::equal("what has been sent", world.usage(), before)
}

/// Rank 1 holds back the answer to a request that rank 0 sent ahead, and waits for rank 0. Rank 2 is only late. So
/// there is no deadlock.
fn who_is_asked_ahead_is_not_waited_for(world: &World) -> Result<()> {
    let p = world.size();
    let mut held = GVector::<u64>::new(world, p)?;
    let mut late = GVector::<u64>::new(world, p)?;
    match world.rank().index() {
        0 => {
            world.barrier()?;
            let gather = held.batched_reads()?;
            let mut queue = gather.queue();
            queue.push(1)?;
            // Where memory is shared, `send` reads the element at once and would wait.
            if !world.about().node_ranks.iter().any(|peer| *peer == 1) {
                queue.send()?;
            }
            check::equal("what was late", late.at(2)?, 5)?;
            world.barrier()?;
            check::equal("what was held", queue.pop()?, Some(7))?;
        }
        1 => {
            let mut own = held.owner_computes_mut()?;
            own.local_mut()[0] = 7;
            world.barrier()?;
            world.barrier()?;
            own.finish()?;
        }
        2 => {
            let mut own = late.owner_computes_mut()?;
            own.local_mut()[0] = 5;
            world.barrier()?;
            // The waiting ranks check for a deadlock several times in this time.
            std::thread::sleep(Duration::from_millis(150));
            own.finish()?;
            world.barrier()?;
        }
        _ => {
            world.barrier()?;
            world.barrier()?;
        }
    }
    world.barrier()
}

fn a_flipped_bit_is_seen(world: &World) -> Result<()> {
    let mut v = GVector::from_fn(world, 31, want)?;
    if world.rank().index() == world.size() - 1 {
        v.put(17, want(17) ^ 1)?;
    }
    world.barrier()?;
    for (k, value) in v.batched_reads()?.iter(0..31).enumerate() {
        check::equal(&format!("value {k}"), value?, want(k))?;
    }
    world.barrier()
}
