//! How fast the protocol is where loss and queues are in its way: numbers in virtual time, the same on every machine.

use super::*;
use crate::sim::Nic;
use std::fmt::Write;

/// Gigabit Ethernet.
const RATE: u64 = 125_000_000;
const MIB: usize = 1 << 20;

/// Ranks whose interfaces are as fast as the ports of the switch.
fn cluster(size: usize, mtu: usize, link: &Link) -> Cluster {
    let mut cluster = Cluster::new(size, 1, link, |config| {
        config.mtu = mtu;
        config.peers = size - 1;
    });
    cluster.network.set_nics(&Nic::new(RATE, 256 * 1024));
    cluster
}

/// Per mille of the rate that payload takes while `senders` send `len` bytes each to rank 0.
fn goodput(senders: usize, len: usize, mtu: usize, link: &Link) -> u64 {
    let mut cluster = cluster(senders + 1, mtu, link);
    let start = cluster.now;
    for sender in 1..=senders {
        cluster.lend(sender, 0, b"place", vec![sender as u8; len]);
    }
    assert!(cluster.run(1000 * SECOND, Cluster::is_idle));
    let nanos = (cluster.now - start).as_nanos() as u64;
    (senders * len) as u64 * 1000 / (RATE * nanos / 1_000_000_000)
}

/// All ranks send `len` bytes to all others: multiples, in per mille, of the time that a port needs for its share.
fn all_to_all(size: usize, len: usize, link: &Link) -> (u64, u64) {
    let mut cluster = cluster(size, 1472, link);
    let start = cluster.now;
    for from in 0..size {
        for step in 1..size {
            cluster.lend(from, (from + step) % size, b"place", vec![1; len]);
        }
    }
    assert!(cluster.run(1000 * SECOND, Cluster::is_idle));
    let bound = ((size - 1) * len) as u64 * 1_000_000_000 / RATE;
    let resent: u64 = cluster.hosts.iter().map(|host| host.counters().packets_resent).sum();
    let sent = cluster.network.tally().sent;
    ((cluster.now - start).as_nanos() as u64 * 1000 / bound, resent * 1000 / sent)
}

fn table() -> String {
    let mut table = String::from("goodput, per mille of 1 Gbit/s; 4 MiB, port queue 128 KiB\n");
    let _ = writeln!(table, "{:>10} {:>8} {:>8} {:>8}", "loss", "1472", "8972", "4 to 1");
    for (name, loss) in [("0", 0.0), ("0.1 %", 0.001), ("1 %", 0.01), ("5 %", 0.05), ("20 %", 0.2)] {
        let link = Link { rate: Some(RATE), queue: 128 * 1024, loss, ..Link::default() };
        let one = goodput(1, 4 * MIB, 1472, &link);
        let jumbo = goodput(1, 4 * MIB, 8972, &link);
        let incast = goodput(4, MIB, 1472, &link);
        let _ = writeln!(table, "{name:>10} {one:>8} {jumbo:>8} {incast:>8}");
    }
    let _ = writeln!(table, "\nall to all, 256 KiB each: per mille of the bound, and of packets sent again");
    for (size, queue) in [(4, 128), (4, 32), (8, 128), (8, 32)] {
        let link = Link { rate: Some(RATE), queue: queue * 1024, ..Link::default() };
        let (time, resent) = all_to_all(size, MIB / 4, &link);
        let _ = writeln!(table, "{size:>3} ranks, queue {queue:>3} KiB {time:>8} {resent:>8}");
    }
    table
}

/// A change of these numbers is a change of the protocol: look at it, then run with `SNAPSHOT=write`.
#[test]
fn goodput_is_as_recorded() {
    let (path, table) = (concat!(env!("CARGO_MANIFEST_DIR"), "/src/proto/tests/goodput.txt"), table());
    if std::env::var("SNAPSHOT").is_ok_and(|what| what == "write") {
        std::fs::write(path, &table).expect("the snapshot can be written");
    }
    let recorded = std::fs::read_to_string(path).expect("the snapshot is there");
    assert_eq!(table, recorded, "\n{table}");
}
