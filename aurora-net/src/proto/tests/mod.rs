//! Connections over the simulated network.

mod census;
mod faults;
mod goodput;
mod hostile;
mod path_mtu;
mod shared;
mod timing;
mod withdrawal;

use crate::proto::Config;
use crate::random::Random;
use crate::sim::{Cluster, Link};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn pair(seed: u64, link: &Link) -> Cluster {
    Cluster::new(2, seed, link, |_| ())
}

/// Payload bytes in a packet of the default MTU that opens a transfer with a header of `header` bytes.
fn one_packet(header: usize) -> usize {
    Config::new(0, 0.into(), 1.into()).mtu - crate::wire::OVERHEAD - crate::wire::OPEN_LEN - header
}

fn bytes(seed: u64, len: usize) -> Vec<u8> {
    Random::new(seed).bytes(len)
}

/// The seeds of a test: `SEED=n` replays the one that a failure has printed.
fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..count,
    }
}
