//! Big.
use aurora_super::Product;
use aurora_super::policy::Policy;
use aurora_super::sim::{Setting, Speeds, paper};
fn main() {
    for (nodes, n) in [(1024, 64), (4096, 128)] {
        for (name, policy) in [("tail", Policy::TAIL), ("S", Policy::S), ("R", Policy::R)] {
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
