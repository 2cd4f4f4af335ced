//! A HaloCache for writing has the vector to itself.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let halo = v.halo_cache_mut(1)?;
        let cache = v.read_cache()?;
        let own = v.owner_computes()?;
        let around = v.halo_cache(1)?;
        v.at(0)?;
        drop((halo, cache, own, around));
        Ok(())
    })
}
