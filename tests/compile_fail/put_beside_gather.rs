//! Nothing is written while values are asked for.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let gather = v.gatherer()?;
        for value in gather.iter(0..10) {
            v.put(0, value? + 1)?;
        }
        Ok(())
    })
}
