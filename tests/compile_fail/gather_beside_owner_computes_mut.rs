//! Nobody reads from the owners while this rank's part is written.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        let mut own = v.owner_computes_mut()?;
        let gather = v.gatherer()?;
        own.local_mut().fill(gather.at(9)?);
        own.finish()
    })
}
