//! Operations and programs by Aurora and by MPI, side by side, for `cargo bench`. See `benches/README.md`.
//!
//! Criterion measures in one process, which is rank 0 of a job of several ranks; the process that cargo starts becomes
//! what starts that job ([`launch`]). Rank 0 tells the others what to carry out how often; all do, and verify it
//! ([`job`], [`scope`]). A job that does not go on is ended ([`watch`]). What there is to measure: [`case`].

pub mod case;
pub mod job;
pub mod launch;
pub mod scope;
pub mod watch;
