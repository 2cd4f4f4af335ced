//! The cost of bulk operations with growing numbers of ranks and under difficulties: time as a multiple of the bound
//! (payload into a node / rate), packets sent again, messages and memory. In virtual time, so equal on all machines.
//!
//! A change of these numbers is a change of the protocol: review it, then run with `SNAPSHOT=write`. For other networks
//! and numbers see `examples/simulate.rs`.

use aurora_net::sim::{Cluster, Host, Outcome, Pattern, Scenario};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::fmt::Write;
use std::time::Duration;

// All threads of a process share the allocator, so this test has a binary of its own.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// 704 x 704 elements of four bytes.
const VECTOR: usize = 704 * 704 * 4;
const MIB: usize = 1 << 20;
const JUMBO: usize = 8972;
const ETHERNET: usize = 1472;

struct Table(String);

impl Table {
    /// The memory of a rank's connections at the end, and the memory of each connection.
    fn head(&mut self, title: &str) {
        let _ = writeln!(self.0, "{title}\n{:40} {}  KiB/rank  each", "", Outcome::HEADING);
    }

    fn row(&mut self, name: &str, scenario: &Scenario) {
        let (mut held, mut connections) = (0, 0);
        let outcome = scenario.run_and(|cluster| {
            connections = cluster.hosts.iter().map(Host::connections).sum();
            held = memory_of(cluster);
        });
        let kib = held as f64 / 1024.0;
        let (rank, each) = (kib / scenario.ranks as f64, kib / connections as f64);
        let _ = writeln!(self.0, "{name:40} {outcome} {rank:9.1} {each:5.1}");
    }
}

/// Bytes of memory held by all connections, measured by dropping them.
fn memory_of(cluster: &mut Cluster) -> usize {
    let region = Region::new(ALLOCATOR);
    cluster.hosts.iter_mut().for_each(Host::clear);
    let change = region.change();
    change.bytes_deallocated - change.bytes_allocated
}

/// The same number of bytes into each node, with more and more nodes.
fn growth(table: &mut Table) {
    for (pattern, name) in [(Pattern::Allgather, "allgather"), (Pattern::Exchange, "exchange")] {
        for mbit in [155, 1000] {
            for queue in [128, 32] {
                table.head(&format!("{name}, {mbit} Mbit/s, MTU 9000, port queue {queue} KiB"));
                for ranks in [2, 16, 128] {
                    let bytes = if pattern == Pattern::Allgather { VECTOR / ranks } else { 2 * MIB };
                    let scenario = Scenario {
                        rate: mbit * 1_000_000 / 8,
                        queue: queue * 1024,
                        ..Scenario::new(pattern, ranks, bytes)
                    };
                    table.row(&format!("{ranks} ranks"), &scenario);
                }
                table.0.push('\n');
            }
        }
    }
    // All 1024 x 1023 connections would take some gigabytes.
    table.head("allgather, 155 Mbit/s, MTU 9000, port queue 128 KiB, each rank to 32 others and with as many");
    for ranks in [128, 1024] {
        let scenario = Scenario { neighbours: Some(32), ..Scenario::new(Pattern::Allgather, ranks, VECTOR / 128) };
        table.row(&format!("{ranks} ranks"), &scenario);
    }
    table.0.push('\n');
}

/// Difficulties: many senders to one, a late rank, loss.
fn trouble(table: &mut Table) {
    table.head("155 Mbit/s, MTU 9000, port queue 128 KiB unless said");
    let gather = Scenario::new(Pattern::Gather, 16, MIB);
    for queue in [128, 32] {
        let name = format!("15 to 1, 1 MiB each, queue {queue} KiB");
        table.row(&name, &Scenario { queue: queue * 1024, ..gather.clone() });
    }
    let name = "15 to 1, 1 MiB each, MTU 1500";
    table.row(name, &Scenario { mtu: ETHERNET, ..gather.clone() });
    let many = Scenario { known_mtu: JUMBO, ..Scenario::new(Pattern::Gather, 1024, 16 * 1024) };
    table.row("1023 to 1, 16 KiB each", &many);
    let late = Scenario { late: Duration::from_millis(100), ..Scenario::new(Pattern::Allgather, 8, VECTOR / 8) };
    table.row("allgather of 8, one 100 ms late", &late);
    for queue in [128, 32] {
        let sluggish = Scenario {
            wake_up: Duration::from_millis(2),
            skew: Duration::from_millis(5),
            queue: queue * 1024,
            ..Scenario::new(Pattern::Allgather, 16, VECTOR / 16)
        };
        table.row(&format!("16 ranks that wake late, queue {queue} KiB"), &sluggish);
    }
    let finds_out = Scenario { known_mtu: ETHERNET, ..Scenario::new(Pattern::Allgather, 8, VECTOR / 8) };
    table.row("allgather of 8, MTU not yet known", &finds_out);
    for percent in [0.0, 0.1, 1.0, 5.0] {
        let lossy =
            Scenario { mtu: ETHERNET, loss: percent / 100.0, ..Scenario::new(Pattern::Allgather, 4, VECTOR / 4) };
        table.row(&format!("allgather of 4, MTU 1500, loss {percent} %"), &lossy);
    }
}

#[test]
fn scale_is_as_recorded() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scale.txt");
    let mut table = Table(String::new());
    growth(&mut table);
    trouble(&mut table);
    if std::env::var("SNAPSHOT").is_ok_and(|what| what == "write") {
        std::fs::write(path, &table.0).expect("the snapshot can be written");
    }
    let recorded = std::fs::read_to_string(path).expect("the snapshot is there");
    assert!(table.0 == recorded, "not as in {path}:\n{}", table.0);
}
