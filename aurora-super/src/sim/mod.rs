//! The simulator: super-programs in virtual time, with the dispatcher and the nodes of this crate, on the machines of
//! the papers and on a new one.
//!
//! [`paper()`] simulates the machine of S2 section 4, in which nothing overlaps. [`own()`] simulates a machine with
//! links, prefetching, a dispatcher that takes time, changes of speed and lost nodes; the cases of S0 are
//! [settings](Case::setting) of it. `src/sim/README.md` compares the results of the papers with both simulators.

mod case;
mod event_queue;
mod link;
mod own;
mod paper;
mod profile;
mod setting;

pub use case::{Case, SuperProgram, UnknownCase, UnknownVersion, experiment};
pub use link::{Leaving, Link, Ports};
pub use own::{Loss, OwnOutcome, OwnSetting, SlowDown, own};
pub use paper::paper;
pub use setting::{Cost, Outcome, Setting, SettingError, Speeds, Transfers, Work};
