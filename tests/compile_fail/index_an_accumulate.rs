//! An Accumulate has no old values to show.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut scope = v.accumulate::<Add>()?;
        scope[0] += 1;
        v.fill(0)
    })
}
