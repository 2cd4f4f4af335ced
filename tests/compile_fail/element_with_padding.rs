//! Elements are plain data without padding.
use aurora_core::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

fn main() -> Result<()> {
    Config::threads(2).run(|world| GVector::<Padded>::new(world, 10).map(drop))
}
