//! In the place of MPI in a build without it.

use super::contestant::Any;
use super::job::{Implementation, Operation, Refusal};
use crate::meeting::Meeting;
use aurora_core::prelude::*;

pub fn contestant(_: &World, _: Operation, _: Implementation) -> Result<Any<'_>> {
    Err(Error::user(Refusal::NotBuilt))
}

pub fn meeting(_: &World) -> Result<Box<dyn Meeting + '_>> {
    Err(Error::user(Refusal::NotBuilt))
}
