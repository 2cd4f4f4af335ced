#![doc = include_str!("README.md")]

#[cfg(feature = "mpi")]
mod mpi;
mod naive;
mod parallel;
mod run;
mod text;

pub use naive::one_by_one;
pub use parallel::count;
pub use run::WordCount;
pub use text::{Texts, number_of, word};

use rustc_hash::FxHashMap;

/// The sequential program: counts the words of some texts.
pub fn sequential<'t>(texts: impl IntoIterator<Item = &'t str>) -> FxHashMap<&'t str, u64> {
    let mut counts = FxHashMap::default();
    for text in texts {
        for word in text.split_ascii_whitespace() {
            *counts.entry(word).or_insert(0) += 1;
        }
    }
    counts
}
