//! Nothing is written while a guard shows it.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let own = v.owner_computes()?;
        v.put(0, own[0] + 1)?;
        v.fill(0)
    })
}
