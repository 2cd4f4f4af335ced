//! Uses that an open `part_mut` forbids.
use aurora_core::ops::Sum;
use aurora_core::prelude::*;

fn at(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    v.at(0)?;
    open.finish()
}

fn at_many(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    v.at_many(&[0])?;
    open.finish()
}

fn gather_to(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    v.gather_to(0)?;
    open.finish()
}

fn copy_out(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    distmemcpy(&mut [0][..], v.range(..1))?;
    open.finish()
}

fn copy_in(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    distmemcpy(v.range_mut(..1), &[0][..])?;
    open.finish()
}

fn put(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    v.put(0, 1)?;
    open.finish()
}

fn put_many(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    v.put_many(&[(0, 1)])?;
    open.finish()
}

fn fill(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    v.fill(1)?;
    open.finish()
}

fn release_cache(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    v.release_cache()?;
    open.finish()
}

fn split_at_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.split_at_mut(1));
    open.finish()
}

fn owner_computes(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.owner_computes()?);
    open.finish()
}

fn owner_computes_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.owner_computes_mut()?);
    open.finish()
}

fn read_cache(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.read_cache()?);
    open.finish()
}

fn release_c(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.release_c()?);
    open.finish()
}

fn release_c_with(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.release_c_with(Sum)?);
    open.finish()
}

fn release_alone(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.release_alone()?);
    open.finish()
}

fn release_alone_with(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.release_alone_with(Sum)?);
    open.finish()
}

fn read_cache_release_c(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.read_cache_release_c()?);
    open.finish()
}

fn read_cache_blocks(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.read_cache_blocks()?);
    open.finish()
}

fn batched_reads(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.batched_reads()?);
    open.finish()
}

fn halo_cache(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.halo_cache(1)?);
    open.finish()
}

fn halo_cache_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.halo_cache_mut(1)?);
    open.finish()
}

fn paged(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.paged()?);
    open.finish()
}

fn paged_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.paged_mut()?);
    open.finish()
}

fn accumulate(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.accumulate(Sum)?);
    open.finish()
}

fn accumulate_in_order(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.accumulate_in_order(Sum)?);
    open.finish()
}

fn part(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.slice(..1).read_cache()?);
    open.finish()
}

fn part_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.slice_mut(..1).owner_computes_mut()?);
    open.finish()
}

fn rows(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.rows(..1).owner_computes()?);
    open.finish()
}

fn rows_mut(v: &mut GVector<i32>) -> Result<()> {
    let open = v.slice_mut(..1).owner_computes_mut()?;
    drop(v.rows_mut(..1).release_c()?);
    open.finish()
}

fn main() {}
