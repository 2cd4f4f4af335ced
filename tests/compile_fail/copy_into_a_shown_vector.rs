//! A copy into a vector is a write.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let cache = v.read_cache()?;
        distmemcpy(v.range_mut(..), &cache[..])?;
        v.fill(0)
    })
}
