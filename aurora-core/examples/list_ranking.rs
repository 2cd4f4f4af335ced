//! How far is each element of a linked list from its end? By pointer jumping, with random reads:
//! `cargo run -p aurora-spmd --example list_ranking`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::prelude::*;

const N: usize = 4096;

/// A list through all elements, in no order of their own: 0 is the last, and its own successor.
fn successor(i: usize) -> usize {
    // Element i is (i * 2731) mod N steps away from the end; 3 * 2731 is 1 modulo N.
    let steps = i * 2731 % N;
    steps.saturating_sub(1) * 3 % N
}

fn main() -> Result<()> {
    aurora_core::run(|world| {
        // An element: its successor, and how many steps away that is.
        let mut list = GVector::<[u64; 2]>::from_fn(world, N, |i| [successor(i) as u64, u64::from(i != 0)])?;
        let mut next = GVector::<[u64; 2]>::new(world, N)?;
        // Each round doubles the steps that an element has jumped; N is a power of two.
        for _ in 0..N.ilog2() {
            let own = list.owner_computes()?.local().to_vec();
            let successors: Vec<usize> = own.iter().map(|[successor, _]| *successor as usize).collect();
            let theirs = list.batched_reads()?.read(&successors)?; // all of them at once, from any rank
            let mut new = next.owner_computes_mut()?;
            for ((element, [_, steps]), [successor, more]) in new.local_mut().iter_mut().zip(own).zip(theirs) {
                *element = [successor, steps + more];
            }
            new.finish()?;
            std::mem::swap(&mut list, &mut next);
            world.barrier()?; // all have written before anybody reads
        }
        let distances = list.read_cache()?;
        assert!(distances.iter_indexed().all(|(i, [end, steps])| *end == 0 && *steps == (i * 2731 % N) as u64));
        if world.is_root() {
            println!("element 1 is {} steps from the end", distances[1][1]);
        }
        Ok(())
    })
}
