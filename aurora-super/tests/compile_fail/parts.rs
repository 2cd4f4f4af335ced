//! Parts of a vector, each of which has its own scopes.
use aurora_core::prelude::*;

/// Parts that are made one after the other may overlap: `split_at_mut` gives two parts that do not.
fn two_parts_that_may_overlap(v: &mut GVector<i32>) -> Result<()> {
    let mut left = v.slice_mut(..5);
    let right = v.slice_mut(4..);
    drop((left.slice_mut(..).owner_computes_mut()?, right.owner_computes_mut()?));
    Ok(())
}

/// A part has one scope for writing at a time, and no other scope with it.
fn a_part_under_its_scope(v: &mut GVector<i32>) -> Result<()> {
    let (mut left, _right) = v.split_at_mut(5);
    let own = left.slice_mut(..).owner_computes_mut()?;
    let seen = left.slice(..2).read_cache()?;
    drop((own, seen));
    Ok(())
}

/// While a part is used for writing, the vector cannot be used.
fn a_vector_under_its_parts(v: &mut GVector<i32>) -> Result<()> {
    let (left, _right) = v.split_at_mut(5);
    let writes = left.release_c()?;
    assert_eq!(v.at(9)?, 0);
    writes.finish()
}

fn main() {}
