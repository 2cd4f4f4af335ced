//! The state of a rank, as it is sent to the watch of another rank.

use super::relay::Relay;
use crate::ids::ObjectId;
use crate::kernel::polling::Idle;
use crate::{Claim, Site};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RankState {
    /// The wait of the rank, unless it computes or has something new to check.
    pub(crate) wait: Option<WaitState>,
    /// The rank has left the closure.
    pub(crate) leaving: bool,
    pub(crate) sent: Vec<u64>,
    pub(crate) received: Vec<u64>,
    /// By the ranks that have asked, and the objects.
    pub(crate) parked: BTreeMap<(Rank, ObjectId), Held>,
    /// The open scopes of the rank whose end all ranks await.
    pub(crate) open: BTreeMap<ObjectId, GuardState>,
    /// The number of collective scopes that the rank has entered, for each object.
    pub(crate) entered: BTreeMap<ObjectId, u64>,
    /// The last collective scope that the rank has entered of each object at which it waits.
    pub(crate) last: BTreeMap<ObjectId, Claim>,
    /// Unfinished work of the rank's kernel for other ranks.
    pub(crate) relays: Vec<(ObjectId, Relay)>,
    /// The way in which the rank is idle, even if it has something new to check.
    pub(crate) idle: Option<Idle>,
}

impl RankState {
    /// The reasons for which this rank, `me`, holds back the requests that `asker` has made in this wait.
    pub(super) fn held<'a>(&'a self, me: Rank, asker: Rank, wait: &'a WaitState) -> impl Iterator<Item = &'a Held> {
        self.held_of(asker).filter(move |(object, _)| wait.asked.contains(&(me, *object))).map(|(_, held)| held)
    }

    /// All requests of `asker` that this rank holds back, by objects.
    pub(super) fn held_of(&self, asker: Rank) -> impl Iterator<Item = (ObjectId, &Held)> {
        let of = self.parked.range((asker, ObjectId(0))..=(asker, ObjectId(u64::MAX)));
        of.map(|((_, object), held)| (*object, held))
    }
}

/// The reasons for which the requests of a rank are held back. If all fields are empty, a transfer is under way.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    /// Until the rank that was asked enters or ends a scope itself.
    pub(crate) by_itself: bool,
    pub(crate) guard: Option<GuardState>,
    /// Until these ranks have entered or ended a scope of that object.
    pub(crate) behind: BTreeMap<Rank, ObjectId>,
    /// One entry for each request that is held back until any of these ranks does something to that object.
    pub(crate) any: Vec<(Vec<Rank>, ObjectId)>,
}

impl Held {
    /// All ranks for which the request may be held back.
    pub(super) fn ranks(&self) -> impl Iterator<Item = Rank> {
        self.behind.keys().chain(self.any.iter().flat_map(|(ranks, _)| ranks)).copied()
    }
}

/// A wait, as told to others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct WaitState {
    pub(super) id: u64,
    pub(crate) claim: Claim,
    pub(crate) on: Vec<Rank>,
    /// The rank waits for answers: an edge counts only if the other side holds the request back.
    pub(crate) for_answer: bool,
    /// The ranks that it has asked, and the objects.
    pub(crate) asked: BTreeSet<(Rank, ObjectId)>,
    /// The rank waits for the end of a scope of this object.
    pub(crate) for_end_of: Option<ObjectId>,
    /// The object at which it waits, and the number of this wait there.
    pub(crate) at: Option<(ObjectId, u64)>,
    pub(crate) for_everyone: bool,
}

/// An open guard, as told to others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct GuardState {
    pub(crate) behaviour: String,
    pub(crate) object: crate::error::ObjectName,
    pub(crate) opened: Site,
}

pub(super) fn on(state: &RankState) -> &[Rank] {
    state.wait.as_ref().map_or(&[], |wait| &wait.on)
}
