//! A closure cannot travel to an owner.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut scope = v.release_c()?;
        scope.update(0, |old: i32| old + 1)?;
        scope.finish()
    })
}
