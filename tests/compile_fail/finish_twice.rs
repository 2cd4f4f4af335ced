//! A scope ends once.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let scope = v.release_c()?;
        scope.finish()?;
        scope.finish()?;
        v.fill(0)
    })
}
