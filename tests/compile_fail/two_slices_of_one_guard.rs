//! Two mutable slices of one part would overlap.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut own = v.owner_computes_mut()?;
        let (a, b) = (own.local_mut(), own.row_mut(0));
        a[0] = b[0];
        v.fill(0)
    })
}
