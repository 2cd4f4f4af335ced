//! A Gather reads.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let mut gather = v.gatherer()?;
        gather[1] = 2;
        gather.finish()
    })
}
