//! Filling a shared vector, and verifying it: each element is compared with the result of the sequential program.

use aurora_core::prelude::*;

/// Fills this rank's part of `vector`: element `i`, a global index, gets the value `entry(i)`.
pub fn fill<T: Element>(vector: &mut GVector<T>, entry: impl Fn(usize) -> T) -> Result<()> {
    let mut mine = vector.owner_computes_mut()?;
    let start = mine.indices().start;
    for (i, element) in mine.local_mut().iter_mut().enumerate() {
        *element = entry(start + i);
    }
    mine.finish()
}

/// Collective. Copies rank 0's `values` into `vector`, block by block. The `values` of other ranks are ignored.
///
/// # Panics
/// On rank 0, if the number of values differs from the number of elements.
pub fn spread<T: Element>(world: &World, values: &[T], vector: &mut GVector<T>) -> Result<()> {
    let length = vector.len();
    let mut scope = vector.release_c()?;
    if world.is_root() {
        assert_eq!(values.len(), length, "one value for each element");
        scope.put_slice(0, values)?;
    }
    scope.finish()
}

/// Returns the number of elements of this rank's part of `result` that differ from `expected`. Both vectors must be
/// distributed in the same way.
pub fn wrong_elements<T: Element + PartialEq>(result: &GVector<T>, expected: &GVector<T>) -> Result<u64> {
    let (result, expected) = (result.owner_computes()?, expected.owner_computes()?);
    let pairs = result.local().iter().zip(expected.local());
    Ok(pairs.filter(|(got, want)| got != want).count() as u64)
}
