//! Bits of floating-point numbers are not ored.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<f64>::new(world, 10)?;
        v.accumulate::<Or>()?.update(0, 1.0)
    })
}
