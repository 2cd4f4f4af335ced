//! Uses that an open `halo_cache` forbids.
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

fn copy_in(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    distmemcpy(v.range_mut(..1), &[0][..])?;
    open.finish()
}

fn put(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    v.put(0, 1)?;
    open.finish()
}

fn put_many(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    v.put_many(&[(0, 1)])?;
    open.finish()
}

fn fill(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    v.fill(1)?;
    open.finish()
}

fn release_cache(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    v.release_cache()?;
    open.finish()
}

fn split_at_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.split_at_mut(1));
    open.finish()
}

fn owner_computes_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.owner_computes_mut()?);
    open.finish()
}

fn release_c(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.release_c()?);
    open.finish()
}

fn release_c_with(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.release_c_with(Sum)?);
    open.finish()
}

fn release_alone(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.release_alone()?);
    open.finish()
}

fn release_alone_with(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.release_alone_with(Sum)?);
    open.finish()
}

fn read_cache_release_c(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.read_cache_release_c()?);
    open.finish()
}

fn halo_cache_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.halo_cache_mut(1)?);
    open.finish()
}

fn paged_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.paged_mut()?);
    open.finish()
}

fn accumulate(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.accumulate(Sum)?);
    open.finish()
}

fn accumulate_in_order(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.accumulate_in_order(Sum)?);
    open.finish()
}

fn part_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.slice_mut(..1).owner_computes_mut()?);
    open.finish()
}

fn rows_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.halo_cache(1)?;
    drop(v.rows_mut(..1).release_c()?);
    open.finish()
}

fn main() {}
