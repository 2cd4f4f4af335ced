//! Filling a shared vector, and verifying it: is a shared vector, element by element, what the sequential program
//! computed?

use aurora_core::prelude::*;

/// Each rank fills its own part of `vector` with what `entry` says of each global index.
pub fn fill<T: Element>(vector: &mut GVector<T>, entry: impl Fn(usize) -> T) -> Result<()> {
    let mut mine = vector.owner_computes_mut()?;
    let start = mine.indices().start;
    for (i, element) in mine.local_mut().iter_mut().enumerate() {
        *element = entry(start + i);
    }
    mine.finish()
}

/// Collective. Rank 0's `values` into `vector`, block by block; the others' `values` are not looked at.
///
/// # Panics
/// On rank 0 if there are not as many values as elements.
pub fn spread<T: Element>(world: &World, values: &[T], vector: &mut GVector<T>) -> Result<()> {
    let length = vector.len();
    let mut scope = vector.release_c()?;
    if world.is_root() {
        assert_eq!(values.len(), length, "one value for each element");
        scope.put_slice(0, values)?;
    }
    scope.finish()
}

/// How many elements of this rank's part of `result` are not as `expected`; both are distributed alike.
pub fn wrong_elements<T: Element + PartialEq>(result: &GVector<T>, expected: &GVector<T>) -> Result<u64> {
    let (result, expected) = (result.owner_computes()?, expected.owner_computes()?);
    let pairs = result.local().iter().zip(expected.local());
    Ok(pairs.filter(|(got, want)| got != want).count() as u64)
}
