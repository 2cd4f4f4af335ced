//! A bare vector has no `v[i]`: the message names the alternatives.
use aurora_core::prelude::*;

fn read(v: &GVector<f64>) -> f64 {
    v[3]
}

fn read_at(v: &GVector<f64>, i: usize) -> f64 {
    2.0 * v[i]
}

fn show(v: &GVector<u64>) -> &[u64] {
    &v[1..5]
}

fn write(v: &mut GVector<f64>) {
    v[3] = 1.0;
}

fn add(v: &mut GVector<f64>, i: usize) {
    v[i] += 1.0;
}

fn element_of_a_matrix(v: &GVector<i32>) -> i32 {
    v[(1, 2)]
}

/// A `bool` is no element, a `u8` is.
fn flags(world: &World) -> Result<()> {
    GVector::<bool>::new(world, 10).map(drop)
}

fn main() {}
