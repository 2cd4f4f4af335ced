//! Nothing is written through a scope that has ended.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut scope = v.release_c()?;
        scope.finish()?;
        scope.put(0, 1)?;
        v.fill(0)
    })
}
