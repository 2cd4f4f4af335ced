//! A ReleaseC has no old values to show.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let scope = v.release_c()?;
        assert_eq!(scope.at(0)?, 0);
        v.fill(0)
    })
}
