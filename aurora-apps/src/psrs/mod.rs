#![doc = include_str!("README.md")]

mod input;
mod merge;
#[cfg(feature = "mpi")]
mod mpi;
mod naive;
mod run;
mod sample;
mod sequential;
mod sorter;
mod split;
mod threads;

pub use input::{Input, Keys};
pub use merge::merge;
pub use run::{Psrs, run};
pub use sample::Sample;
pub use sorter::Sorter;
pub use split::most_merged;

/// The sequential program, which the parallel one is compared with; also each rank's local sort.
pub fn sort(keys: &mut [u32]) {
    keys.sort_unstable();
}
