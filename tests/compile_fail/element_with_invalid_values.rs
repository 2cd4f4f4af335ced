//! Every pattern of bits must be a value: bool has two.
use aurora_core::prelude::*;

fn main() -> Result<()> {
    Config::threads(2).run(|world| GVector::<bool>::new(world, 10).map(drop))
}
