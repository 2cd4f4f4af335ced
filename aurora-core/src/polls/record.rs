//! Decides which looks of a rank are polling. Pure.

use crate::Site;
use crate::ids::ObjectId;
use std::time::Duration;

/// A read, or an operation that has changed nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look<'a> {
    pub(crate) object: ObjectId,
    /// The name of the call.
    pub(crate) action: &'static str,
    pub(crate) site: &'a Site,
    /// A digest of the request.
    pub(crate) asked: u64,
    /// A digest of the result.
    pub(crate) found: u64,
}

/// Looks in a burst.
pub(super) const BURST: u64 = 32;
/// A loop that looks at more places than this is no polling: it reads a vector.
const PLACES: usize = 8;
/// A rank that computes for longer between two looks, averaged over a burst, does something useful meanwhile.
const COMPUTES: Duration = Duration::from_micros(100);

/// A place at which a rank looks repeatedly.
#[derive(Debug)]
struct Place {
    object: ObjectId,
    action: &'static str,
    site: Site,
    asked: u64,
    found: u64,
}

impl Place {
    fn is_of(&self, look: &Look<'_>) -> bool {
        (self.object, self.asked, self.action) == (look.object, look.asked, look.action) && self.site == *look.site
    }
}

/// The looks of one rank, as long as they may be polling: at few places, with the same result, and in a burst without
/// computing between them.
#[derive(Debug, Default)]
pub(super) struct Record {
    places: Vec<Place>,
    /// `looks`: in all bursts so far. `in_burst`: in the present one.
    looks: u64,
    in_burst: u64,
    /// Processor time that the thread has used between the looks of the burst.
    computed: Duration,
}

impl Record {
    /// Notes a look of a burst; `computed` is the thread's processor time since the last look. False: this is no
    /// polling.
    pub(super) fn note(&mut self, look: &Look<'_>, computed: Duration) -> bool {
        self.computed = if self.in_burst == 0 { Duration::ZERO } else { self.computed + computed };
        if self.computed > COMPUTES * BURST as u32 {
            return false;
        }
        (self.looks, self.in_burst) = (self.looks + 1, self.in_burst + 1);
        match self.places.iter().find(|place| place.is_of(look)) {
            Some(place) => place.found == look.found,
            None if self.looks > BURST || self.places.len() == PLACES => false,
            None => {
                let Look { object, action, site, asked, found } = *look;
                self.places.push(Place { object, action, site: site.clone(), asked, found });
                true
            }
        }
    }

    /// True if a look between two bursts has the result of the bursts.
    pub(super) fn agrees(&self, look: &Look<'_>) -> bool {
        self.places.iter().any(|place| place.is_of(look) && place.found == look.found)
    }

    /// Ends the burst if it has enough looks.
    pub(super) fn ends_burst(&mut self) -> bool {
        let ends = self.in_burst >= BURST;
        if ends {
            self.in_burst = 0;
        }
        ends
    }

    /// The first place: its object, the call, and its line.
    pub(super) fn first(&self) -> Option<(ObjectId, &'static str, &Site)> {
        self.places.first().map(|place| (place.object, place.action, &place.site))
    }

    pub(super) fn looks(&self) -> u64 {
        self.looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(site: &Site, asked: u64, found: u64) -> Look<'_> {
        Look { object: ObjectId(1), action: "at", site, asked, found }
    }

    /// The number of these looks, each with its microseconds of computing, that are noted before a look is no polling.
    fn noted(looks: impl Iterator<Item = (u64, u64, u64)>) -> usize {
        let (site, mut record) = (Site::here(), Record::default());
        let mut looks = looks.map(|(asked, found, computes)| {
            let goes_on = record.note(&look(&site, asked, found), Duration::from_micros(computes));
            record.ends_burst();
            goes_on
        });
        looks.by_ref().take_while(|goes_on| *goes_on).count()
    }

    #[test]
    fn the_same_again_and_again_is_polling() {
        assert_eq!(noted((0..5000).map(|_| (7, 0, 1))), 5000);
        // At several places in turns.
        assert_eq!(noted((0..5000).map(|i| (i % 8, i % 8 + 1, 90))), 5000);
        // Between bursts the time is not measured.
        assert_eq!(noted((0..5000).map(|i| (7, 0, if i % BURST == 0 { 9999 } else { 1 }))), 5000);
    }

    #[test]
    fn what_changes_is_not() {
        assert_eq!(noted((0..5000).map(|i| (7, u64::from(i == 1234), 1))), 1234);
        let (site, mut record) = (Site::here(), Record::default());
        assert!(!record.agrees(&look(&site, 7, 0)) && record.note(&look(&site, 7, 0), Duration::ZERO));
        let other = Site::here();
        assert!(record.agrees(&look(&site, 7, 0)));
        assert!(!record.agrees(&look(&site, 7, 1)) && !record.agrees(&look(&other, 7, 0)));
    }

    #[test]
    fn a_loop_over_a_vector_is_not() {
        assert_eq!(noted((0..5000).map(|i| (i, 0, 0))), 8);
        // A poll that begins after a while.
        assert_eq!(noted((0..5000).map(|i| (i.max(100), 0, 0))), 101);
    }

    #[test]
    fn who_computes_between_looks_does_not_poll() {
        assert!(noted((0..5000).map(|_| (7, 0, 150))) < BURST as usize);
        assert_eq!(noted((0..5000).map(|i| (7, 0, if i == 2001 { 10_000 } else { 1 }))), 2001);
    }
}
