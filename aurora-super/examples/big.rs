//! Big.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use aurora_super::Product;
use aurora_super::policy::Policy;
use aurora_super::sim::{Setting, Speeds, paper};
fn main() {
    for (nodes, n) in [(16, 32), (64, 32), (256, 64), (1024, 64)] {
        for (name, policy) in [("tail", Policy::TAIL), ("ect", Policy::ECT)] {
            for speeds in [Speeds::Homogeneous, Speeds::Mixed] {
                let mut s = Setting::new(policy, speeds.of(nodes), 1);
                s.program = Product::square(n).unwrap();
                let t = std::time::Instant::now();
                let o = paper(&s).unwrap();
                println!(
                    "{nodes} {name} {speeds:?} {:.3} {:.3} {:.3} {:?}",
                    o.imbalance,
                    o.communication,
                    o.efficiency,
                    t.elapsed()
                );
            }
        }
    }
}
