//! What is offered is for the operation of the scope.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let s = GScalar::new(world, 0, 1u64)?;
        let bound = s.read_mostly()?;
        bound.offer(0)
    })
}
