//! Nothing is written while a stream shows it.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let stream = v.read_cache_blocks()?;
        for block in stream.blocks() {
            v.put(0, block?.1[0])?;
        }
        drop(stream);
        v.fill(0)
    })
}
