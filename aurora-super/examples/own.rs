//! S2's program in own mode: all policies by the number of nodes, and the time that the simulator takes.
//!
//! `cargo run --release -p aurora-super --example own`

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use aurora_super::sim::{Loss, OwnSetting, SlowDown, Speeds, own};
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

/// Prints the time of a run in which something happens to node 3 at half time, as a multiple of the time of an
/// undisturbed run.
fn trouble() {
    println!("4 nodes; at half time node 3 is lost (noticed 10 ms later), or goes on with a quarter of its speed");
    println!("policy  lost: times as long, instructions again  slow: times as long");
    for (name, policy) in Policy::ALL {
        let setting = OwnSetting::new(policy, vec![1.0; 4], 1);
        let whole = own(&setting).expect("it can be simulated").common.makespan;
        let losses = vec![Loss { node: 3, at: whole / 2.0, noticed_after: 10_000.0 }];
        let slow_downs = vec![SlowDown { node: 3, at: whole / 2.0, factor: 0.25 }];
        let broken = own(&OwnSetting { losses, ..setting.clone() }).expect("it can be simulated");
        let slow = own(&OwnSetting { slow_downs, ..setting }).expect("it can be simulated");
        let [lost, slow] = [broken.common.makespan / whole, slow.common.makespan / whole];
        println!("{name:6} {lost:7.3} {:8} {slow:7.3}", broken.repeated);
    }
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
    trouble();
    println!("128 x 128 x 128 blocks");
    for (name, policy) in [("S", Policy::S), ("tail", Policy::TAIL)] {
        let program = Product::square(128).expect("it has blocks");
        row(name, &OwnSetting { program, ..OwnSetting::new(policy, vec![1.0; 4096], 1) });
    }
}
