//! What a HaloCache shows is not written by anything else.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let halo = v.halo_cache(1)?;
        v.put(0, 1)?;
        v.owner_computes_mut()?.finish()?;
        v.release_c()?.finish()?;
        halo.finish()
    })
}
