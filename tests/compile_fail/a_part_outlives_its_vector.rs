//! A part is a borrow of its vector.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let part = {
            let v = GVector::<i32>::new(world, 10)?;
            v.slice(2..5)
        };
        part.read_cache()?.finish()
    })
}
