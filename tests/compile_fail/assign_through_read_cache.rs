//! A cache is for reading.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut cache = v.read_cache()?;
        cache[0] = 1;
        v.fill(0)
    })
}
