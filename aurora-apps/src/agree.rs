//! The values that all ranks must agree on: the job, and a seed.

use aurora_core::prelude::*;
use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Collective. Returns the seed `asked`, or a new seed that rank 0 draws for all ranks.
pub fn seed(world: &World, asked: Option<u64>) -> Result<u64> {
    world.broadcast(0, asked.unwrap_or_else(fresh))
}

/// Collective. Checks that all ranks run the same job.
///
/// # Errors
/// [`DifferentJobs`]; an error that has ended the job.
pub fn same(world: &World, job: &impl Debug) -> Result<()> {
    let jobs = world.all_gather(format!("{job:?}"))?;
    match jobs.iter().position(|other| *other != jobs[0]) {
        Some(rank) => Err(Error::user(DifferentJobs { rank, one: jobs[0].clone(), other: jobs[rank].clone() })),
        None => Ok(()),
    }
}

/// Ranks were started with different arguments.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("all ranks need the same arguments: rank 0 has {one}, and rank {rank} has {other}")]
pub struct DifferentJobs {
    rank: usize,
    one: String,
    other: String,
}

/// Makes a seed from the time. The seed has 48 bits, so it is short enough to be typed again.
fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |time| time.as_nanos() as u64);
    crate::random::Stream::new(nanos, 0).bits(0) >> 16
}
