//! The cases of S0 in its own regime: the subjects of its Figures 2 to 7.
//!
//! `cargo run --release -p aurora-super --example cases [MESSAGE [DISPATCHER]] [wire]`: MESSAGE is the time of a report
//! or an order on its way, and DISPATCHER the time that the dispatcher takes for it, in units; the default is 0. With
//! `wire`, blocks take their time on 100 Mbit/s, and the latency is the rest of the paper's latency.

#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use aurora_super::Policy;
use aurora_super::dispatch::Config;
use aurora_super::execute::Limits;
use aurora_super::sim::{Case, Link, OwnOutcome, SuperProgram, own};

struct Regime {
    message: f64,
    dispatcher: f64,
    wire: bool,
}

impl Regime {
    fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let mut units = arguments.iter().filter_map(|argument| argument.parse().ok());
        let (message, dispatcher) = (units.next().unwrap_or(0.0), units.next().unwrap_or(0.0));
        Regime { message, dispatcher, wire: arguments.iter().any(|argument| argument == "wire") }
    }

    /// `R'` is R with results that stay with the owners of their parts.
    fn run(&self, case: &Case, version: &str, nodes: u32, threads: u32) -> OwnOutcome {
        let letter: SuperProgram = version.trim_end_matches('\'').parse().expect("a version");
        let mut setting = case.setting(letter, nodes, threads).expect("the paper has its latency");
        setting.link.message = self.message;
        setting.dispatcher = self.dispatcher;
        setting.results_stay = version.ends_with('\'');
        if self.wire {
            let ethernet =
                Link { latency: 0.0, message: self.message, packet: 1460, framing: 78, ..Link::ethernet(100.0) };
            let left = setting.link.latency - ethernet.alone(case.bytes());
            setting.link = Link { latency: left.max(0.0), ..ethernet };
        }
        own(&setting).expect("it can be simulated")
    }

    fn table(&self) {
        println!(
            "case  nodes threads version   seconds  S/it  alive  missed  t_r ms   p_c  merges  sync ms  modifiers  efficiency"
        );
        for case in Case::ALL {
            let mut versions = case.versions.to_vec();
            if case.versions.contains(&"R") {
                versions.insert(2, "R'");
            }
            for (nodes, threads) in [2, 4, 6, 8].iter().flat_map(|nodes| case.threads.iter().map(move |t| (*nodes, *t)))
            {
                let base = self.run(&case, "S", nodes, threads).common.makespan;
                for version in &versions {
                    let it = self.run(&case, version, nodes, threads);
                    print!("{:6} {nodes:4} {threads:7} {version:7} {:9.3}", case.name, it.common.makespan / 1e6);
                    print!(" {:5.2} {:6.2}", base / it.common.makespan, it.parallelism);
                    print!(" {:7.3} {:7.2} {:5.2}", it.miss_ratio, it.load_time / 1e3, it.critical);
                    print!(" {:7} {:8.2} {:10}", it.merges, it.synchronisation / 1e3, it.modifiers);
                    println!(" {:11.3}", it.common.efficiency);
                }
            }
        }
    }

    /// 256r2 with ranges: a node knows the next instructions of its group, and fetches their operands.
    fn ranges(&self) {
        println!("\n256r2 on 8 nodes with ranges, 6 in flight, 2 running");
        println!("policy grain extends   seconds  alive  missed  merges  efficiency");
        let case: Case = "256r2".parse().expect("a case");
        let versions = [0, 2, 3].map(|at| (SuperProgram::ALL[at].name, SuperProgram::ALL[at].policy()));
        for (grain, extends) in [(8, true), (3, false), (1, false)] {
            for (name, policy) in versions.into_iter().chain([("tail", Policy::TAIL)]) {
                let mut setting = case.setting(SuperProgram::ALL[0], 8, 6).expect("the paper has its latency");
                setting.dispatch = Config { policy, grain, extends, guided: false, seed: 0 };
                setting.limits = Limits { running: 2, in_flight: 6, budget: None };
                let it = own(&setting).expect("it can be simulated");
                print!("{name:6} {grain:5} {extends:7} {:9.3} {:6.2}", it.common.makespan / 1e6, it.parallelism);
                println!(" {:7.3} {:7} {:11.3}", it.miss_ratio, it.merges, it.common.efficiency);
            }
        }
    }
}

fn main() {
    let regime = Regime::from_arguments();
    regime.table();
    regime.ranges();
}
