//! A vector has one mutable scope at a time.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut sums = v.accumulate::<Add>()?;
        let mut writes = v.release_c()?;
        sums.update(0, 1)?;
        writes.put(1, 1)?;
        v.fill(0)
    })
}
