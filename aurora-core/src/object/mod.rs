//! Shared objects as a rank's kernel knows them: the contract of [`SharedObject`], what the kernel keeps of each
//! object, and what an object may use while the kernel calls it.

mod cx;
mod frame;
mod handle;
mod loan;
mod plan;
mod shared;
mod wait;

pub(crate) use cx::{Cx, How};
pub(crate) use frame::{Frame, OpenGuard};
pub(crate) use handle::Shared;
pub(crate) use loan::{Loan, Loans, object_of};
pub(crate) use plan::Plan;
pub(crate) use shared::{Call, Malformed, Place, SharedObject};
pub(crate) use wait::{Awaited, Holds, Obstacle, Until, Wait};
