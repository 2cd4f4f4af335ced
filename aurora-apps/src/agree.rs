//! What every rank must know alike: a seed.

use aurora_core::prelude::*;
use std::time::{SystemTime, UNIX_EPOCH};

/// Collective. The seed asked for, or a new one that rank 0 draws for all.
pub fn seed(world: &World, asked: Option<u64>) -> Result<u64> {
    world.broadcast(0, asked.unwrap_or_else(fresh))
}

/// A seed from the time; 48 bits of it, which is short enough to type again.
fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |time| time.as_nanos() as u64);
    crate::random::Stream::new(nanos, 0).bits(0) >> 16
}
