//! Nothing else reads what is being written.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut own = v.owner_computes_mut()?;
        own[0] = v.at(1)?;
        v.fill(0)
    })
}
