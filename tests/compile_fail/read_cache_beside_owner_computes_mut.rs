//! A load would read what is being written.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut own = v.owner_computes_mut()?;
        let cache = v.read_cache()?;
        own[0] = cache[1];
        v.fill(0)
    })
}
