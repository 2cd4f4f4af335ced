//! Operations and programs by Aurora and by MPI, side by side, for `cargo bench`. See `benches/README.md`.
//!
//! Criterion measures in one process. So that process is the driver; it starts itself again as a job of several ranks
//! ([`launch`]), tells rank 0 what to carry out how often ([`mod@line`]), and gives criterion what the slowest rank
//! took ([`child`]). The job carries it out, and verifies it, on all ranks ([`job`], [`stage`], [`scope`]). What there
//! is to measure: [`case`].

pub mod case;
pub mod child;
pub mod job;
pub mod launch;
pub mod line;
pub mod scope;
pub mod stage;
