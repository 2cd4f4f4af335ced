#![doc = include_str!("README.md")]

mod lookups;
mod run;

pub use lookups::Lookups;
pub use run::IndexGather;

use aurora_core::prelude::*;

/// The parallel program: `values[k]` becomes element `indices[k]` of the table.
///
/// # Panics
/// If there are fewer indices than values.
///
/// # Errors
/// The error that ended the job.
pub fn batched(table: &GVector<u64>, indices: &[usize], values: &mut [u64]) -> Result<()> {
    let table = table.batched_reads()?;
    let mut found = table.iter(indices.iter().copied());
    for value in values {
        *value = found.next().expect("an index for each value")?;
    }
    Ok(())
}

/// The program before optimisation: correct on the bare table, and under any behaviour that reads.
///
/// # Errors
/// As [`batched`].
pub fn one_by_one(table: &impl GlobalRead<u64>, indices: &[usize], values: &mut [u64]) -> Result<()> {
    for (value, index) in values.iter_mut().zip(indices) {
        *value = table.at(*index)?;
    }
    Ok(())
}

/// The sequential program: `values[k]` becomes `table[indices[k]]`.
pub fn sequential(table: &[u64], indices: &[usize], values: &mut [u64]) {
    for (value, index) in values.iter_mut().zip(indices) {
        *value = table[*index];
    }
}
