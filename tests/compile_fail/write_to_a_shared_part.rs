//! A part to read has no behaviour for writing.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        v.slice(2..5).owner_computes_mut()?.finish()
    })
}
