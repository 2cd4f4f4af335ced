//! A HaloCache for reading has no slice to write.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let mut halo = v.halo_cache(1)?;
        halo.local_mut()[0] = 1;
        halo.refresh()
    })
}
