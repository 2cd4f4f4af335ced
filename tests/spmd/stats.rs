//! `world.stats()`: exact counts of messages, and the time of a program by cause.

use aurora_core::{Cost, Costs, GScalar, GVector, Kind, Result, Stats, World};
use aurora_suite::{Body, check};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(each_object_has_what_was_done_to_it),
        Body::of(a_release_alone_and_its_waits_are_flushes).from_ranks(2),
        Body::of(what_belongs_to_objects_and_to_none_is_all),
        Body::of(what_is_sent_arrives),
        Body::of(who_is_late_is_waited_for_where_it_is_missed).from_ranks(2),
        Body::of(a_wait_too_short_to_sleep_is_a_wait).from_ranks(2),
    ]
}

/// The statistics of `work`, between two barriers that do not count.
fn during(world: &World, work: impl FnOnce() -> Result<()>) -> Result<Stats> {
    world.barrier()?;
    let before = world.stats();
    work()?;
    let phase = world.stats() - before;
    world.barrier()?;
    Ok(phase)
}

fn messages(costs: &Costs, kind: Kind) -> u64 {
    costs.get(&kind).map_or(0, |cost| cost.messages)
}

/// Two objects, a load of one, a flush of the other, and a barrier: each has exactly its own messages.
fn each_object_has_what_was_done_to_it(world: &World) -> Result<()> {
    let (size, others) = (world.size(), world.size() as u64 - 1);
    if (2..size).contains(&world.about().nodes) {
        // With several nodes of several ranks, some ranks forward blocks to others.
        return Ok(());
    }
    let shared = world.about().shared;
    let loaded = GVector::<u64>::from_fn(world, 101 * size, |i| i as u64)?;
    let mut written = GVector::<u16>::new(world, 3 * size)?;
    let phase = during(world, || {
        check::same(loaded.read_cache()?.as_slice(), 0, |i| i as u64)?;
        let mut scope = written.release_c()?;
        for owner in 0..size {
            scope.put(3 * owner + world.rank().index() % 3, 7)?;
        }
        scope.finish()?;
        world.barrier()
    })?;
    let (load, flush) = (phase.object("GVector<u64> of"), phase.object("GVector<u16> of"));
    check::equal("messages of the load", messages(&load, Kind::Load), if shared { 0 } else { others })?;
    check::equal("messages of the flush", messages(&flush, Kind::Flush), others)?;
    // Dissemination barrier.
    let rounds = if shared { 0 } else { size.next_power_of_two().trailing_zeros() };
    check::equal("messages of the barrier", messages(&phase.job, Kind::Barrier), u64::from(rounds))?;
    // The block to each of the other ranks, and little more.
    let bytes = load.get(&Kind::Load).map_or(0, |cost| cost.bytes);
    let block = if shared { 0 } else { others * 8 * 101 };
    assert!((block..=block + others * 200).contains(&bytes), "{bytes} bytes of the load instead of {block}");
    // Late ranks get queries.
    for (costs, may) in
        [(load, vec![Kind::Load]), (flush, vec![Kind::Flush]), (phase.job.clone(), vec![Kind::Barrier, Kind::Control])]
    {
        assert!(costs.keys().all(|kind| may.contains(kind)), "{phase}");
    }
    assert!(phase.objects.len() <= 2, "{phase}");
    Ok(())
}

/// One rank writes to all others: its batches, and its waits for their acknowledgements.
fn a_release_alone_and_its_waits_are_flushes(world: &World) -> Result<()> {
    let mut written = GVector::<u16>::new(world, 3 * world.size())?;
    let phase = during(world, || {
        if world.is_root() {
            let mut scope = written.release_alone()?;
            (0..world.size()).try_for_each(|owner| scope.put(3 * owner, 7))?;
            scope.finish()?;
        }
        Ok(())
    })?;
    if world.is_root() {
        let costs = phase.object("GVector<u16> of");
        check::equal("messages", messages(&costs, Kind::Flush), world.size() as u64 - 1)?;
        assert!(costs.keys().all(|kind| *kind == Kind::Flush), "{phase}");
    }
    Ok(())
}

/// The parts add up to the whole, in messages, bytes and time.
fn what_belongs_to_objects_and_to_none_is_all(world: &World) -> Result<()> {
    let outside = Instant::now();
    let before = world.stats();
    let inside = Instant::now();
    let mut v = GVector::<u32>::from_fn(world, 1000, |i| i as u32)?;
    let scalar = GScalar::new(world, 0, 0u64)?;
    scalar.fetch_add(u64::from(v.at(999)?))?;
    v.at_many(&[0, 500, 999])?;
    drop(v.halo_cache(1)?);
    drop(v.gather_to(0)?);
    v.accumulate(aurora_core::ops::Sum)?.update(3, 1)?;
    v.fill(1)?;
    let computed = Duration::from_millis(5);
    sleep(computed);
    drop(v);
    let inside = inside.elapsed();
    let stats = world.stats();
    let phase = stats.clone() - before;
    let outside = outside.elapsed();
    for (of, stats) in [("all", &stats), ("the phase", &phase)] {
        let Cost { messages, bytes, waiting, .. } = stats.total();
        check::equal(&format!("messages of {of}"), messages, stats.traffic.transfers_out)?;
        check::equal(&format!("bytes of {of}"), bytes, stats.traffic.bytes_out)?;
        check::equal(&format!("waiting in {of}"), waiting, stats.waiting)?;
    }
    // The time measured outside is a little longer, the time measured inside a little shorter.
    let elapsed = phase.computing + phase.sharing + phase.waiting;
    assert!((inside..=outside).contains(&elapsed), "{elapsed:?} is not within {inside:?} and {outside:?}");
    assert!(phase.computing >= computed && phase.elapsed() == elapsed, "{phase}");
    assert!(world.size() == 1 || !phase.sharing.is_zero(), "{phase}");
    // `usage` counts the bytes without headers and without messages that no call requested.
    let usage: u64 = world.usage().iter().map(|line| line.usage.bytes).sum();
    assert!(usage <= stats.traffic.bytes_out, "{usage}: {stats}");
    Ok(())
}

/// When all ranks are quiet, nothing is in transit: all ranks together have received the messages that all have sent.
fn what_is_sent_arrives(world: &World) -> Result<()> {
    const TRIES: usize = 50;
    let mut v = GVector::<u64>::new(world, 5000)?;
    for tries in 1..=TRIES {
        {
            let mut scope = v.release_c_with(aurora_core::ops::Sum)?;
            (0..5000).try_for_each(|i| scope.update(i, 1))?;
        }
        drop(v.read_cache()?);
        world.barrier()?;
        // Time for messages in transit and their answers; more time in each try, in case other processes use the cores.
        let pause = Duration::from_millis(10 * tries as u64);
        sleep(pause);
        let traffic = world.stats().traffic;
        // The other ranks have time to read their statistics before the barrier sends more.
        sleep(pause);
        world.barrier()?;
        let own = [traffic.transfers_out, traffic.bytes_out, traffic.transfers_in, traffic.bytes_in];
        let sums: Vec<GScalar<u64>> = own.iter().map(|_| GScalar::new(world, 0, 0)).collect::<Result<_>>()?;
        sums.iter().zip(own).try_for_each(|(sum, own)| sum.fetch_add(own).map(drop))?;
        world.barrier()?;
        let sums = sums.iter().map(GScalar::get).collect::<Result<Vec<_>>>()?;
        if sums[..2] == sums[2..] {
            return Ok(());
        }
    }
    Err(aurora_core::Error::user("what is sent and what is received differ, however quiet it is"))
}

/// One rank is late for four operations. The other ranks have waited there, for that object and for that cause.
fn who_is_late_is_waited_for_where_it_is_missed(world: &World) -> Result<()> {
    /// On a busy machine other ranks are late too, but not each time, and not by more and more.
    const ROUNDS: u32 = 6;
    let mut waited = GVector::<u8>::new(world, world.size())?;
    let mut missing = Vec::new();
    for round in 0..ROUNDS {
        missing = come_late(world, Duration::from_millis(30) * (1 << round))?;
        waited.owner_computes_mut()?.local_mut().fill(u8::from(missing.is_empty()));
        if waited.read_cache()?.iter().all(|waited| *waited == 1) {
            return Ok(());
        }
    }
    Err(aurora_core::Error::user(format!("who is late is not waited for: {missing:?}")))
}

/// The operations in which this rank has not waited for the last rank, which is `late` each time.
fn come_late(world: &World, late: Duration) -> Result<Vec<String>> {
    const LEAST: Duration = Duration::from_millis(3);
    let last = world.size() - 1;
    let is_late = world.rank() == last;
    let come = || {
        if is_late {
            sleep(late)
        }
    };
    let waited = |costs: &Costs, kind: Kind| costs.get(&kind).map_or(Duration::ZERO, |cost| cost.waiting);
    let mut missing = Vec::new();
    let mut expect = |phase: &Stats, costs: &Costs, kind: Kind| {
        let waited = waited(costs, kind);
        assert!(phase.waiting >= waited && (!is_late || phase.computing >= late), "{phase}");
        if !is_late && waited < LEAST {
            missing.push(format!("no {kind} in {phase}"));
        }
    };
    let loaded = GVector::<u64>::new(world, 50)?;
    let mut written = GVector::<u16>::new(world, 50)?;
    let mut lent = GVector::<u32>::new(world, 4 * world.size())?;

    let phase = during(world, || {
        come();
        loaded.read_cache().map(drop)
    })?;
    expect(&phase, &phase.object("GVector<u64> of"), Kind::Load);
    let phase = during(world, || {
        let scope = written.release_c()?;
        come();
        scope.finish()
    })?;
    expect(&phase, &phase.object("GVector<u16> of"), Kind::Flush);
    let phase = during(world, || {
        come();
        world.barrier()
    })?;
    expect(&phase, &phase.job, Kind::Barrier);
    let index = lent.len() - 1;
    let phase = if is_late {
        let mut guard = lent.owner_computes_mut()?;
        guard.local_mut().fill(7);
        during(world, || {
            come();
            guard.finish()
        })?
    } else {
        during(world, || check::equal("the element", lent.at(index)?, 7))?
    };
    expect(&phase, &phase.object("GVector<u32> of"), Kind::Access);
    Ok(missing)
}

/// One rank is late again and again, but so little that the ranks that meet it in shared memory only spin. This counts
/// as waiting too.
fn a_wait_too_short_to_sleep_is_a_wait(world: &World) -> Result<()> {
    const LATE: Duration = Duration::from_micros(20);
    const TIMES: u32 = 500;
    if !world.about().shared {
        // Otherwise the ranks wait for messages.
        return Ok(());
    }
    let is_late = world.rank() == world.size() - 1;
    let come = || {
        let now = Instant::now();
        while is_late && now.elapsed() < LATE {}
    };
    let loaded = GVector::<u64>::new(world, 50)?;
    let barriers = during(world, || {
        (0..TIMES).try_for_each(|_| {
            come();
            world.barrier()
        })
    })?;
    let loads = during(world, || {
        (0..TIMES).try_for_each(|_| {
            come();
            loaded.read_cache().map(drop)
        })
    })?;
    for (phase, kind) in [(barriers, Kind::Barrier), (loads, Kind::Load)] {
        let Cost { waits, waiting, .. } = phase.of(kind);
        if is_late {
            assert!(phase.computing >= TIMES * LATE, "{phase}");
        } else {
            // A rank that shares its core with the late rank is late itself, in most rounds on a busy machine.
            assert!(waits >= u64::from(TIMES / 20) && waiting >= TIMES * LATE / 20, "{kind}: {phase}");
        }
    }
    Ok(())
}
