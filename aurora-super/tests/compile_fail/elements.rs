//! Elements are plain data: every pattern of bits must be a value.
use aurora_core::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

fn is_element<T: Element>() {}

fn main() {
    // The bytes between its fields have no value.
    is_element::<Padded>();
    // Only two patterns of bits are values.
    is_element::<bool>();
    // Contains a pointer.
    is_element::<String>();
}
