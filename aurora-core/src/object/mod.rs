//! Shared objects of your own: what a rank's kernel and an object want of each other.
//!
//! A [`GVector`](crate::GVector) and a [`GScalar`](crate::GScalar) are two implementations of [`SharedObject`]. A
//! program or a library adds others: a queue, a map, a lock. See [`SharedObject`], which has the contract.

mod cx;
mod frame;
mod handle;
mod loan;
mod plan;
mod shared;
mod wait;
mod way;

pub use crate::ids::CallId;
pub use crate::kernel::Reason;
pub use aurora_net::{Buffer, Doorbell, Payload, Received, Source};
pub use cx::{Cx, How, decode};
pub use handle::{Making, Named, Reach, Shared};
pub use loan::{Loan, Loans};
pub use plan::Plan;
pub use shared::{Call, Malformed, Place, SharedObject};
pub use wait::{Awaited, Holds, Obstacle, Until, Wait};

pub(crate) use frame::{Frame, OpenGuard};
pub(crate) use loan::object_of;
pub(crate) use way::Way;
