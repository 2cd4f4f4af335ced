//! Table 1.7.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use aurora_super::policy::Policy;
use aurora_super::sim::{Setting, Speeds, Transfers, paper};
fn main() {
    let seeds: u64 = std::env::args().nth(1).map_or(16, |s| s.parse().unwrap());
    for (speeds, transfers) in [
        (Speeds::Homogeneous, Transfers::Unicast),
        (Speeds::Homogeneous, Transfers::Multicast),
        (Speeds::Mixed, Transfers::Unicast),
        (Speeds::Mixed, Transfers::Multicast),
    ] {
        for (name, policy) in Policy::ALL {
            print!("{speeds:?} {transfers:?} {name:5}");
            let mut comm = String::new();
            let mut eff = String::new();
            for nodes in [2, 4, 8, 16, 32, 64] {
                let (mut im, mut co, mut ef, mut loads) = (0.0, 0.0, 0.0, 0);
                for seed in 0..seeds {
                    let mut s = Setting::new(policy, speeds.of(nodes), seed);
                    s.transfers = transfers;
                    let o = paper(&s).unwrap();
                    im += o.imbalance;
                    co += o.communication;
                    ef += o.efficiency;
                    loads += o.loads;
                }
                let n = seeds as f64;
                print!(" {:.4}", im / n);
                comm += &format!(" {:.4}", co / n);
                eff += &format!(" {:.3}", ef / n);
                if name == "S" && (nodes == 2 || nodes == 64) {
                    eff += &format!("({})", loads / seeds);
                }
            }
            println!(" |{comm} |{eff}");
        }
    }
}
