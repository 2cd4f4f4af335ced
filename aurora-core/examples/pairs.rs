//! The mean distance of all pairs of points, without a behaviour and with one:
//! `AURORA_RANKS=4 AURORA_ROUTE=udp cargo run --release -p aurora-spmd --example pairs`.
//!
//! With `AURORA_ROUTE=udp` the ranks of one machine send each other the messages that machines would. Without it they
//! share memory, and both versions send next to nothing.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use std::time::Instant;

const N: usize = 300;

fn before(world: &World) -> Result<f64> {
    let points = GVector::<f64>::from_fn(world, N, |i| (i * i % N) as f64)?;
    let (mine, mut sum) = (points.local_range(), 0.0);
    for i in mine {
        for j in 0..N {
            sum += (points.at(i)? - points.at(j)?).abs();
        }
    }
    Ok(world.all_reduce(Sum, sum)? / (N * N) as f64)
}

fn after(world: &World) -> Result<f64> {
    let points = GVector::<f64>::from_fn(world, N, |i| (i * i % N) as f64)?;
    let (mine, mut sum) = (points.local_range(), 0.0);
    let points = points.read_cache()?; // <-- this line is new
    for i in mine {
        for j in 0..N {
            sum += (points.at(i)? - points.at(j)?).abs();
        }
    }
    Ok(world.all_reduce(Sum, sum)? / (N * N) as f64)
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        for (name, mean_distance) in [("before", before as fn(&World) -> Result<f64>), ("after", after)] {
            let (start, sent) = (Instant::now(), world.stats());
            let mean = mean_distance(world)?;
            let (took, sent) = (start.elapsed(), (world.stats() - sent).total());
            if world.is_root() {
                println!("{name:6}  mean {mean:.2}  {took:9.1?}  {} messages from rank 0", sent.messages);
            }
        }
        Ok(())
    })
}
