//! The parallel program.

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// Collective. Counts the words of all ranks' texts.
///
/// # Errors
/// The error that ended the job.
pub fn count(counts: &mut GMap<String, u64>, text: &str) -> Result<()> {
    let mut counts = counts.release_c_with(Sum)?;
    counts.update_all(text.split_ascii_whitespace().map(|word| (word, 1)))?;
    counts.finish()
}
