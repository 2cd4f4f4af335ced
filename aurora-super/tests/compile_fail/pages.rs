//! Pages: a view changes only in a sync, so no slice of it is borrowed then.
use aurora_core::prelude::*;

/// A slice ends before the sync that may change it.
fn a_slice_over_a_sync(v: &mut GVector<i32>) -> Result<i32> {
    let mut pages = v.paged_mut()?;
    let seen = pages.slice(0..10)?;
    pages.sync()?;
    Ok(seen[0])
}

/// A slice for writing also ends before the sync.
fn a_slice_that_is_written_over_a_sync(v: &mut GVector<i32>) -> Result<()> {
    let mut pages = v.paged_mut()?;
    let mine = pages.slice_mut(0..10)?;
    pages.sync()?;
    mine[0] = 1;
    Ok(())
}

/// No slice is shown together with a slice for writing.
fn a_slice_beside_one_that_is_written(v: &mut GVector<i32>) -> Result<()> {
    let mut pages = v.paged_mut()?;
    let seen = pages.slice(0..10)?;
    let mine = pages.slice_mut(10..20)?;
    mine.copy_from_slice(seen);
    Ok(())
}

/// A slice lives no longer than the guard that shows it.
fn a_slice_after_the_scope(v: &mut GVector<i32>) -> Result<i32> {
    let seen = {
        let pages = v.paged_mut()?;
        pages.slice(0..10)?
    };
    Ok(seen[0])
}

fn main() {}
