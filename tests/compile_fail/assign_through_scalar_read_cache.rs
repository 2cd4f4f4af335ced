//! A ReadCache of a scalar is for reading.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let s = GScalar::new(world, 0, 1u64)?;
        let mut seen = s.read_cache()?;
        *seen = 2;
        Ok(())
    })
}
