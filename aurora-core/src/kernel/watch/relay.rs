//! What a rank's kernel does for others while its calling thread does something else. Pure.
//!
//! Blocks that a rank receives for its node come in the background once their load is streamed, and the home of a
//! scalar ends the scopes of all. Who waits for that has asked a rank whose calling thread may be in a barrier, or
//! gone: it waits neither for that thread nor for what that waits for, but for those whom the kernel waits for.

use super::circle::WaitState;
use crate::ids::{Epoch, ObjectId};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Something of one object that is not done yet.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Relay {
    /// It is this load of a vector; `None`: it is the next scope of a scalar to be over.
    pub(crate) load: Option<Epoch>,
    /// Its own calling thread has to enter or to end that scope.
    pub(crate) by_itself: bool,
    /// So do these ranks, or have something to relay themselves.
    pub(crate) behind: BTreeSet<Rank>,
}

impl Relay {
    /// Whether a wait can end only when this is done, which is done for that `object`.
    pub(super) fn serves(&self, wait: &WaitState, object: ObjectId) -> bool {
        match (self.load, wait.for_load) {
            // Nobody enters a load before the one that it streams is complete.
            (Some(relayed), Some((of, load))) => of == object && relayed <= load,
            (Some(_), None) => false,
            (None, load) => load.is_some_and(|(of, _)| of == object) || wait.for_end_of == Some(object),
        }
    }
}
