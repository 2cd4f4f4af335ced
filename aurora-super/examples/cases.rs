//! The cases of S0 in its own regime: what its Figures 2 to 7 are about.
//!
//! `cargo run --release -p aurora-super --example cases [MESSAGE]`: units that a report or an order is on its way; 0 if not said.

use aurora_super::Policy;
use aurora_super::dispatch::Config;
use aurora_super::execute::Limits;
use aurora_super::sim::{Case, Cost, Link, OwnOutcome, OwnSetting, SuperProgram, Work, own};

fn row(case: &Case, version: &str, nodes: u32, threads: u32, message: f64) -> OwnOutcome {
    let version: SuperProgram = version.parse().expect("a version");
    let mut setting = case.setting(version, nodes, threads).expect("the paper has its latency");
    setting.link.message = message;
    own(&setting).expect("it can be simulated")
}

fn main() {
    let message = std::env::args().nth(1).map_or(0.0, |units| units.parse().expect("units"));
    println!(
        "case  nodes threads version   seconds  S/it  alive  missed  t_r ms   p_c  merges  sync ms  modifiers  efficiency"
    );
    for case in Case::ALL {
        for nodes in [2, 4, 6, 8] {
            for threads in case.threads {
                let base = row(&case, "S", nodes, *threads, message).common.makespan;
                for version in case.versions {
                    let it = row(&case, version, nodes, *threads, message);
                    println!(
                        "{:6} {nodes:4} {threads:7} {version:7} {:9.3} {:5.2} {:6.2} {:7.3} {:7.2} {:5.2} {:7} {:8.2} {:10} {:11.3}",
                        case.name,
                        it.common.makespan / 1e6,
                        base / it.common.makespan,
                        it.parallelism,
                        it.miss_ratio,
                        it.load_time / 1e3,
                        it.critical,
                        it.merges,
                        it.synchronisation / 1e3,
                        it.modifiers,
                        it.common.efficiency,
                    );
                }
            }
        }
    }
    println!("\nS2's experiment: policy R, 4 ms an instruction in the mean, 20 ms a block, 8 nodes of two cores");
    println!("threads   seconds  alive  missed   p_c  efficiency");
    for threads in [1, 2, 4, 6, 8, 12, 16] {
        let setting = OwnSetting {
            dispatch: Config::new(Policy::R),
            limits: Limits { running: threads, in_flight: threads, budget: None },
            cores: 2,
            cost: Cost::Drawn(Work { below: 8_000, seed: 1 }),
            link: Link { message, ..Link::delay(20_000.0) },
            dispatcher: 0.0,
            ..OwnSetting::new(Policy::R, vec![1.0; 8], 1)
        };
        let it = own(&setting).expect("it can be simulated");
        println!(
            "{threads:7} {:9.3} {:6.2} {:7.3} {:5.2} {:11.3}",
            it.common.makespan / 1e6,
            it.parallelism,
            it.miss_ratio,
            it.critical,
            it.common.efficiency
        );
    }
}
