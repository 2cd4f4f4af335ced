//! The carrier of long transfers between nodes, which must be the configured one.

use aurora_core::{Bulk, Error, GScalar, GVector, Result, Traffic, World, distmemcpy_many};
use aurora_suite::{Body, check, mix};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(loads_go_the_way_that_was_asked_for).from_ranks(2),
        Body::of(flushes_and_exchanges_arrive_whichever_way_they_go).from_ranks(2),
        Body::of(ranks_come_and_go_at_any_time).from_ranks(2),
        Body::of(the_same_transfers_are_counted),
    ]
}

const ROUNDS: usize = 10;

fn value(i: usize, round: usize) -> u64 {
    mix(((round as u64) << 40) + i as u64)
}

fn load(v: &mut GVector<u64>, round: usize) -> Result<()> {
    let mut own = v.owner_computes_mut()?;
    let first = own.indices().start;
    own.local_mut().iter_mut().enumerate().for_each(|(i, x)| *x = value(first + i, round));
    own.finish()?;
    check::same(v.read_cache()?.as_slice(), 0, |i| value(i, round))
}

/// The last rank of a load finds all other ranks waiting. If MPI is a carrier, the rank sends its blocks to other nodes
/// by MPI.
fn loads_go_the_way_that_was_asked_for(world: &World) -> Result<()> {
    // More than a few pieces, none of full length.
    let mut v = GVector::<u64>::new(world, 300_007 * world.size())?;
    let carried = GScalar::new(world, 0, 0u64)?;
    let before = world.traffic();
    (0..ROUNDS).try_for_each(|round| load(&mut v, round))?;
    let traffic = world.traffic() - before;
    carried.fetch_add(traffic.carried_out)?;
    world.barrier()?;
    let (carried, bulk) = (carried.get()?, &world.about().bulk);
    match bulk.mpi_from {
        Some(_) => {
            assert!(traffic.carried_bytes_out <= traffic.bytes_out && traffic.carried_bytes_in <= traffic.bytes_in);
            let least = ROUNDS as u64;
            check::equal("carried by MPI, as a load's last rank at least", carried >= least, true)
        }
        None if bulk.asked == Bulk::Mpi => Err(Error::user("MPI was asked for")),
        None => check::equal("carried by MPI", carried, 0),
    }
}

/// Each rank writes and reads a part of each block, in lengths around the length of a piece.
fn flushes_and_exchanges_arrive_whichever_way_they_go(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for each in [1, 511, 8191, 32_768, 32_769, 70_001] {
        let mut v = GVector::<u64>::new(world, p * p * each)?;
        for round in 0..2 {
            let mut writes = v.release_c()?;
            for owner in 0..p {
                let first = (owner * p + me) * each;
                writes.put_slice(first, &(first..first + each).map(|i| value(i, round)).collect::<Vec<_>>())?;
            }
            writes.finish()?;
            let mut mine = vec![0; p * each];
            let start = |owner: usize| (owner * p + (me + 1) % p) * each;
            let parts = mine.chunks_mut(each).enumerate();
            distmemcpy_many(parts.map(|(owner, part)| (part, v.range(start(owner)..start(owner) + each))))?;
            for (owner, part) in mine.chunks(each).enumerate() {
                check::same(part, start(owner), |i| value(i, round))?;
            }
            world.barrier()?;
        }
    }
    Ok(())
}

/// Each rank computes for a different time between its operations, so that it sends while other ranks are inside
/// theirs.
fn ranks_come_and_go_at_any_time(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 40_009 * p)?;
    for round in 0..ROUNDS {
        let pause = mix((round * p + me) as u64) % 3000;
        std::thread::sleep(std::time::Duration::from_micros(pause));
        load(&mut v, round)?;
        if round % 3 == me % 3 {
            let at = (me + 1) % p * 40_009;
            check::equal("an element of another's", v.at(at)?, value(at, round))?;
            let some: Vec<usize> = (0..v.len()).step_by(3).collect();
            let values = v.at_many(&some)?;
            check::equal("some of all", values.iter().zip(&some).all(|(x, i)| *x == value(*i, round)), true)?;
        }
        world.barrier()?;
    }
    Ok(())
}

/// The counted transfers and bytes do not depend on the carrier.
fn the_same_transfers_are_counted(world: &World) -> Result<()> {
    let v = GVector::<u64>::from_fn(world, 50_000, |i| value(i, 0))?;
    world.barrier()?;
    let before = world.stats();
    check::same(v.read_cache()?.as_slice(), 0, |i| value(i, 0))?;
    let stats = world.stats() - before;
    let Traffic { transfers_out, bytes_out, carried_out, carried_bytes_out, .. } = stats.traffic;
    let total = stats.total();
    check::equal("transfers", transfers_out, total.messages)?;
    check::equal("bytes", bytes_out, total.bytes)?;
    check::equal("carried at most all", carried_out <= transfers_out && carried_bytes_out <= bytes_out, true)
}
