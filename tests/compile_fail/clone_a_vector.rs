//! A vector is one object, not a value.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let w = v.clone();
        drop(w);
        v.fill(0)
    })
}
