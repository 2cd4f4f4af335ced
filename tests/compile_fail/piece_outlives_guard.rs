//! A piece of a stream lives no longer than its guard.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let piece = {
            let stream = v.read_cache_blocks()?;
            stream.blocks().next().unwrap()?.1
        };
        assert_eq!(piece[0], 0);
        v.fill(0)
    })
}
