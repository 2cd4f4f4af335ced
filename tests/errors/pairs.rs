//! Every pair of collective calls: one rank makes the first, the other ranks the second. A new call is a line in
//! [`CALLS`].

use crate::provoke::on_every_route;
use aurora_core::ops::{Max, Sum};
use aurora_core::prelude::*;

/// The text that only this call's line contains, and a complete collective call on a vector.
pub type Call = (&'static str, fn(&World, &mut GVector<i32>) -> Result<()>);

/// All collective calls. The HaloCaches are periodic, so that three ranks are all neighbours. `halo.rs` tests ranks
/// that are no neighbours and get the error later.
pub const CALLS: [Call; 19] = [
    ("v.read_cache()?", |_, v| v.read_cache()?.finish()),
    ("v.release_c()?", |_, v| v.release_c()?.finish()),
    ("v.release_c_with(Sum)?", |_, v| v.release_c_with(Sum)?.finish()),
    ("v.release_c_with(Max)?", |_, v| v.release_c_with(Max)?.finish()),
    ("v.read_cache_release_c()?", |_, v| v.read_cache_release_c()?.finish()),
    ("v.accumulate(Sum)?", |_, v| v.accumulate(Sum)?.finish()),
    ("v.accumulate_in_order(Sum)?", |_, v| v.accumulate_in_order(Sum)?.finish()),
    ("v.accumulate(Max)?", |_, v| v.accumulate(Max)?.finish()),
    ("v.halo_cache(Halo::periodic(2))?", |_, v| v.halo_cache(Halo::periodic(2))?.finish()),
    ("v.halo_cache_mut(Halo::periodic(1))?", |_, v| v.halo_cache_mut(Halo::periodic(1))?.finish()),
    ("v.slice(..5).read_cache()?", |_, v| v.slice(..5).read_cache()?.finish()),
    ("v.slice(2..7).read_cache()?", |_, v| v.slice(2..7).read_cache()?.finish()),
    ("v.slice_mut(..5).accumulate(Sum)?", |_, v| v.slice_mut(..5).accumulate(Sum)?.finish()),
    ("v.slice_mut(..5).release_c()?", |_, v| v.slice_mut(..5).release_c()?.finish()),
    ("v.fill(1)", |_, v| v.fill(1)),
    ("world.barrier()", |world, _| world.barrier()),
    ("GVector::<u8>::new(world, 3)", |world, _| GVector::<u8>::new(world, 3).map(drop)),
    ("v.release_cache()", |_, v| v.release_cache()),
    ("v.gather_to(0)", |_, v| v.gather_to(0).map(drop)),
];

#[test]
fn different_calls_of_one_vector() {
    on_every_route([3], |job| {
        for (at, first) in CALLS.iter().enumerate() {
            for second in &CALLS[at + 1..] {
                for (lone, usual) in [(first, second), (second, first)] {
                    let outcomes = job.run(|world| {
                        let mut v = GVector::<i32>::new(world, 10)?;
                        let (_, call) = if world.is_root() { lone } else { usual };
                        call(world, &mut v)
                    });
                    let is_mismatch =
                        |outcome: &Option<Result<()>>| matches!(outcome, Some(Err(Error::Mismatch { .. })));
                    assert!(outcomes.ranks.iter().all(is_mismatch), "{} and {}: {outcomes:#?}", lone.0, usual.0);
                    outcomes.all_cite(&[lone.0, usual.0]);
                }
            }
        }
    });
}
