//! A part has one scope for writing at a time, and none beside it.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let (mut left, _right) = v.split_at_mut(5);
        let own = left.slice_mut(..).owner_computes_mut()?;
        let seen = left.slice(..2).read_cache()?;
        drop((own, seen));
        Ok(())
    })
}
