//! A guard lives no longer than its vector, on any rank.
use aurora_core::prelude::*;

fn keep(_: ReadCache<'static, i32>) {}

fn main() -> Result<()> {
    Config::threads(2).run(|world| {
        let v = GVector::<i32>::new(world, 10)?;
        keep(v.read_cache()?);
        Ok(())
    })
}
