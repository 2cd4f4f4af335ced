//! An operation is for the types that it is implemented for: no bitwise or of numbers with a fraction.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<f64>::new(world, 10)?;
        let mut scope = v.release_c_with::<Or>()?;
        scope.update(0, 1.0)?;
        scope.finish()
    })
}
