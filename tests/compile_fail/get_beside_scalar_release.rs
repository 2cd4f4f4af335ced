//! While a ReleaseC is open nobody knows what the value is.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut s = GScalar::new(world, 0, 1u64)?;
        let mut scope = s.release_c()?;
        scope.set(2)?;
        s.get()?;
        scope.finish()
    })
}
