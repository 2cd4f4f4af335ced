//! The work of a rank's kernel for other ranks while its calling thread does something else. Pure.
//!
//! The blocks of a streamed load arrive in the background, also those that a rank receives for its node. The home of
//! a scalar ends the scopes of all ranks. A rank that waits for such work may wait for a rank whose calling thread is
//! in a barrier, or has left. It does not wait for that thread, but for the ranks that the kernel waits for.

use super::state::WaitState;
use crate::ids::ObjectId;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Unfinished work on one object.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Relay {
    /// The first and last number of the waits at the object that can end only after this work.
    pub(crate) waits: (u64, u64),
    /// The rank's own calling thread has to enter or end the scope.
    pub(crate) by_itself: bool,
    /// These ranks have to enter or end the scope, or have such work themselves.
    pub(crate) behind: BTreeSet<Rank>,
}

impl Relay {
    /// True if `wait` can end only after this work, which is on `object`.
    pub(super) fn serves(&self, wait: &WaitState, object: ObjectId) -> bool {
        let (first, last) = self.waits;
        wait.at.is_some_and(|(of, number)| of == object && (first..=last).contains(&number))
    }
}
