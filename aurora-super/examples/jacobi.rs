//! Jacobi's method for the temperature of a plate, as a super-program: `cargo run --release --example jacobi`.
//!
//! The plate is cut into strips of rows. An instruction computes the next state of one strip from the last state of the
//! strip and of its neighbours.

#![allow(clippy::print_stdout, reason = "an example")]

use aurora_core::Result;
use aurora_super::{Dense, SuperProgram};

const STRIPS: u32 = 12;
const ROWS: usize = 20;
const COLUMNS: usize = 160;

/// The next state of a strip. Above the plate it is hot; all other edges are cold.
fn sweep(above: Option<&Dense<f64>>, old: &Dense<f64>, below: Option<&Dense<f64>>, new: &mut Dense<f64>) {
    let (hot, cold) = ([1.0; COLUMNS], [0.0; COLUMNS]);
    for i in 0..ROWS {
        let up = if i > 0 { old.row(i - 1) } else { above.map_or(&hot[..], |above| above.row(ROWS - 1)) };
        let down = if i + 1 < ROWS { old.row(i + 1) } else { below.map_or(&cold[..], |below| below.row(0)) };
        for j in 0..COLUMNS {
            let left = if j > 0 { old[(i, j - 1)] } else { 0.0 };
            let right = if j + 1 < COLUMNS { old[(i, j + 1)] } else { 0.0 };
            new[(i, j)] = (up[j] + down[j] + left + right) / 4.0;
        }
    }
}

/// The sum of all temperatures after some steps.
fn heat(sp: &SuperProgram<'_>, steps: u32) -> Result<f64> {
    let mut old = sp.blocks(STRIPS, |_| Dense::zeros(ROWS, COLUMNS))?;
    let mut new = sp.blocks(STRIPS, |_| Dense::zeros(ROWS, COLUMNS))?;
    for _ in 0..steps {
        sp.each(STRIPS, sweep, move |s| (old.near(s, -1), old.at(s), old.near(s, 1), new.at(s)))?;
        std::mem::swap(&mut old, &mut new);
    }
    sp.fold(&old, |strip| strip.values().iter().sum::<f64>(), |sum, strip| sum + strip)
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let sp = SuperProgram::new(world)?;
        let heat_on_ranks = heat(&sp, 200)?;
        let report = sp.report()?;
        if world.is_root() {
            let alone = heat(&SuperProgram::sequential(), 200)?;
            assert_eq!(heat_on_ranks.to_bits(), alone.to_bits(), "ranks and one thread compute the same");
            println!("heat {heat_on_ranks:.3}\n{report}");
        }
        Ok(())
    })
}
