//! Uses that an open `scalar_accumulate` forbids.
use aurora_core::ops::{Min, Sum};
use aurora_core::prelude::*;

fn get(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    s.get()?;
    open.finish()
}

fn set(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    s.set(1)?;
    open.finish()
}

fn swap(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    s.swap(1)?;
    open.finish()
}

fn compare_exchange(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    drop(s.compare_exchange(&0, &1)?);
    open.finish()
}

fn fetch_update(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    s.fetch_update(|value| value + 1)?;
    open.finish()
}

fn fetch_add(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    s.fetch_add(1)?;
    open.finish()
}

fn fetch_min(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    s.fetch_min(1)?;
    open.finish()
}

fn fetch_max(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    s.fetch_max(1)?;
    open.finish()
}

fn scalar_read_cache(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    drop(s.read_cache()?);
    open.finish()
}

fn scalar_release_c(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    drop(s.release_c()?);
    open.finish()
}

fn scalar_accumulate(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    drop(s.accumulate(Sum)?);
    open.finish()
}

fn scalar_read_mostly(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    drop(s.read_mostly()?);
    open.finish()
}

fn scalar_read_mostly_with(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.accumulate(Sum)?;
    drop(s.read_mostly_with(Min)?);
    open.finish()
}

fn main() {}
