//! Shared objects as a rank's kernel knows them: what it keeps of each, and what an object may use while the kernel calls it.

mod cx;
mod frame;

pub(crate) use cx::Cx;
pub(crate) use frame::{Frame, OpenGuard};
