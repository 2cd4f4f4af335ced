//! In the place of MPI in a build without it.

use super::{Failure, Options, Seat};

pub(super) fn run<R>(
    announced_size: Option<usize>,
    _: &Options,
    _: impl Fn(Seat) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let ranks = announced_size.map_or_else(|| "ranks".into(), |size| format!("{size} ranks"));
    Err(Failure::start(format_args!(
        "an MPI launcher has started {ranks}, but this program was built without MPI: each would be alone. Build it with \
         `cargo build --features mpi` (needs an MPI with its compiler wrapper, and libclang)"
    )))
}
