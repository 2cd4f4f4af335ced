//! Goodput with loss and short queues, in virtual time, so equal on all machines.

use crate::sim::{Pattern, Scenario};
use std::fmt::Write;

const MIB: usize = 1 << 20;
const SEEDS: u64 = 5;

/// Payload per mille of the line rate.
fn goodput(scenario: &Scenario) -> u64 {
    let multiples = (0..SEEDS).map(|seed| Scenario { seed, ..scenario.clone() }.run().multiple());
    (1000.0 * SEEDS as f64 / multiples.sum::<f64>()).round() as u64
}

fn table() -> String {
    let mut table = String::new();
    let line = "goodput, per mille of 1 Gbit/s; port queues of 32, 128, 512 KiB; mean time of 5 seeds";
    let _ = writeln!(table, "{line}");
    let columns = ["4 MiB", "from a faster interface", "1 MiB from each of 4"].map(|name| format!("{name:^24}"));
    for mtu in [1472, 8972] {
        let _ = writeln!(table, "\n{:>6}{}", mtu + 28, columns.join(""));
        for percent in [0.0, 0.1, 1.0, 5.0, 20.0] {
            let _ = write!(table, "{:>6}", format!("{percent} %"));
            let one = Scenario::new(Pattern::Stream, 2, 4 * MIB);
            let fast = Scenario { send_buffer: None, ..one.clone() };
            let four = Scenario::new(Pattern::Gather, 5, MIB);
            for pattern in [one, fast, four] {
                for queue in [32, 128, 512] {
                    let (rate, loss, queue) = (125_000_000, percent / 100.0, queue * 1024);
                    let scenario = Scenario { rate, mtu, loss, queue, ..pattern.clone() };
                    let _ = write!(table, "{:>7}", goodput(&scenario));
                }
                table.push_str("   ");
            }
            table.truncate(table.trim_end().len());
            table.push('\n');
        }
    }
    table
}

/// A change of these numbers is a change of the protocol: review it, then run with `SNAPSHOT=write`.
#[test]
fn goodput_is_as_recorded() {
    let (path, table) = (concat!(env!("CARGO_MANIFEST_DIR"), "/src/proto/tests/goodput.txt"), table());
    if std::env::var("SNAPSHOT").is_ok_and(|what| what == "write") {
        std::fs::write(path, &table).expect("the snapshot can be written");
    }
    let recorded = std::fs::read_to_string(path).expect("the snapshot is there");
    assert_eq!(table, recorded, "\n{table}");
}
