//! A vector has one scope for writing at a time.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let first = v.owner_computes_mut()?;
        let second = v.owner_computes_mut()?;
        drop((first, second));
        v.fill(0)
    })
}
