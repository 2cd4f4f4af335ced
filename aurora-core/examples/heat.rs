//! Heat in a rod, a stencil: each step needs one element of each neighbour. `cargo run -p aurora-spmd --example heat`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

const CELLS: usize = 1000;
const STEPS: usize = 100;

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let mut old = GVector::<f64>::from_fn(world, CELLS, |i| if i == CELLS / 2 { 1000.0 } else { 0.0 })?;
        let mut new = GVector::<f64>::new(world, CELLS)?;
        let mine = old.local_range();
        let inner = mine.start.max(1)..mine.end.min(CELLS - 1); // the two ends stay cold
        for _ in 0..STEPS {
            {
                let old = old.halo_cache(1)?; // one message to each neighbour, and no barrier
                let mut new = new.owner_computes_mut()?; // own elements, as local memory
                for i in inner.clone() {
                    new[i] = old[i] + 0.25 * (old[i - 1] - 2.0 * old[i] + old[i + 1]);
                }
            }
            std::mem::swap(&mut old, &mut new);
        }
        let total = world.all_reduce(Sum, old.owner_computes()?.local().iter().sum::<f64>())?;
        assert!((total - 1000.0).abs() < 1e-6, "no heat is lost: {total}");
        if world.is_root() {
            println!("after {STEPS} steps the middle has {:.2} of {total:.2}", old.at(CELLS / 2)?);
        }
        Ok(())
    })
}
