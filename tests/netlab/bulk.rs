//! Operations of all ranks, with every byte verified.

use aurora_core::ops::Sum;
use aurora_core::{
    Bulk, Error, GScalar, GVector, JobInfo, MatrixDim, Result, Route, World, distmemcpy, distmemcpy_many,
};
use aurora_suite::{Body, End, check, mix};
use std::time::{Duration, Instant};

/// The beginning of the error about the damaged element.
pub const DAMAGE: &str = "element 17 is ";

const ROUNDS: usize = 3;

pub fn bodies() -> Vec<Body> {
    type Check = fn(&World, Data) -> Result<()>;
    let checks: [(&str, Check); 6] = [
        ("loads", loads),
        ("streams", streams),
        ("exchanges", exchanges),
        ("releases", releases),
        ("copies_to_one", copies_to_one),
        ("copies_from_all", copies_from_all),
    ];
    let right =
        checks.map(|(name, check)| Body::named(format!("bulk::{name}"), move |world| check(world, Data::Right)));
    let damaged = checks.map(|(name, check)| {
        let body = Body::named(format!("bulk::damaged_{name}"), move |world| check(world, Data::Damaged));
        body.ends(End::Fails(DAMAGE)).hidden()
    });
    let others = [
        Body::of(ranks_know_their_nodes),
        Body::of(ranks_know_what_moves_bulk_data),
        Body::of(loads_of_odd_sizes),
        Body::of(sums),
    ];
    others.into_iter().chain(right).chain(damaged).collect()
}

/// The data that the owners write: correct, or, in a test of the tests, with one wrong bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    Right,
    Damaged,
}

impl Data {
    /// The correct value of an element in a round.
    pub fn wanted(i: usize, round: usize) -> u32 {
        mix(((round as u64) << 40) + i as u64) as u32
    }

    /// The written value of the element.
    pub fn written(self, i: usize, round: usize) -> u32 {
        Data::wanted(i, round) ^ u32::from(self == Data::Damaged && i == 17)
    }
}

/// Checks for one rank on each node, and for two.
fn ranks_know_their_nodes(world: &World) -> Result<()> {
    let JobInfo { nodes, routes, .. } = world.about();
    let per_node = world.size() / nodes;
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    check::equal("host name", name.trim(), &format!("n{}", world.rank().index() / per_node + 1))?;
    match per_node {
        1 => check::equal("routes", &routes[..], &[Route::Udp]),
        2 => check::equal("routes", &routes[..], &[Route::Shm, Route::Udp]),
        _ => Err(Error::user(format!("{nodes} nodes"))),
    }
}

/// The carrier is the requested one or the one that a short probe has found. It is the same on all ranks, and is used.
fn ranks_know_what_moves_bulk_data(world: &World) -> Result<()> {
    let bulk = &world.about().bulk;
    let Some(took) = bulk.probed_for else {
        return check::equal("asked for", bulk.asked, Bulk::Mpi);
    };
    // Under 100 ms, unless packets are lost: then MPI's TCP waits for its time-outs, and MPI is not chosen.
    let in_time = took < Duration::from_secs(1) || bulk.mpi_from.is_none();
    assert!(bulk.asked == Bulk::Auto && in_time, "{bulk}, {took:?}");
    let found = GScalar::new(world, 0, bulk.to_string())?;
    check::equal("what rank 0 has found", found.get()?, bulk.to_string())?;
    let mut v = matrix(world)?;
    let before = world.traffic();
    (0..ROUNDS).try_for_each(|round| load(&mut v, round, Data::Right))?;
    let carried = (world.traffic() - before).carried_out;
    world.barrier()?;
    check::equal("carried only if it was found to be faster", carried == 0 || bulk.mpi_from.is_some(), true)
}

fn loads(world: &World, data: Data) -> Result<()> {
    let mut v = matrix(world)?;
    (0..ROUNDS).try_for_each(|round| load(&mut v, round, data))
}

/// The paper's matrix.
pub fn matrix(world: &World) -> Result<GVector<u32>> {
    GVector::new(world, MatrixDim::new(704, 704))
}

/// A phase: each rank writes its block and loads the whole matrix.
pub fn load(v: &mut GVector<u32>, round: usize, data: Data) -> Result<()> {
    write(v, round, data)?;
    check::same(v.read_cache()?.as_slice(), 0, |i| Data::wanted(i, round))
}

fn write(v: &mut GVector<u32>, round: usize, data: Data) -> Result<()> {
    let mut own = v.owner_computes_mut()?;
    let first = own.indices().start;
    for (i, x) in own.local_mut().iter_mut().enumerate() {
        *x = data.written(first + i, round);
    }
    own.finish()
}

fn loads_of_odd_sizes(world: &World) -> Result<()> {
    for len in [0, 1, 3, 2243, 2251, 8999, 70_001] {
        let mut v = GVector::new(world, len)?;
        (0..ROUNDS).try_for_each(|round| load(&mut v, round, Data::Right))?;
    }
    Ok(())
}

/// Streamed loads. On a slow network each rank has rows of other ranks before it has all rows, in at least one round:
/// in the other rounds it may have got no processor time. On a fast network only such rounds are slow.
fn streams(world: &World, data: Data) -> Result<()> {
    const SLOW: Duration = Duration::from_millis(30);
    let alone = world.about().node_ranks.len() == 1;
    let mut v = matrix(world)?;
    let (mut slow, mut late) = (0, Vec::new());
    for round in 0..ROUNDS {
        write(&mut v, round, data)?;
        world.barrier()?;
        let (begun, own, mut first) = (Instant::now(), v.local_range(), None);
        let stream = v.read_cache_blocks()?;
        for block in stream.row_blocks() {
            let (rows, elements) = block?;
            if rows.start * 704 != own.start {
                first.get_or_insert(begun.elapsed());
            }
            check::same(elements, rows.start * 704, |i| Data::wanted(i, round))?;
        }
        check::same(stream.whole()?, 0, |i| Data::wanted(i, round))?;
        let (first, all) = (first.unwrap_or_default(), stream.load_time().unwrap_or_default());
        if alone && all > SLOW {
            slow += 1;
            late.extend((first > all).then(|| format!("after {first:?} of {all:?}")));
        }
    }
    if 2 * slow >= ROUNDS && late.len() == slow {
        return Err(Error::user(format!("the first rows of others came {}", late.join(", "))));
    }
    Ok(())
}

/// Every rank reads its part of every block, as in the fourth phase of the paper's sort.
fn exchanges(world: &World, data: Data) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let each = 30_011;
    let mut mine = vec![0; p * each];
    for round in 0..ROUNDS {
        let from = GVector::from_fn(world, p * p * each, |i| data.written(i, round))?;
        let start = |owner: usize| (owner * p + me) * each;
        let parts = mine.chunks_mut(each).enumerate();
        distmemcpy_many(parts.map(|(owner, part)| (part, from.range(start(owner)..start(owner) + each))))?;
        for (owner, part) in mine.chunks(each).enumerate() {
            check::same(part, start(owner), |i| Data::wanted(i, round))?;
        }
    }
    Ok(())
}

/// Single elements, and slices across the borders between owners.
fn releases(world: &World, data: Data) -> Result<()> {
    const STRETCH: usize = 1000;
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u32>::new(world, 97 * STRETCH + 5)?;
    for round in 0..ROUNDS {
        let len = v.len();
        let mut writes = v.release_c()?;
        for (number, first) in (0..len).step_by(STRETCH).enumerate().filter(|(number, _)| (number + round) % p == me) {
            let stretch = first..len.min(first + STRETCH);
            if number % 2 == 0 {
                stretch.into_iter().try_for_each(|i| writes.put(i, data.written(i, round)))?;
            } else {
                writes.put_slice(first, &stretch.map(|i| data.written(i, round)).collect::<Vec<_>>())?;
            }
        }
        writes.finish()?;
        check::whole(&v, |i| Data::wanted(i, round))?;
        world.barrier()?;
    }
    Ok(())
}

/// An update that arrives twice or never changes a sum.
fn sums(world: &World) -> Result<()> {
    let p = world.size() as u64;
    let mut v = GVector::<u64>::new(world, 1009)?;
    let mut writes = v.release_c_with(Sum)?;
    for k in 0..100_000 {
        writes.update(k % 1009, k as u64)?;
    }
    writes.finish()?;
    check::whole(&v, |i| p * (i..100_000).step_by(1009).sum::<usize>() as u64)
}

/// All ranks write to one rank at the same time.
fn copies_to_one(world: &World, data: Data) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let each = 65_537;
    for (round, home) in (0..p).enumerate() {
        let mut v = GVector::on(world, home, p * each)?;
        let mine = me * each..(me + 1) * each;
        let values: Vec<_> = mine.clone().map(|i| data.written(i, round)).collect();
        distmemcpy(v.range_mut(mine), &values[..])?;
        world.barrier()?;
        if world.rank() == home {
            check::same(v.owner_computes()?.local(), 0, |i| Data::wanted(i, round))?;
        }
        world.barrier()?;
    }
    Ok(())
}

/// One rank reads from all ranks, which do nothing meanwhile.
fn copies_from_all(world: &World, data: Data) -> Result<()> {
    for reader in 0..world.size() {
        let v = GVector::from_fn(world, 250_007, |i| data.written(i, reader))?;
        if world.rank() == reader {
            check::whole(&v, |i| Data::wanted(i, reader))?;
        }
        world.barrier()?;
    }
    Ok(())
}
