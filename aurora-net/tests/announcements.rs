//! Entering or ending a scope sends an announcement to all others at once: p - 1 messages per rank. The alternative is
//! rounds, in each of which a rank passes all its knowledge to one other rank: log2(p) messages, one after another.
//! This test compares both on a simulated network, in virtual time, with equal results on all machines.

use aurora_net::sim::{Pattern, Scenario};
use std::time::Duration;

/// The length of a message without data.
const BYTES: usize = 48;

/// The time until all ranks have a message from this many others. Ranks take no time except on their wires. This
/// favours rounds, in each of which a real rank must be woken.
fn time(ranks: usize, mbit: u64, others: Option<usize>) -> Duration {
    let scenario = Scenario {
        rate: mbit * 1_000_000 / 8,
        mtu: 1472,
        known_mtu: 1472,
        neighbours: others,
        skew: Duration::ZERO,
        ..Scenario::new(Pattern::Allgather, ranks, BYTES)
    };
    scenario.run().time
}

fn at_once(ranks: usize, mbit: u64) -> Duration {
    time(ranks, mbit, None)
}

fn in_rounds(ranks: usize, mbit: u64) -> Duration {
    time(ranks, mbit, Some(1)) * ranks.next_power_of_two().ilog2()
}

#[test]
fn all_at_once_is_over_first_on_networks_of_today() {
    for (mbit, most) in [(1000, 64), (10_000, 256)] {
        for ranks in [8, 32, 64, 256].into_iter().filter(|ranks| *ranks <= most) {
            let (direct, rounds) = (at_once(ranks, mbit), in_rounds(ranks, mbit));
            assert!(direct < rounds, "{ranks} ranks at {mbit} Mbit/s: {direct:?}, in rounds {rounds:?}");
        }
    }
}

#[test]
fn rounds_are_for_slow_networks_and_many_ranks() {
    for (mbit, ranks) in [(155, 32), (155, 256), (1000, 256)] {
        let (direct, rounds) = (at_once(ranks, mbit), in_rounds(ranks, mbit));
        assert!(direct > rounds, "{ranks} ranks at {mbit} Mbit/s: {direct:?}, in rounds {rounds:?}");
    }
}
