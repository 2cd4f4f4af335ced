//! OwnerComputes for reading does not write.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut own = v.owner_computes()?;
        own.put(0, 1)?;
        v.fill(0)
    })
}
