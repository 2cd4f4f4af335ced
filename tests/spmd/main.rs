//! One SPMD body in many worlds: threads over each route, processes, and mpirun where it is built in.
//!
//! `cargo test --test spmd -- threads-local/3/read_cache` runs the tests whose names contain the text.

mod access;
mod accumulate;
mod batched_reads;
mod bulk;
mod combined;
mod copy;
mod counters;
mod direct;
mod halo;
mod in_place;
mod lifetime;
mod map;
mod ordering;
mod owner;
mod paged;
mod program;
mod read_cache;
mod reduce;
mod release;
mod rows;
mod scalar;
mod scalar_scopes;
mod slices;
mod stats;
mod stream;
mod structs;
mod super_program;
mod threads;
mod treadmarks;
mod unequal;
mod vector;
mod verifiers;

use aurora_suite::Body;
use std::process::ExitCode;

fn main() -> ExitCode {
    aurora_suite::harness::main(bodies, verifiers::trials())
}

fn bodies() -> Vec<Body> {
    [
        vector::bodies(),
        unequal::bodies(),
        structs::bodies(),
        copy::bodies(),
        in_place::bodies(),
        scalar::bodies(),
        scalar_scopes::bodies(),
        map::bodies(),
        owner::bodies(),
        rows::bodies(),
        threads::bodies(),
        read_cache::bodies(),
        stream::bodies(),
        reduce::bodies(),
        release::bodies(),
        combined::bodies(),
        accumulate::bodies(),
        halo::bodies(),
        paged::bodies(),
        treadmarks::bodies(),
        slices::bodies(),
        access::bodies(),
        direct::bodies(),
        batched_reads::bodies(),
        ordering::bodies(),
        counters::bodies(),
        bulk::bodies(),
        stats::bodies(),
        program::bodies(),
        lifetime::bodies(),
        super_program::bodies(),
        verifiers::bodies(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
