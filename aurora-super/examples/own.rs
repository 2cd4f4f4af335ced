//! S2's program in own mode: all policies by nodes, and how long the simulator takes.
//!
//! `cargo run --release -p aurora-super --example own`

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use aurora_super::sim::{OwnSetting, Speeds, own};
use aurora_super::{Policy, Product};
use std::time::Instant;

fn row(name: &str, setting: &OwnSetting) {
    let start = Instant::now();
    let it = own(setting).expect("it can be simulated");
    let took = start.elapsed().as_secs_f64() * 1e3;
    let common = it.common;
    print!("{name:6} {:5} {:9.3}", setting.speeds.len(), common.makespan / 1e6);
    print!(" {:9.4} {:9.4} {:9.4}", common.imbalance, common.communication, common.efficiency);
    println!(" {:6.2} {:7.3} {:6} {:8} {took:10.1}", it.parallelism, it.miss_ratio, it.merges, it.messages);
}

fn main() {
    println!("policy nodes   seconds imbalance  communic.  efficien.  alive missed merges messages simulated in ms");
    for speeds in [Speeds::Homogeneous, Speeds::Mixed] {
        println!("{speeds:?}");
        for (name, policy) in Policy::ALL {
            for nodes in [2, 4, 8, 16, 32, 64] {
                row(name, &OwnSetting::new(policy, speeds.of(nodes), 1));
            }
        }
    }
    println!("128 x 128 x 128 blocks");
    for (name, policy) in [("S", Policy::S), ("tail", Policy::TAIL)] {
        let program = Product::square(128).expect("it has blocks");
        row(name, &OwnSetting { program, ..OwnSetting::new(policy, vec![1.0; 4096], 1) });
    }
}
