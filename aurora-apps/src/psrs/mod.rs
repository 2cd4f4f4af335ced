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
pub use run::Psrs;
pub use sample::Sample;
pub use sorter::Sorter;
pub use split::most_merged;

/// The sequential program, with which the parallel programs are compared; also the local sort of each rank.
pub fn sort(keys: &mut [u32]) {
    keys.sort_unstable();
}
