//! What this rank's service does for others by itself, as the watch over waiting ranks is told.

use super::Service;
use super::watch::{Relay, What};
use crate::epoch::Collective;
use crate::ids::ObjectId;
use crate::vector::object::Object;
use aurora_net::Rank;
use std::collections::BTreeMap;

impl Service {
    /// Loads that go on in the background, and scopes of the scalars that live here; of each, for whom it waits.
    pub(crate) fn relays(&self) -> BTreeMap<ObjectId, Relay> {
        let healthy = self.objects.iter().filter(|(_, object)| object.fault.is_none());
        let relays = healthy.filter_map(|(id, object)| {
            let streamed = object.stream.as_ref().map(|stream| {
                let epoch = stream.epoch();
                let behind = self.awaited(What::Load { object: *id, epoch }).into_iter().collect();
                Relay { load: Some(epoch), by_itself: false, behind }
            });
            Some((*id, streamed.or_else(|| object.relay_at_home(self.me))?))
        });
        relays.collect()
    }
}

impl Object {
    /// Of a scalar that lives here: who has to come to its next scope, or to end it, before that is over.
    fn relay_at_home(&self, me: Rank) -> Option<Relay> {
        self.scalar_scopes.as_ref().filter(|scopes| scopes.home() == me)?;
        let next = self.ledger.settled + 1;
        let record = self.ledger.find(next)?;
        // A ReadMostly shows something once all have come, and is over once all have ended it.
        let is_mostly = self.ledger.opening(next)?.behaviour == Collective::ReadMostly;
        let coming = is_mostly && record.from.iter().any(|arrival| !arrival.came);
        let lacking = record.from.iter().enumerate().filter(|(rank, arrival)| match coming {
            true => !arrival.came,
            false if *rank == me.index() => !record.mine_complete,
            false => !arrival.complete,
        });
        let (mine, behind): (Vec<_>, Vec<_>) = lacking.map(|(rank, _)| Rank::new(rank)).partition(|rank| *rank == me);
        Some(Relay { load: None, by_itself: !mine.is_empty(), behind: behind.into_iter().collect() })
    }
}
