//! Checking mode: the race detector ([`race`](crate::race)) of one [`Part`](super::Part).
//!
//! A part names the places that requests access, by keys ([`Turn::accessed`](super::Turn::accessed)). A request carries
//! the [`Origin`] of its rank. A rank notes its writes in a scope itself ([`Noted`]), and sends these notes as batches
//! in front of the writes.

mod noted;
mod place;

pub(crate) use noted::{Noted, Notes};
pub(crate) use place::Place;

use crate::Error;
use crate::error::Raced;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::ops::OpId;
use crate::race::{self, AccessKind, By, Moment, Opened, Origin, Party, Scope, Shadow};
use aurora_net::Rank;
use std::collections::HashMap;
use std::ops::Range;

/// The maximum number of keys with names, equal to the number of entries of the shadow.
const MOST_NAMES: usize = 400_000;

/// An access to a key, as the race detector judges it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It races with writes and updates.
    Read,
    /// It races with every other access.
    Write,
    /// A write by an operation that commutes with itself ([`OpId::of`]). It races with reads, writes, and updates by
    /// other operations.
    Update(OpId),
}

impl From<Access> for AccessKind {
    fn from(access: Access) -> Self {
        match access {
            Access::Read => AccessKind::Read,
            Access::Write => AccessKind::Write,
            Access::Update(op) => AccessKind::Update(op),
        }
    }
}

/// A rank's record of the accesses to its part.
#[derive(Default)]
pub(crate) struct Checker {
    /// The last accesses to its own keys, by their places.
    shadow: Shadow,
    /// By places: the keys as errors name them.
    names: HashMap<usize, String>,
}

/// The kind of an access, and its scope.
pub(crate) struct How {
    pub(crate) kind: AccessKind,
    scope: Scope,
    opened: Option<Opened>,
}

impl How {
    /// An access outside of collective scopes.
    pub(crate) fn bare(kind: AccessKind) -> Self {
        How { kind, scope: Scope::None, opened: None }
    }

    /// An access inside the scope of this epoch.
    pub(crate) fn within(epoch: Epoch, opened: Option<Opened>, kind: AccessKind) -> Self {
        How { kind, scope: Scope::Together(epoch), opened }
    }
}

impl Checker {
    /// Keeps the names of these keys. Returns their places.
    pub(crate) fn name(&mut self, places: Vec<Place>) -> Vec<Range<usize>> {
        let ranges = places.iter().map(Place::range).collect();
        self.names.extend(places.into_iter().map(|place| (place.range().start, place.name)));
        if self.names.len() > MOST_NAMES {
            self.names.retain(|place, _| self.shadow.begins_at(*place));
        }
        ranges
    }

    /// Notes accesses to keys by a rank that has entered `epoch` scopes. A race is the fault of the object.
    pub(crate) fn note(
        &mut self,
        (from, epoch): (Rank, Epoch),
        origin: &Origin,
        how: How,
        places: Vec<Place>,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let ranges = self.name(places);
        self.note_ranges((from, epoch, origin.at), origin, how, ranges, cx)
    }

    /// As [`note`](Self::note), of named keys, which the rank has used since a moment.
    pub(crate) fn note_ranges(
        &mut self,
        (rank, epoch, since): (Rank, Epoch, Moment),
        origin: &Origin,
        How { kind, scope, opened }: How,
        ranges: Vec<Range<usize>>,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let (me, Origin { line, at, time }) = (cx.me(), origin);
        let by = By { rank, owner: me, since, at: *at, time, epoch, shown: &[] };
        let access = race::Access { kind, scope, line, opened: opened.as_ref() };
        let found = self.shadow.access(&by, &access, ranges);
        let later = Party { rank, kind, scope, line: line.clone(), opened };
        let name = |place| Raced::Entry(self.names.get(&place).map_or("with a forgotten key", |name| name).into());
        found.report(&later, (cx.name(), me), cx.is_strict(), name).inspect_err(|race| cx.fail(race.clone()))
    }
}

/// The accesses of a request: the rank that makes them, and the number of scopes that it has entered before.
pub(crate) struct Noting<'t> {
    pub(crate) check: &'t mut Checker,
    pub(crate) origin: &'t Origin,
    pub(crate) by: (Rank, Epoch),
}
