//! A slice lives no longer than the guard that shows it.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let slice = {
            let own = v.owner_computes()?;
            own.local()
        };
        assert_eq!(slice[0], 0);
        v.fill(0)
    })
}
