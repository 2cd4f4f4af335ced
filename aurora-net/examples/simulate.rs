//! Bulk operations on a simulated network, with a row for each combination of the options.
//!
//! `cargo run --release -p aurora-net --example simulate -- --pattern allgather --ranks 4,8,16 --queue 128,32`
#![allow(clippy::print_stdout)]

use aurora_net::proto::Network;
use aurora_net::sim::{Cluster, Host, Outcome, Pattern, Scenario};
use clap::Parser;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Rows of time / bound and more, in virtual time. Options take lists, separated by commas; the first varies slowest.
#[derive(Parser)]
struct Options {
    /// allgather, exchange, gather (all to rank 0), stream (rank 0 to rank 1)
    #[arg(long, value_delimiter = ',', default_value = "allgather", value_parser = pattern)]
    pattern: Vec<Pattern>,
    /// Ranks
    #[arg(long, value_delimiter = ',', default_value = "4,8,16")]
    ranks: Vec<usize>,
    /// Bytes that each sending rank contributes [default: its part of a vector]
    #[arg(long, value_delimiter = ',')]
    bytes: Vec<usize>,
    /// Bytes of a vector of which each rank holds an equal part (instead of --bytes)
    #[arg(long, value_delimiter = ',', default_value = "1982464")]
    vector: Vec<usize>,
    /// Mbit/s of each interface and port
    #[arg(long, value_delimiter = ',', default_value = "155")]
    rate: Vec<u64>,
    /// MTU of the network; datagrams are shorter by 28
    #[arg(long, value_delimiter = ',', default_value = "9000")]
    mtu: Vec<usize>,
    /// KiB of queue at each port of the switch
    #[arg(long, value_delimiter = ',', default_value = "128")]
    queue: Vec<usize>,
    /// Percent of datagrams lost by chance
    #[arg(long, value_delimiter = ',', default_value = "0")]
    loss: Vec<f64>,
    /// Milliseconds by which the last rank enters late
    #[arg(long, value_delimiter = ',', default_value = "0")]
    late: Vec<u64>,
    /// MTU that connections assume at first [default: --mtu]
    #[arg(long)]
    known_mtu: Option<usize>,
    /// Ranks that each rank sends to
    #[arg(long)]
    neighbours: Option<usize>,
    /// One-way latency in microseconds
    #[arg(long, default_value_t = 25)]
    latency: u64,
    /// Microseconds within which ranks enter, at random
    #[arg(long, default_value_t = 100)]
    skew: u64,
    /// Microseconds within which ranks notice arrivals and room to send, at random
    #[arg(long, default_value_t = 0)]
    wake_up: u64,
    /// KiB of the send buffer as Linux reports it; 0: infinitely fast interfaces
    #[arg(long, default_value_t = 256)]
    send_buffer: usize,
    /// KiB of the receive buffer as Linux reports it
    #[arg(long, default_value_t = 8192)]
    receive_buffer: usize,
    /// The network has other users too
    #[arg(long)]
    shared: bool,
    /// Percent by which parts of an exchange vary
    #[arg(long, default_value_t = 0.0)]
    uneven: f64,
    /// Seeds, a row each
    #[arg(long, value_delimiter = ',', default_value = "1")]
    seeds: Vec<u64>,
}

/// Bytes of memory held by all connections, measured by dropping them.
fn memory_of(cluster: &mut Cluster) -> usize {
    let region = Region::new(ALLOCATOR);
    cluster.hosts.iter_mut().for_each(Host::clear);
    let change = region.change();
    change.bytes_deallocated - change.bytes_allocated
}

fn pattern(name: &str) -> Result<Pattern, String> {
    match name {
        "allgather" => Ok(Pattern::Allgather),
        "exchange" => Ok(Pattern::Exchange),
        "gather" => Ok(Pattern::Gather),
        "stream" => Ok(Pattern::Stream),
        _ => Err("one of allgather, exchange, gather, stream".to_owned()),
    }
}

/// Each of `scenarios` with each of `values`.
fn each<T: Copy>(scenarios: Vec<Scenario>, values: &[T], set: impl Fn(&mut Scenario, T)) -> Vec<Scenario> {
    let with = |scenario: &Scenario, value| {
        let mut scenario = scenario.clone();
        set(&mut scenario, value);
        scenario
    };
    scenarios.iter().flat_map(|scenario| values.iter().map(move |value| with(scenario, *value))).collect()
}

fn main() {
    let options = Options::parse();
    let mut scenarios = vec![Scenario::new(Pattern::Allgather, 2, 0)];
    scenarios = each(scenarios, &options.pattern, |scenario, pattern| scenario.pattern = pattern);
    scenarios = match options.bytes[..] {
        [] => each(scenarios, &options.vector, |scenario, bytes| scenario.bytes = bytes),
        _ => each(scenarios, &options.bytes, |scenario, bytes| scenario.bytes = bytes),
    };
    scenarios = each(scenarios, &options.rate, |scenario, rate| scenario.rate = rate * 1_000_000 / 8);
    scenarios = each(scenarios, &options.mtu, |scenario, mtu| scenario.mtu = mtu - 28);
    scenarios = each(scenarios, &options.loss, |scenario, loss| scenario.loss = loss / 100.0);
    scenarios = each(scenarios, &options.queue, |scenario, queue| scenario.queue = queue * 1024);
    scenarios = each(scenarios, &options.late, |scenario, late| scenario.late = Duration::from_millis(late));
    scenarios = each(scenarios, &options.ranks, |scenario, ranks| {
        scenario.ranks = ranks;
        if options.bytes.is_empty() {
            scenario.bytes /= ranks;
        }
    });
    scenarios = each(scenarios, &options.seeds, |scenario, seed| scenario.seed = seed);
    println!("pattern   ranks    bytes Mbit/s  mtu queue loss% late | {}  KiB/rank | seconds", Outcome::HEADING);
    for mut scenario in scenarios {
        scenario.known_mtu = options.known_mtu.unwrap_or(9000) - 28;
        scenario.neighbours = options.neighbours;
        scenario.uneven = options.uneven / 100.0;
        scenario.latency = Duration::from_micros(options.latency);
        scenario.skew = Duration::from_micros(options.skew);
        scenario.wake_up = Duration::from_micros(options.wake_up);
        scenario.send_buffer = (options.send_buffer > 0).then_some(options.send_buffer * 1024);
        scenario.receive_buffer = options.receive_buffer * 1024;
        scenario.network = if options.shared { Network::Shared } else { Network::Dedicated };
        let mut held = 0;
        let outcome = scenario.run_and(|cluster| held = memory_of(cluster));
        println!(
            "{:9} {:5} {:8} {:6} {:4} {:5} {:5} {:4} | {outcome} {:9.1} | {:7.4}",
            format!("{:?}", scenario.pattern).to_lowercase(),
            scenario.ranks,
            scenario.bytes,
            scenario.rate * 8 / 1_000_000,
            scenario.mtu + 28,
            scenario.queue / 1024,
            scenario.loss * 100.0,
            scenario.late.as_millis(),
            held as f64 / 1024.0 / scenario.ranks as f64,
            outcome.time.as_secs_f64(),
        );
    }
}
