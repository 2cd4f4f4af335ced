//! The paper's Figure 1: a loop over a shared vector, and the same loop under a scoped behaviour.
//!
//! Run it with `cargo run --release -p aurora-apps --example figure1`.
//!
//! | the paper's name | ours |
//! |---|---|
//! | `GVector<int> vector1(1024)` | `GVector::<i32>::new(world, 1024)?` |
//! | `vector1[i] = x`, synchronous | `vector1.put(i, x)?` |
//! | `NewBehaviour(vector1, GVReleaseC, int)` | `let mut vector1 = vector1.release_alone()?` |
//! | `GVReleaseC`, entered by the one thread of the figure | `release_alone()`: by one rank; the others continue |
//! | `GVReleaseC`, entered by a team (section 3.4) | `release_c()`: by all ranks |
//! | `// End scope` flushes the buffers | the guard's `Drop`; `finish()?` also returns errors |
//!
//! As in the paper, the handle inside the scope has the name of the vector and hides it. So the loop itself does not
//! change.

use aurora_core::prelude::*;

fn some_func(i: usize) -> i32 {
    (i * i) as i32
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        let mut vector1 = GVector::<i32>::new(world, 1024)?;

        // (a) The original loop, on one rank: each element of another rank costs a message to that rank and a reply.
        let before = world.traffic();
        if world.is_root() {
            for i in 0..1024 {
                vector1.put(i, some_func(i))?;
            }
        }
        let original = world.traffic().transfers_out - before.transfers_out;
        world.barrier()?;

        // (b) The optimised loop: elements are buffered and leave together.
        let before = world.traffic();
        if world.is_root() {
            let mut vector1 = vector1.release_alone()?; // Begin new scope
            for i in 0..1024 {
                vector1.put(i, some_func(i))?;
            }
            vector1.finish()?; // End scope
        }
        let optimised = world.traffic().transfers_out - before.transfers_out;
        world.barrier()?;

        for (i, value) in vector1.read_cache()?.iter_indexed() {
            assert_eq!(*value, some_func(i), "element {i}");
        }
        if world.is_root() {
            report(original, optimised);
        }
        Ok(())
    })
}

#[expect(clippy::print_stdout, reason = "an example shows what it found")]
fn report(original: u64, optimised: u64) {
    println!("all 1024 elements are right on every rank");
    println!("messages from rank 0: {original} without a behaviour, {optimised} with GVReleaseC");
}
