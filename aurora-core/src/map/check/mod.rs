//! Checking mode: the race detector ([`race`](crate::race)) of one map.
//!
//! The owner of a key notes every access to it. A request carries the [`Origin`] of its rank. A rank notes its writes
//! in a ReleaseC itself ([`Noted`]), and sends these notes as batches in front of the writes. A guard that shows
//! entries is noted when it ends ([`Held`]).

mod held;
mod noted;
mod place;

pub(super) use held::Held;
pub(super) use noted::Noted;
use noted::Notes;
use place::Place;

use super::code;
use super::key::{MapKey, MapValue};
use super::message::{Asked, Request};
use super::part::Part;
use crate::error::Raced;
use crate::ids::Epoch;
use crate::kernel::message::malformed;
use crate::object::Cx;
use crate::ops::OpId;
use crate::race::{Access, AccessKind, By, Moment, Opened, Origin, Party, Scope, Shadow};
use crate::{Error, Site};
use aurora_net::Rank;
use std::collections::HashMap;
use std::ops::Range;

/// The maximum number of keys with names, equal to the number of entries of the shadow.
const MOST_NAMES: usize = 400_000;

/// A rank's record of the accesses to a map.
#[derive(Default)]
pub(super) struct Checker {
    /// The last accesses to its own keys, by their places.
    shadow: Shadow,
    /// By places: the keys as errors name them.
    names: HashMap<usize, String>,
}

/// The kind of an access, and its scope.
struct How {
    kind: AccessKind,
    scope: Scope,
    opened: Option<Opened>,
}

impl How {
    fn bare(kind: AccessKind) -> Self {
        How { kind, scope: Scope::None, opened: None }
    }
}

impl Checker {
    fn name(&mut self, places: Vec<Place>) -> Vec<Range<usize>> {
        let ranges = places.iter().map(Place::range).collect();
        self.names.extend(places.into_iter().map(|place| (place.range().start, place.name)));
        if self.names.len() > MOST_NAMES {
            self.names.retain(|place, _| self.shadow.begins_at(*place));
        }
        ranges
    }
}

impl<K: MapKey, V: MapValue> Part<K, V> {
    /// Notes that a request has been served, if accesses are checked. `payload`: the payload of the request, and the
    /// number of its keys that are done. The rank asks again for the other keys.
    pub(super) fn note_call(
        &mut self,
        from: Rank,
        asked: &Asked,
        payload: (&[u8], usize),
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        match &asked.origin {
            Some(origin) => self.note_request((from, asked.epoch), origin, asked.request, payload, cx),
            None => Ok(()),
        }
    }

    /// As [`note_call`](Self::note_call), for a request of this rank itself.
    pub(super) fn note_own_call(
        &mut self,
        request: Request,
        payload: (&[u8], usize),
        line: &Site,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        if self.check.is_none() {
            return Ok(());
        }
        let origin = Origin::here(line, cx.order());
        self.note_request((cx.me(), self.scopes.ledger.epoch), &origin, request, payload, cx)
    }

    fn note_request(
        &mut self,
        by: (Rank, Epoch),
        origin: &Origin,
        request: Request,
        (mut payload, keys): (&[u8], usize),
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let kind = match request {
            Request::Get { .. } | Request::Contains { .. } => AccessKind::Read,
            Request::Insert | Request::Remove => AccessKind::Write,
            Request::Update(op) => AccessKind::Update(op),
            // A scan runs between two calls of all ranks.
            Request::Scan { .. } => return Ok(()),
        };
        let keys = (0..keys).map_while(|_| code::read_sought::<K>(&mut payload).ok());
        let places = keys.filter_map(|(_, key)| Place::of(&key)).collect();
        self.note(by, origin, How::bare(kind), places, cx)
    }

    /// Notes accesses to keys of this rank by a rank that has entered `epoch` scopes.
    fn note(
        &mut self,
        (from, epoch): (Rank, Epoch),
        origin: &Origin,
        how: How,
        places: Vec<Place>,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let ranges = self.check.as_mut().map(|check| check.name(places)).unwrap_or_default();
        self.note_ranges((from, epoch, origin.at), origin, how, ranges, cx)
    }

    fn note_ranges(
        &mut self,
        (rank, epoch, since): (Rank, Epoch, Moment),
        origin: &Origin,
        How { kind, scope, opened }: How,
        ranges: Vec<Range<usize>>,
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let Some(check) = &mut self.check else {
            return Ok(());
        };
        let (me, Origin { line, at, time }) = (cx.me(), origin);
        let by = By { rank, owner: me, since, at: *at, time, epoch, shown: &[] };
        let found = check.shadow.access(&by, &Access { kind, scope, line, opened: opened.as_ref() }, ranges);
        let later = Party { rank, kind, scope, line: line.clone(), opened };
        let name = |place| Raced::Entry(check.names.get(&place).map_or("with a forgotten key", |name| name).into());
        let strict = cx.is_strict();
        found.report(&later, (cx.name(), me), strict, name).inspect_err(|race| cx.fail(race.clone()))
    }

    /// Applies a batch of notes: the writes of a rank in the scope of this epoch.
    pub(super) fn apply_notes(
        &mut self,
        (from, epoch): (Rank, Epoch),
        op: Option<OpId>,
        notes: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<(), Error> {
        let Some(notes) = Notes::decode(notes).filter(|notes| op.is_some() || notes.only_inserts()) else {
            cx.fail_job(malformed(from));
            return Err(malformed(from));
        };
        if self.check.is_none() {
            return Ok(());
        }
        let before = self.scopes.released_before(epoch);
        let opened = self.scopes.ledger.opening_of(from, epoch).map(Opened::from);
        for (origin, is_put, place) in notes.into_iter() {
            let kind = if is_put { None } else { op }.map_or(AccessKind::Write, AccessKind::Update);
            let how = How { kind, scope: Scope::Together(epoch), opened: opened.clone() };
            let time = origin.time.joined(&before);
            self.note((from, epoch - 1), &Origin { time, ..origin }, how, vec![place], cx)?;
        }
        Ok(())
    }

    /// All ranks have met: no earlier access races with a later one.
    pub(super) fn forget_accesses(&mut self) {
        if let Some(check) = &mut self.check {
            (check.shadow, check.names) = Default::default();
        }
    }
}
