//! Shared objects of your own.
//!
//! A [`GVector`](crate::GVector) and a [`GScalar`](crate::GScalar) are two implementations of [`SharedObject`]. A
//! program or a library can add others: a queue, a map, a lock. [`SharedObject`] has the contract.
//!
//! ```
//! use aurora_core::object::{Call, Cx, Malformed, Payload, Plan, Received, SharedObject};
//! use aurora_core::ops::Sum;
//! use aurora_core::prelude::*;
//!
//! /// Tickets: rank 0's part counts for all.
//! #[derive(Default)]
//! struct Tickets(u64);
//!
//! impl SharedObject for Tickets {
//!     fn request(
//!         &mut self,
//!         call: Call,
//!         _: &[u8],
//!         _: Received,
//!         cx: &mut Cx<'_>,
//!     ) -> std::result::Result<(), Malformed> {
//!         self.0 += 1;
//!         cx.answer(call, Ok(self.0.to_le_bytes().to_vec().into()));
//!         Ok(())
//!     }
//! }
//!
//! Config::threads(3).run(|world| {
//!     let tickets = world.share(Plan::new("tickets", &()), |_| Ok(Tickets::default()))?;
//!     let mine = tickets.ask(Rank::new(0), "draw", &(), Payload::Empty)?;
//!     let mine = u64::from_le_bytes(mine.try_into().expect("8 bytes"));
//!     assert_eq!(world.all_reduce(Sum, mine)?, 1 + 2 + 3);
//!     Ok(())
//! })?;
//! # Ok::<(), Error>(())
//! ```

mod actions;
mod asked;
mod frame;
mod guard;
mod handle;
mod loan;
mod making;
mod plan;
mod shared;
mod wait;

pub use crate::ids::CallId;
pub use crate::kernel::Reason;
pub use crate::kernel::cx::{Cx, How, decode};
pub use crate::stats::Kind;
pub use asked::Asked;
pub use aurora_net::{Buffer, Doorbell, Payload, Received, Source, Token};
pub use guard::Guard;
pub use handle::{Named, NamedId, Reach, Shared};
pub use loan::{Loan, Loans};
pub use making::{Making, NodeWords};
pub use plan::Plan;
pub use shared::{Call, Malformed, Place, SharedObject};
pub use wait::{Awaited, Holds, Obstacle, Until, Wait};

pub(crate) use frame::{Frame, OpenGuard};
pub(crate) use guard::GuardId;
pub(crate) use loan::object_of;
