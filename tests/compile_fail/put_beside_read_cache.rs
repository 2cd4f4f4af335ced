//! Nothing is written while a cache shows it.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let cache = v.read_cache()?;
        v.put(0, cache[0] + 1)?;
        v.fill(0)
    })
}
