//! Heat in a plate, a stencil: each step needs one row of each neighbour. `cargo run -p aurora-spmd --example heat`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

const N: usize = 100;
const STEPS: usize = 30;

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let plate = MatrixDim::new(N, N); // each rank has a block of rows
        let mut old = GVector::<f64>::from_fn(world, plate, |i| if i == N / 2 * N + N / 2 { 1000.0 } else { 0.0 })?;
        let mut new = GVector::<f64>::new(world, plate)?;
        for _ in 0..STEPS {
            {
                let old = old.halo_cache(1)?; // the own rows, and one row of each neighbour
                let mut new = new.owner_computes_mut()?; // the own rows, as local memory
                for i in new.rows().filter(|i| (1..N - 1).contains(i)) {
                    for j in 1..N - 1 {
                        let around = old[(i - 1, j)] + old[(i + 1, j)] + old[(i, j - 1)] + old[(i, j + 1)];
                        new[(i, j)] = old[(i, j)] + 0.2 * (around - 4.0 * old[(i, j)]);
                    }
                }
            }
            std::mem::swap(&mut old, &mut new);
        }
        let mine: f64 = old.owner_computes()?.local().iter().sum(); // the guard ends here, before all ranks meet
        let total = world.all_reduce(Sum, mine)?;
        assert!((total - 1000.0).abs() < 1e-6, "no heat is lost: {total}");
        if world.is_root() {
            println!("after {STEPS} steps the middle has {:.2} of {total:.2}", old.at(N / 2 * N + N / 2)?);
        }
        Ok(())
    })
}
