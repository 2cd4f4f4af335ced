//! Ranks and the world: `cargo run -p aurora-spmd --example hello`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

fn main() -> Result<()> {
    aurora_core::run(|world| {
        println!("hello from {} of {}", world.rank(), world.size());
        let total = world.all_reduce(Sum, world.rank().index())?; // all ranks get the sum
        assert_eq!(total, (0..world.size()).sum::<usize>());
        world.barrier()?; // all greetings come before the next line
        if world.is_root() {
            println!("the ranks' numbers add up to {total}");
        }
        Ok(())
    })
}
