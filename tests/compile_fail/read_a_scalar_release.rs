//! A ReleaseC of a scalar has no old value to show.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut s = GScalar::new(world, 0, 1u64)?;
        let scope = s.release_c()?;
        assert_eq!(*scope, 1);
        Ok(())
    })
}
