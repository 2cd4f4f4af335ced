//! Operations and programs by Aurora and by MPI, side by side, for `cargo bench`. See `benches/README.md`.
//!
//! Criterion measures in one process, which is rank 0 of a job of several ranks; the process that cargo starts becomes
//! the launcher of that job ([`launch`]). Rank 0 sends each order to all ranks: a variant and a number of iterations.
//! All ranks execute and verify it ([`job`], [`scope`]). A job without progress is ended ([`watch`]). The cases:
//! [`case`].

pub mod case;
pub mod job;
pub mod launch;
pub mod scope;
pub mod watch;
