//! What a cache shows lives no longer than the cache.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let row = {
            let cache = v.read_cache()?;
            cache.row(0)
        };
        assert_eq!(row[0], 0);
        v.fill(0)
    })
}
