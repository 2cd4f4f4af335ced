//! The program without a behaviour: word by word.

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

/// Counts the words of this rank's text: an update is atomic, and one round trip to the word's owner.
///
/// # Errors
/// The error that ended the job.
pub fn one_by_one(world: &World, counts: &mut GMap<String, u64>, text: &str) -> Result<()> {
    for word in text.split_ascii_whitespace() {
        counts.update(word, Sum, 1)?;
    }
    world.barrier()
}
