//! The area under 4 / (1 + x^2) from 0 to 1, in strips: `cargo run -p aurora-spmd --example pi`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::f64::consts::PI;

const STRIPS: usize = 1_000_000;

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let strip = |k: usize| {
            let x = (k as f64 + 0.5) / STRIPS as f64;
            4.0 / (1.0 + x * x) / STRIPS as f64
        };
        // Rank r adds the strips r, r + size, r + 2 size, ...
        let mine = (world.rank().index()..STRIPS).step_by(world.size());
        let pi = world.all_reduce(Sum, mine.map(strip).sum::<f64>())?;
        assert!((pi - PI).abs() < 1e-9);
        if world.is_root() {
            println!("pi is about {pi:.10}");
        }
        Ok(())
    })
}
