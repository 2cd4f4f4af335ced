//! The waits of a rank at a map, and the awaited ranks.

use super::key::{MapKey, MapValue};
use super::part::Part;
use super::work::Work;
use crate::error::ObjectName;
use crate::object::{Obstacle, Until, Wait};
use crate::window::Window;
use aurora_net::Rank;

/// A wait of the program's thread at a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MapWait {
    /// For the end of an earlier scope on all ranks.
    Settle,
    /// For ranks that are many scopes behind, before this one enters another scope.
    Lead,
    /// For this rank itself, or an owner, to apply batches.
    OwnRoom,
    Room(Rank),
}

impl From<MapWait> for Wait {
    fn from(wait: MapWait) -> Wait {
        let (number, until) = match wait {
            MapWait::Settle => (0, Until::Ended),
            MapWait::Lead => (1, Until::Ended),
            // This depends on the scopes of other ranks.
            MapWait::OwnRoom => (2, Until::Came),
            MapWait::Room(owner) => (3 + owner.index() as u64, Until::Answered),
        };
        Wait { number, until }
    }
}

impl From<Wait> for MapWait {
    fn from(Wait { number, .. }: Wait) -> MapWait {
        match number {
            0 => MapWait::Settle,
            1 => MapWait::Lead,
            2 => MapWait::OwnRoom,
            owner => MapWait::Room(Rank::new(owner as usize - 3)),
        }
    }
}

impl<K: MapKey, V: MapValue> Part<K, V> {
    pub(super) fn awaited(&self, wait: MapWait) -> Vec<Rank> {
        match wait {
            MapWait::Settle | MapWait::OwnRoom => {
                self.ledger.first_awaited((Window::WHOLE, self.awaited)).unwrap_or_default()
            }
            MapWait::Lead => self.ledger.late_ranks(),
            MapWait::Room(owner) => vec![owner],
        }
    }

    pub(super) fn doing(wait: MapWait, name: &ObjectName) -> String {
        match wait {
            MapWait::Settle | MapWait::Lead => format!("waits for the end of a scope of {name}"),
            MapWait::OwnRoom | MapWait::Room(_) => format!("waits in a ReleaseC for room to write to {name}"),
        }
    }

    /// The reason why a piece of parked work waits.
    pub(super) fn obstacle(&self, work: &Work) -> Obstacle {
        let ledger = &self.ledger;
        // A batch is part of its scope and waits for earlier scopes only; a call waits for the scope too.
        let (upto, is_early) = match work {
            Work::Call { asked, .. } => (asked.epoch, false),
            Work::Batch { epoch, .. } => (epoch.saturating_sub(1), ledger.epoch < *epoch),
        };
        if let Some(next) = ledger.pending(Window::WHOLE, upto) {
            let record = ledger.find(next);
            let is_known = record.is_some_and(|record| record.mine.is_some());
            let behind = if is_known { ledger.awaited(next).collect() } else { Vec::new() };
            return Obstacle { by_itself: !record.is_some_and(|record| record.mine_complete), behind };
        }
        Obstacle { by_itself: is_early || self.is_lent(), behind: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_numbers_of_their_own() {
        for wait in [MapWait::Settle, MapWait::Lead, MapWait::OwnRoom, MapWait::Room(Rank::new(0))] {
            assert_eq!(MapWait::from(Wait::from(wait)), wait);
        }
    }
}
