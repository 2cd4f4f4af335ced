//! Parts that are cut one after the other may overlap: `split_at_mut` gives two that do not.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut left = v.slice_mut(..5);
        let right = v.slice_mut(4..);
        drop((left.slice_mut(..).owner_computes_mut()?, right.owner_computes_mut()?));
        Ok(())
    })
}
