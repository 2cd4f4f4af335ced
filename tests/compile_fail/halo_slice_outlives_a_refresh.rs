//! A refresh changes what lies around: no slice of before stays.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        let mut halo = v.halo_cache(1)?;
        let before = halo.before();
        halo.refresh()?;
        assert!(before.is_empty());
        Ok(())
    })
}
