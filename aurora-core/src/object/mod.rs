//! Shared objects as a rank's kernel knows them: the contract of [`SharedObject`], what the kernel keeps of each
//! object, and what an object may use while the kernel calls it.

mod cx;
mod frame;
mod handle;
mod plan;
mod shared;

pub(crate) use cx::{Cx, How};
pub(crate) use frame::{Frame, OpenGuard};
pub(crate) use handle::Shared;
pub(crate) use plan::Plan;
pub(crate) use shared::{Called, Malformed, Obstacle, SharedObject};
