//! While a ReadCache is open nobody updates the vector.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let cache = v.read_cache()?;
        v.accumulate::<Add>()?.update(0, cache[1])?;
        drop(cache);
        v.fill(0)
    })
}
