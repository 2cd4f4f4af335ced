//! The world lives no longer than the closure that it is given to.
use aurora_core::prelude::*;

fn keep(_: &'static World) {}

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        keep(world);
        Ok(())
    })
}
