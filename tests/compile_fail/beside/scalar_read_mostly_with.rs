//! Uses that an open `scalar_read_mostly_with` forbids.
use aurora_core::ops::{Min, Sum};
use aurora_core::prelude::*;

fn scalar_release_c(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.read_mostly_with(Min)?;
    drop(s.release_c()?);
    open.finish()
}

fn scalar_accumulate(s: &mut GScalar<u64>) -> Result<()> {
    let open = s.read_mostly_with(Min)?;
    drop(s.accumulate(Sum)?);
    open.finish()
}

fn main() {}
