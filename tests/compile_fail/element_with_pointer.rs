//! Elements are plain data without pointers.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| GVector::<String>::new(world, 10).map(drop))
}
