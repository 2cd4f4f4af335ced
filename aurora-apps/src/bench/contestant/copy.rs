//! Rank 0 copies a block of rank 1 to its own memory. Other ranks take no part.

use super::prelude::*;
use super::remote::{ORIGIN, Origin, TARGET};
use crate::bench::job::{Target, Way};
use std::hint::black_box;

/// By `distmemcpy`, or by a plain copy out of a ReadCache.
pub fn aurora(world: &World, bytes: usize, target: Target, way: Way) -> Result<Contestant<'_>> {
    let mut origin = Origin::new(world, target)?;
    let mut block = GVector::<u8>::on(world, TARGET, bytes)?;
    let mut copy = vec![0_u8; if world.rank() == ORIGIN { bytes } else { 0 }];
    Ok(Box::new(move |round, watch| {
        round.fill_own(&mut block)?;
        copy.fill(0);
        let copied = match way {
            Way::Distmemcpy => origin.measure(watch, || {
                (0..round.times).try_for_each(|_| distmemcpy(black_box(&mut copy[..]), block.range(..)))
            })?,
            Way::Memcpy => {
                let shown = block.read_cache()?;
                origin.measure(watch, || {
                    (0..round.times)
                        .for_each(|_| black_box(&mut copy[..]).copy_from_slice(black_box(shown.as_slice())));
                    Ok(())
                })?
            }
        };
        Ok(copied.map_or(0, |()| round.wrong(&copy, 0)))
    }))
}
