//! All ranks add to counters that lie on any rank: `cargo run -p aurora-spmd --example histogram`.
//!
//! A ReleaseC suits a large table, whose counters are seldom hit twice. For a small one there is `accumulate`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::ops::Sum;
use aurora_core::prelude::*;

const BINS: usize = 1_000_000;
const EACH: usize = 100_000;

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let mut bins = GVector::<u64>::new(world, BINS)?; // zeros
        {
            let mut bins = bins.release_c_with(Sum)?; // a buffer for each owner: few messages instead of many
            let mut random = (world.rank().index() as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            for _ in 0..EACH {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                bins.update((random >> 33) as usize % BINS, 1)?;
            }
        } // the buffers go out
        let bins = bins.read_cache()?; // waits until all ranks have ended their scopes
        let counted: u64 = bins.iter().sum();
        assert_eq!(counted, (world.size() * EACH) as u64);
        if world.is_root() {
            println!("{counted} numbers in {BINS} bins, at most {} in one", bins.iter().max().unwrap_or(&0));
        }
        Ok(())
    })
}
