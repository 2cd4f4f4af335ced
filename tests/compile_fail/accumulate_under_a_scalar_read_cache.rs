//! A ReadCache shows a value that nobody changes under it.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut s = GScalar::new(world, 0, 1u64)?;
        let seen = s.read_cache()?;
        s.accumulate::<Add>()?.update(1);
        assert_eq!(*seen, 1);
        Ok(())
    })
}
