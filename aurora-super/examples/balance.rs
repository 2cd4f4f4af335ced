//! Super-programs of sleeping instructions, and their simulation: `cargo run --release --example balance [RANKS]`.
//!
//! Both run the same policy over the same work. The first table has equal ranks; in the second, ranks with odd numbers
//! are three times as fast.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use aurora_core::ops::Sum;
use aurora_core::{Config, Result};
use aurora_super::dispatch;
use aurora_super::execute::Limits;
use aurora_super::sim::{Cost, Link, OwnSetting, Work, own};
use aurora_super::{Instruction, Policy, Product, Super, Update, Val};
use std::thread::sleep;
use std::time::Duration;

/// Blocks in a row of the product.
const N: u32 = 8;

/// The most work of an instruction, in us on a rank of speed 1.
const MOST: u32 = 120_000;

fn setting(policy: Policy, speeds: &[f64], seed: u64) -> OwnSetting {
    let mut setting = OwnSetting::new(policy, speeds.to_vec(), seed);
    setting.program = Product::square(N).expect("it has blocks");
    setting.cost = Cost::Drawn(Work { below: MOST, seed });
    setting.dispatch = dispatch::Config { guided: true, ..dispatch::Config::new(policy) };
    setting.limits = Limits { running: 1, in_flight: 2, budget: None };
    // Blocks of a few bytes, and messages between threads of one machine.
    setting.link = Link { message: 50.0, latency: 100.0, ..Link::FREE };
    (setting.bytes, setting.result_bytes) = (8, 8);
    setting
}

/// Returns the makespan in us, and the imbalance.
fn measured(setting: OwnSetting) -> Result<(f64, f64)> {
    let speeds = setting.speeds.clone();
    Config::threads(speeds.len()).run(move |world| {
        let policy = setting.dispatch.policy;
        let sp = Super::default().policy(policy).speeds(&speeds[..]).workers(1).in_flight(2).start(world)?;
        let (a, b) = (sp.blocks((N, N), |_| 0_u8)?, sp.blocks((N, N), |_| 0_u8)?);
        let c = sp.blocks((N, N), |_| 0_u32)?;
        let own_speed = speeds[world.rank().index()];
        let run = move |_: &u8, _: &u8, Val(work): Val<f64>, c: &mut Update<u32, Sum>| {
            sleep(Duration::from_secs_f64(work / own_speed / 1e6));
            **c += 1;
        };
        let (cost, program) = (setting.cost, setting.program);
        let work = move |(i, j), k| Val(cost.of(&program, Instruction { group: i * N + j, k }));
        sp.launch((N, N), N, run, move |(i, j), k| (a.at((i, k)), b.at((k, j)), work((i, j), k), c.at((i, j))))?;
        assert_eq!(sp.fold(&c, |c| *c, |x, y| x + y)?, N * N * N);
        let report = sp.report()?;
        let makespan = report.total().elapsed.as_secs_f64() * 1e6;
        let idle =
            |(speed, rank): (&f64, &aurora_super::run::Tally)| speed * (makespan - rank.busy.as_secs_f64() * 1e6);
        let wasted: f64 = speeds.iter().zip(&report.ranks).map(idle).sum();
        Ok((makespan, wasted / (speeds.iter().sum::<f64>() * makespan)))
    })
}

fn main() -> Result<()> {
    let ranks = std::env::args().nth(1).and_then(|ranks| ranks.parse().ok()).unwrap_or(4);
    for (name, fast) in [("equal ranks", 1.0), ("1:3", 3.0)] {
        let speeds: Vec<f64> = (0..ranks).map(|rank| if rank % 2 == 1 { fast } else { 1.0 }).collect();
        println!("{ranks} ranks, {name}: makespan in s (simulated, ratio), imbalance (simulated)");
        for policy in [Policy::S, Policy::SS, Policy::TAIL, Policy::ECT] {
            let setting = setting(policy, &speeds, 7);
            let simulated = own(&setting).expect("a setting that can be simulated").common;
            let (makespan, imbalance) = measured(setting)?;
            let (name, ratio) = (policy.name().expect("it has a name"), makespan / simulated.makespan);
            let (run, sim) = (makespan / 1e6, simulated.makespan / 1e6);
            println!("  {name:<5}{run:>8.3} ({sim:.3}, {ratio:.3}){imbalance:>9.4} ({:.4})", simulated.imbalance);
        }
    }
    Ok(())
}
