//! What a scope can write, nobody else can beside it.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut all = v.read_cache_release_c()?;
        v.put(1, 2)?;
        all[0] += 1;
        let cache = v.read_cache()?;
        drop(all);
        drop(cache);
        Ok(())
    })
}
