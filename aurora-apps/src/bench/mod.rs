#![doc = include_str!("README.md")]

mod all_reduce;
mod barrier;
mod bout;
mod contestant;
mod cpu;
mod exchange;
mod fetch_add;
mod figures;
mod first_touch;
mod full_read;
mod gather;
mod get;
mod indices;
mod job;
mod local;
mod memory;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(not(feature = "mpi"))]
#[path = "no_mpi.rs"]
mod mpi;
mod pattern;
mod payload;
mod put;
mod read_cache;
mod reads;
mod recount;
mod run;
mod scalar_sum;
mod series;
mod stream;
mod target;
mod tcp;
mod updates;
mod watch;

pub use aurora_report::figures::Figures;
use contestant::prelude;
pub use job::{Access, By, Fresh, Job, Operation, Target};
pub use payload::payload;
pub use run::run;
pub use series::{Series, Took};
