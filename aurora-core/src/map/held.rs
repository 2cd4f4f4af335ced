//! Guards that show a rank its own entries.

use super::MapEntries;
use super::key::{MapKey, MapValue};
use super::part::Map;
use crate::Site;
use crate::digest;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::race::{AccessKind, Origin};
use crate::scope::check::{How, Place};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// All places.
const ALL: Range<usize> = 0..usize::MAX;

/// The entries that the program holds. Its reads are unknown. Changed or removed entries differ, at the end, from the
/// entries at the beginning.
pub(super) struct Held {
    epoch: Epoch,
    origin: Origin,
    /// The entries at the beginning, by places, if the guard writes.
    before: BTreeMap<usize, (Place, Option<u64>)>,
    changed: Vec<Place>,
}

impl Held {
    /// `None` unless accesses are checked. `line`: the line of the guard.
    pub(super) fn begin<K: MapKey, V: MapValue>(map: &Map<K, V>, line: &Site, cx: &Cx<'_>) -> Option<Self> {
        map.check.as_ref()?;
        let origin = Origin::here(line, cx.order());
        Some(Held { epoch: map.scopes.ledger.epoch, origin, before: BTreeMap::new(), changed: Vec::new() })
    }

    /// The program may change these entries from now on.
    pub(super) fn writes<K: MapKey, V: MapValue>(&mut self, entries: &MapEntries<K, V>) {
        self.before = all(entries);
    }

    /// Finds the entries that differ now, or are gone.
    pub(super) fn compare<K: MapKey, V: MapValue>(&mut self, now: &MapEntries<K, V>) {
        let mut before = std::mem::take(&mut self.before);
        for (place, (_, digest)) in all(now) {
            if before.get(&place).is_some_and(|(_, was)| *was == digest) {
                before.remove(&place);
            }
        }
        self.changed = before.into_values().map(|(place, _)| place).collect();
    }

    /// The program gives its entries back. A race is the map's fault from now on.
    pub(super) fn end<K: MapKey, V: MapValue>(self, map: &mut Map<K, V>, cx: &mut Cx<'_>) {
        let Held { epoch, mut origin, changed, .. } = self;
        let Some(check) = &mut map.check else {
            return;
        };
        let since = std::mem::replace(&mut origin.at, cx.order().now());
        let (by, read) = ((cx.me(), epoch, since), How::bare(AccessKind::Lent));
        let _ = check.note_ranges(by, &origin, read, vec![ALL], cx).and_then(|()| {
            let changed = check.name(changed);
            check.note_ranges(by, &origin, How::bare(AccessKind::Write), changed, cx)
        });
    }
}

/// By places: the keys, and digests of the values.
fn all<K: MapKey, V: MapValue>(entries: &MapEntries<K, V>) -> BTreeMap<usize, (Place, Option<u64>)> {
    let place = |(key, value): (&K, &V)| {
        let place = Place::of(key)?;
        Some((place.range().start, (place, digest_of(value))))
    };
    entries.iter().filter_map(place).collect()
}

fn digest_of(value: &impl Serialize) -> Option<u64> {
    postcard::to_allocvec(value).ok().map(|encoded| digest::of(&encoded))
}
