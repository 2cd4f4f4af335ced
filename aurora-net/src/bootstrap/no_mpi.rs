//! Replaces `mpi` in a build without MPI.

use super::{Announced, Failure, Options, Seat};

pub(super) fn run<R>(announced: &Announced, _: &Options, _: impl Fn(Seat) -> Result<R, Failure>) -> Result<R, Failure> {
    Err(Failure::start(announced.without_mpi()))
}
