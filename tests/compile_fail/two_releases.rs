//! A vector has one ReleaseC at a time.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let together = v.release_c()?;
        let alone = v.release_alone()?;
        drop((together, alone));
        v.fill(0)
    })
}
