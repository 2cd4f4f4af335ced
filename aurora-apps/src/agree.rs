//! The value that all ranks must agree on: a seed.

use aurora_core::prelude::*;
use std::time::{SystemTime, UNIX_EPOCH};

/// Collective. Returns the seed `asked`, or a new seed that rank 0 draws for all ranks.
pub fn seed(world: &World, asked: Option<u64>) -> Result<u64> {
    world.broadcast(0, asked.unwrap_or_else(fresh))
}

/// Makes a seed from the time. The seed has 48 bits, so it is short enough to be typed again.
fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |time| time.as_nanos() as u64);
    crate::random::Stream::new(nanos, 0).bits(0) >> 16
}
