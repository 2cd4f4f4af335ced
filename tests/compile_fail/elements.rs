//! Elements are plain data, of which every pattern of bits is a value.
use aurora_core::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

fn is_element<T: Element>() {}

fn main() {
    // Bytes between its fields have no value.
    is_element::<Padded>();
    // Two patterns of bits are values.
    is_element::<bool>();
    // A pointer.
    is_element::<String>();
}
