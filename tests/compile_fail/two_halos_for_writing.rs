//! A vector has one HaloCache for writing at a time.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let first = v.halo_cache_mut(1)?;
        let second = v.halo_cache_mut(1)?;
        drop((first, second));
        v.fill(0)
    })
}
