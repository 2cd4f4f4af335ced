//! Ranks and the world: `AURORA_RANKS=4 cargo run -p aurora-spmd --example hello`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

fn main() -> Result<()> {
    aurora_core::run(|world| {
        println!("hello from {} of {}", world.rank(), world.size()); // other ranks' lines come out on stderr
        let total = world.all_reduce(Sum, world.rank().index())?; // all ranks get the sum
        assert_eq!(total, (0..world.size()).sum::<usize>());
        if world.is_root() {
            println!("the numbers of the ranks add up to {total}");
        }
        Ok(())
    })
}
