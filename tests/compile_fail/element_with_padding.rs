//! Elements are plain data without padding.
use aurora_core::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u64,
}

fn is_element<T: Element>() {}

fn main() {
    is_element::<Padded>();
}
