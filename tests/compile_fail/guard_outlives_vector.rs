//! A guard lives no longer than its vector.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let cache = {
            let w = GVector::<i32>::new(world, 10)?;
            w.read_cache()?
        };
        assert_eq!(cache[0], 0);
        v.fill(0)
    })
}
