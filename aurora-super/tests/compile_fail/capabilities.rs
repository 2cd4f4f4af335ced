//! Operations that a behaviour does not offer.
use aurora_core::ops::{Or, Sum};
use aurora_core::prelude::*;

/// OwnerComputes for reading does not write.
fn put_on_shared_owner_computes(v: &GVector<i32>) -> Result<()> {
    let mut own = v.owner_computes()?;
    own.put(0, 1)?;
    own.finish()
}

/// OwnerComputes for reading shows no mutable slice.
fn local_mut_of_shared_owner_computes(v: &GVector<i32>) -> Result<()> {
    let mut own = v.owner_computes()?;
    own.local_mut()[0] = 1;
    own.finish()
}

/// A HaloCache for reading shows no mutable slice.
fn local_mut_of_shared_halo_cache(v: &GVector<i32>) -> Result<()> {
    let mut halo = v.halo_cache(1)?;
    halo.local_mut()[0] = 1;
    halo.finish()
}

/// A part to read has no behaviour for writing.
fn write_to_a_shared_part(v: &GVector<i32>) -> Result<()> {
    v.slice(2..5).owner_computes_mut()?.finish()
}

/// A ReadCache is no slice: its indices are global, and the indices of a slice begin at 0.
fn a_cache_as_a_slice(v: &GVector<i32>) -> Result<()> {
    let part = v.slice(2..5).read_cache()?;
    let elements: &[i32] = &part;
    assert_eq!(elements[0], 1);
    part.finish()
}

/// A ReadCache + ReleaseC does not have the methods of a slice.
fn a_method_of_slices_on_a_cache(v: &mut GVector<i32>) -> Result<()> {
    let part = v.slice_mut(2..5).read_cache_release_c()?;
    assert_eq!(part.binary_search(&1), Ok(0));
    part.finish()
}

/// A BatchedReads reads, and has no place for each element.
fn index_a_gather(v: &GVector<i32>) -> Result<()> {
    let mut gather = v.batched_reads()?;
    gather[1] = 2;
    gather.finish()
}

/// A ReleaseC has no old values to show.
fn index_a_release(v: &mut GVector<i32>) -> Result<()> {
    let mut scope = v.release_c()?;
    scope[0] += 1;
    scope.finish()
}

/// A rank cannot read its own unsent writes in a ReleaseC.
fn read_a_release(v: &mut GVector<i32>) -> Result<()> {
    let mut scope = v.release_c()?;
    scope.put(0, 1)?;
    assert_eq!(scope.at(0)?, 0);
    scope.finish()
}

/// A rank cannot read its own unsent writes in a ReleaseC alone.
fn read_a_release_alone(v: &mut GVector<i32>) -> Result<()> {
    let mut scope = v.release_alone()?;
    scope.put(0, 1)?;
    assert_eq!(scope.at(0)?, 0);
    scope.finish()
}

/// An Accumulate has no old values to show.
fn index_an_accumulate(v: &mut GVector<i32>) -> Result<()> {
    let mut sums = v.accumulate(Sum)?;
    sums[0] += 1;
    sums.finish()
}

/// A put and an update of two ranks have no order, so an Accumulate has one operation.
fn put_in_an_accumulate(v: &mut GVector<i32>) -> Result<()> {
    let mut sums = v.accumulate(Sum)?;
    sums.put(0, 1)?;
    sums.finish()
}

/// A ReleaseC of a scalar has no old value to show.
fn read_a_scalar_release(s: &mut GScalar<u64>) -> Result<()> {
    let scope = s.release_c()?;
    assert_eq!(*scope, 1);
    scope.finish()
}

/// An offer needs the operation of the scope.
fn offer_without_an_operation(s: &GScalar<u64>) -> Result<()> {
    let bound = s.read_mostly()?;
    bound.offer(0)?;
    bound.finish()
}

/// A scope without an operation does not update.
fn update_without_an_operation(v: &mut GVector<i32>) -> Result<()> {
    let mut scope = v.release_c()?;
    scope.update(0, 1)?;
    scope.finish()
}

/// A closure cannot be sent to an owner.
fn closure_as_operation(v: &mut GVector<i32>) -> Result<()> {
    let mut scope = v.release_c()?;
    scope.update(0, |old: i32| old + 1)?;
    scope.finish()
}

/// An operation is only for the types that implement it: floating-point numbers have no bitwise or.
fn operation_on_another_type(v: &mut GVector<f64>) -> Result<()> {
    let mut scope = v.release_c_with(Or)?;
    scope.update(0, 1.0)?;
    scope.finish()
}

/// The same rule holds for an Accumulate.
fn accumulate_with_an_operation_on_another_type(v: &mut GVector<f64>) -> Result<()> {
    drop(v.accumulate(Or)?);
    Ok(())
}

/// A vector is one object, not a value.
fn clone_a_vector(v: GVector<i32>) {
    let w = v.clone();
    drop(w);
}

/// A world is one rank's view, not a value.
fn clone_a_world(world: &World) {
    let second: World = world.clone();
    drop(second);
}

fn main() {}
