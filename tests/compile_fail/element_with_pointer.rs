//! Elements are plain data without pointers.
use aurora_core::prelude::*;

fn is_element<T: Element>() {}

fn main() {
    is_element::<String>();
}
