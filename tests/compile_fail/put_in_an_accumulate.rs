//! Of two ranks that put and add, neither is the later one: an Accumulate has one operation.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut scope = v.accumulate::<Add>()?;
        scope.put(0, 1)?;
        v.fill(0)
    })
}
