//! Every pattern of bits must be a value: bool has two.
use aurora_core::prelude::*;

fn is_element<T: Element>() {}

fn main() {
    is_element::<bool>();
}
