//! A scalar lives longer than its scopes.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let s = GScalar::new(world, 0, 1u64)?;
        let bound = s.read_mostly()?;
        drop(s);
        bound.get().map(drop)
    })
}
