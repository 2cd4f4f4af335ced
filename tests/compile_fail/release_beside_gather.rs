//! A scope that writes ends before one that reads begins, and the other way round.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let gather = v.gatherer()?;
        let mut scope = v.release_c()?;
        scope.put(0, gather.at(9)?)?;
        scope.finish()
    })
}
