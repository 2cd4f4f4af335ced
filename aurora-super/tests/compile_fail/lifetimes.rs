//! The lifetimes of vectors, guards and shown elements; and guards for reading, which change nothing.
use aurora_core::prelude::*;

/// A cache is for reading.
fn assign_through_read_cache(v: &GVector<i32>) -> Result<()> {
    let mut cache = v.read_cache()?;
    cache[0] = 1;
    cache.finish()
}

/// OwnerComputes of a shared vector is for reading.
fn assign_through_shared_owner_computes(v: &GVector<i32>) -> Result<()> {
    let mut own = v.owner_computes()?;
    own[0] = 1;
    own.finish()
}

/// A HaloCache of a shared vector is for reading, in the rank's own part too.
fn assign_through_shared_halo_cache(v: &GVector<i32>) -> Result<()> {
    let mut halo = v.halo_cache(1)?;
    halo[0] = 1;
    halo.refresh()
}

/// A ReadCache of a scalar is for reading.
fn assign_through_scalar_read_cache(s: &GScalar<u64>) -> Result<()> {
    let mut seen = s.read_cache()?;
    *seen = 2;
    seen.finish()
}

/// A row of a cache lives no longer than the cache.
fn cache_slice_outlives_guard(v: &GVector<i32>) -> Result<i32> {
    let row = {
        let cache = v.read_cache()?;
        cache.row(0)
    };
    Ok(row[0])
}

/// A slice lives no longer than the guard that shows it.
fn slice_outlives_guard(v: &GVector<i32>) -> Result<i32> {
    let slice = {
        let own = v.owner_computes()?;
        own.local()
    };
    Ok(slice[0])
}

/// A piece of a stream lives no longer than the guard of the stream.
fn piece_outlives_stream(v: &GVector<i32>) -> Result<i32> {
    let piece = {
        let stream = v.read_cache_blocks()?;
        stream.blocks().next().unwrap()?.1
    };
    Ok(piece[0])
}

/// The values of a queue arrive inside the scope.
fn queue_outlives_gather(v: &GVector<i32>) -> Result<()> {
    let mut queue = {
        let gather = v.batched_reads()?;
        gather.queue()
    };
    queue.push(3)?;
    queue.pop().map(drop)
}

/// A refresh changes the halo: no earlier slice stays valid.
fn halo_slice_outlives_a_refresh(v: &GVector<i32>) -> Result<()> {
    let mut halo = v.halo_cache(1)?;
    let before = halo.before();
    halo.refresh()?;
    assert!(before.is_empty());
    halo.finish()
}

/// Two mutable slices of one part would overlap.
fn two_slices_of_one_guard(v: &mut GVector<i32>) -> Result<()> {
    let mut own = v.owner_computes_mut()?;
    let (a, b) = (own.local_mut(), own.row_mut(0));
    a[0] = b[0];
    own.finish()
}

/// A guard lives no longer than its vector.
fn guard_outlives_vector(world: &World) -> Result<i32> {
    let cache = {
        let w = GVector::<i32>::new(world, 10)?;
        w.read_cache()?
    };
    Ok(cache[0])
}

/// A part is a borrow of its vector.
fn part_outlives_vector(world: &World) -> Result<()> {
    let part = {
        let w = GVector::<i32>::new(world, 10)?;
        w.slice(2..5)
    };
    part.read_cache()?.finish()
}

/// A vector cannot be dropped before its guard.
fn drop_under_a_guard(w: GVector<i32>) -> Result<i32> {
    let cache = w.read_cache()?;
    drop(w);
    Ok(cache[0])
}

/// A scalar cannot be dropped before its guard.
fn drop_a_scalar_under_a_guard(s: GScalar<u64>) -> Result<()> {
    let bound = s.read_mostly()?;
    drop(s);
    bound.finish()
}

/// A scope ends once.
fn finish_twice(v: &mut GVector<i32>) -> Result<()> {
    let scope = v.release_c()?;
    scope.finish()?;
    scope.finish()
}

/// Nothing is written through a scope that has ended.
fn put_after_finish(v: &mut GVector<i32>) -> Result<()> {
    let mut scope = v.release_c()?;
    scope.finish()?;
    scope.put(0, 1)
}

/// A guard lives no longer than its vector, on any rank, in a thread's memory or leaked.
fn keep_a_guard_beyond_run() -> Result<()> {
    fn keep(_: ReadCache<'static, i32>) {}
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        keep(v.read_cache()?);
        Ok(())
    })
}

/// The world lives no longer than the closure that gets it.
fn keep_the_world() -> Result<()> {
    fn keep(_: &'static World) {}
    Config::threads(2).run(|world| {
        keep(world);
        Ok(())
    })
}

fn main() {}
