//! How long vectors, guards, and what they show live; and what reading does not change.
use aurora_core::prelude::*;

/// A cache is for reading.
fn assign_through_read_cache(v: &GVector<i32>) -> Result<()> {
    let mut cache = v.read_cache()?;
    cache[0] = 1;
    cache.finish()
}

/// So is OwnerComputes of a shared vector.
fn assign_through_shared_owner_computes(v: &GVector<i32>) -> Result<()> {
    let mut own = v.owner_computes()?;
    own[0] = 1;
    own.finish()
}

/// What a cache shows lives no longer than the cache.
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

/// A vector is not dropped under its guard.
fn drop_under_a_guard(w: GVector<i32>) -> Result<i32> {
    let cache = w.read_cache()?;
    drop(w);
    Ok(cache[0])
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

/// A guard lives no longer than its vector, on any rank, wherever it is to be kept: in the thread, or leaked.
fn keep_a_guard_beyond_run() -> Result<()> {
    fn keep(_: ReadCache<'static, i32>) {}
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        keep(v.read_cache()?);
        Ok(())
    })
}

/// The world lives no longer than the closure that it is given to.
fn keep_the_world() -> Result<()> {
    fn keep(_: &'static World) {}
    Config::threads(2).run(|world| {
        keep(world);
        Ok(())
    })
}

fn main() {}
