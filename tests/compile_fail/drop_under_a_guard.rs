//! A vector is not dropped under its guard.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let w = GVector::<i32>::new(world, 10)?;
        let cache = w.read_cache()?;
        drop(w);
        assert_eq!(cache[0], 0);
        v.fill(0)
    })
}
