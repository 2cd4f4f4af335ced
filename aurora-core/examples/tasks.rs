//! Ranks take the next task from one counter, so a fast rank does more of them:
//! `cargo run -p aurora-spmd --example tasks`.
//!
//! A task counts the primes of one range.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

const TASKS: u64 = 100;
const RANGE: u64 = 5000;

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let next = GScalar::new(world, 0, 0_u64)?; // on rank 0
        let (mut done, mut primes) = (0_u64, 0);
        world.barrier()?; // no rank starts early
        loop {
            let task = next.fetch_add(1)?; // each number goes to one rank
            if task >= TASKS {
                break;
            }
            primes += (task * RANGE..(task + 1) * RANGE).filter(|n| is_prime(*n)).count();
            done += 1;
        }
        let primes = world.all_reduce(Sum, primes)?;
        let done = world.all_gather(done)?;
        assert_eq!((primes, done.iter().sum()), (41538, TASKS));
        if world.is_root() {
            println!("{primes} primes below {}; tasks of each rank: {done:?}", TASKS * RANGE);
        }
        Ok(())
    })
}
