//! The link model of the simulator compared with `aurora-net`'s simulated network: the times of blocks in both.
//!
//! `cargo run --release -p aurora-super --example calibrate [HOSTS]`: all-to-all with up to 8 hosts, or up to HOSTS.

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

#[path = "../tests/calibration/bulk.rs"]
mod bulk;

use bulk::Bulk;

fn main() {
    let most: u32 = std::env::args().nth(1).map_or(8, |hosts| hosts.parse().expect("how many hosts"));
    println!("Mbit/s pattern    hosts   KB  network ms    model ms   ratio");
    let hosts: Vec<u32> = [2, 4, 8, 16, 32, 64].into_iter().filter(|hosts| *hosts <= most).collect();
    for bulk in Bulk::all(&[10, 25, 40, 99, 200, 500], &hosts) {
        let times = bulk.times();
        println!("{bulk} {:11.4} {:11.4} {:7.3}", times.network, times.model, times.ratio());
    }
}
