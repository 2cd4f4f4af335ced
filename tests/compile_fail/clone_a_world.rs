//! A world is one rank's view, not a value.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let second: World = world.clone();
        drop(second);
        v.fill(0)
    })
}
