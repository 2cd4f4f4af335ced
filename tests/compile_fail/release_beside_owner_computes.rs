//! Buffered writes and writes in place exclude each other.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let own = v.owner_computes_mut()?;
        let buffered = v.release_c()?;
        drop((own, buffered));
        v.fill(0)
    })
}
