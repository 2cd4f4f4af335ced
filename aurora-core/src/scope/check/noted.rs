//! Notes of a rank's writes in a scope, on their way to the owners.

use super::Place;
use crate::Site;
use crate::object::{Shared, SharedObject};
use crate::race::Origin;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The maximum number of notes in a batch: they are applied in one step.
const BATCH: usize = 256;

/// Notes of a scope that have not been sent. For each key the first insert and the first update are noted: an access
/// that races with a later one also races with the first.
pub(crate) struct Noted {
    /// By owners: the places, each with true for an insert and false for an update.
    owners: Vec<BTreeMap<(usize, bool), (Place, Origin)>>,
}

impl Noted {
    pub(crate) fn new(ranks: usize) -> Self {
        Noted { owners: (0..ranks).map(|_| BTreeMap::new()).collect() }
    }

    /// Notes that this rank writes a key of this owner at this line. `is_put`: not by the operation of the scope.
    #[cold]
    pub(crate) fn note<O: SharedObject>(
        &mut self,
        shared: &Shared<O>,
        (owner, is_put): (Rank, bool),
        key: &(impl Serialize + ?Sized),
        line: &Site,
    ) {
        if let (Some(place), Some(notes)) = (Place::of(key), self.owners.get_mut(owner.index())) {
            let first = (place.range().start, is_put);
            let origin = || shared.tidy(|_, cx| Origin::here(line, cx.order()));
            notes.entry(first).or_insert_with(|| (place, origin()));
        }
    }

    /// Takes out all notes, as batches for their owners.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (Rank, Vec<u8>)> + use<> {
        let owners: Vec<_> = self.owners.iter_mut().map(std::mem::take).collect();
        owners.into_iter().enumerate().flat_map(|(owner, notes)| {
            let mut notes = notes.into_iter();
            std::iter::from_fn(move || {
                let mut batch = Notes::default();
                notes.by_ref().take(BATCH).for_each(|((_, is_put), (place, origin))| batch.add(origin, is_put, place));
                (!batch.notes.is_empty()).then(|| postcard::to_allocvec(&batch).expect("plain data"))
            })
            .map(move |batch| (Rank::new(owner), batch))
        })
    }
}

/// A batch of notes.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Notes {
    origins: Vec<Origin>,
    /// The number of the origin, true for an insert, and the key.
    notes: Vec<(u32, bool, Place)>,
}

impl Notes {
    fn add(&mut self, origin: Origin, is_put: bool, place: Place) {
        let number = self.origins.iter().rposition(|other| *other == origin).unwrap_or_else(|| {
            self.origins.push(origin);
            self.origins.len() - 1
        });
        self.notes.push((number as u32, is_put, place));
    }

    /// `None` if no rank of this build sends this.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let notes: Notes = postcard::from_bytes(bytes).ok()?;
        let known = notes.origins.len();
        notes.notes.iter().all(|(number, ..)| (*number as usize) < known).then_some(notes)
    }

    pub(crate) fn only_inserts(&self) -> bool {
        self.notes.iter().all(|(_, is_put, _)| *is_put)
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = (Origin, bool, Place)> {
        let Notes { origins, notes } = self;
        notes.into_iter().map(move |(number, is_put, place)| (origins[number as usize].clone(), is_put, place))
    }
}
