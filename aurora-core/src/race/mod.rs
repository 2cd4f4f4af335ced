//! The race detector of checking mode (`AURORA_CHECK=1`): times of ranks, and the last accesses to elements. Pure.
//!
//! A *race* is a pair of accesses to one element by two ranks, at least one of them a write, that nothing orders.
//! Each rank keeps a [`Clock`]. A call that orders ranks *releases* the caller's time to others, or *acquires* the
//! times of others. An access carries the time of its rank to the owner of the elements, whose [`Shadow`] compares
//! the access with the last ones (FastTrack: Flanagan and Freund, 2009). `README.md` in this folder is the design.

mod origin;
mod released;
mod report;
mod shadow;
mod time;

pub(crate) use origin::Origin;
pub(crate) use released::Released;
pub(crate) use report::Party;
pub(crate) use shadow::{Access, AccessKind, By, Clash, Found, Opened, Past, Scope, Shadow};
pub(crate) use time::{Clock, Moment, Time};
