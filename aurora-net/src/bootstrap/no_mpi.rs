//! Replaces `mpi` in a build without MPI.

use super::{BUILD_WITH_MPI, Failure, Options, Seat};

pub(super) fn run<R>(
    announced_size: Option<usize>,
    _: &Options,
    _: impl Fn(Seat) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let ranks = announced_size.map_or_else(|| "ranks".into(), |size| format!("{size} ranks"));
    Err(Failure::start(format_args!(
        "an MPI launcher has started {ranks}, but this program was built without MPI: each would be alone. \
         {BUILD_WITH_MPI}"
    )))
}
