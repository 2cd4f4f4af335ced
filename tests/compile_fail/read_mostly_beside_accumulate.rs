//! A scalar that is accumulated shows nothing.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut s = GScalar::new(world, 0, 1u64)?;
        let mut sum = s.accumulate::<Add>()?;
        let seen = s.read_mostly()?;
        sum.update(1);
        seen.finish()
    })
}
