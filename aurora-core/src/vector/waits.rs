//! The waits of a rank at a vector, the awaited ranks, and the vector's work for other ranks in the background.

use crate::error::ObjectName;
use crate::ids::Epoch;
use crate::object::{Holds, Obstacle, Until, Wait};
use crate::scope::{self, ScopeWait};
use crate::vector::machine::Vector;
use aurora_net::Rank;

/// A wait of the program's thread at a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VectorWait {
    /// For all blocks of a load.
    Load(Epoch),
    /// For the edges of a HaloCache's neighbours.
    Halo,
    Scope(ScopeWait),
    /// For transfers from our block to be acknowledged.
    Gate,
    /// For the changes of a sync.
    Pages,
}

/// The class of the waits for loads.
const LOAD: u64 = 0;

impl From<VectorWait> for Wait {
    fn from(wait: VectorWait) -> Wait {
        let (class, detail, until) = match wait {
            VectorWait::Scope(wait) => return wait.into(),
            VectorWait::Load(epoch) => (LOAD, epoch, Until::Came),
            VectorWait::Halo => (1, 0, Until::Came),
            VectorWait::Gate => (2, 0, Until::Came),
            VectorWait::Pages => (3, 0, Until::Answered),
        };
        Wait { number: ScopeWait::own(class, detail), until }
    }
}

impl From<Wait> for VectorWait {
    fn from(wait: Wait) -> VectorWait {
        match ScopeWait::of(wait) {
            Ok(wait) => VectorWait::Scope(wait),
            Err((LOAD, epoch)) => VectorWait::Load(epoch),
            Err((1, _)) => VectorWait::Halo,
            Err((2, _)) => VectorWait::Gate,
            Err(_) => VectorWait::Pages,
        }
    }
}

impl Vector {
    pub(super) fn awaited(&self, wait: VectorWait) -> Vec<Rank> {
        match wait {
            VectorWait::Scope(wait) => self.scopes.awaited(wait),
            VectorWait::Load(epoch) => match self.node_barrier() {
                Some((sharing, turn)) => sharing.absent(turn),
                None => self.load_awaits(epoch),
            },
            VectorWait::Halo => self.halo.awaited().collect(),
            VectorWait::Gate => Vec::new(),
            VectorWait::Pages => self.pages.iter().flat_map(|pages| pages.awaited()).collect(),
        }
    }

    fn load_awaits(&self, epoch: Epoch) -> Vec<Rank> {
        let ledger = &self.scopes.ledger;
        let missing = ledger.first_awaited(ledger.scope_of(epoch));
        let ranks = missing.unwrap_or_else(|| ledger.incomplete_blocks(epoch).collect());
        if ranks.is_empty() { self.receivers_awaited(epoch) } else { ranks }
    }

    pub(super) fn doing(&self, wait: VectorWait, name: &ObjectName) -> String {
        match wait {
            VectorWait::Halo => {
                let doing = self.halo.exchange();
                let action = if doing.number == 0 { "opens" } else { "refreshes" };
                // Several HaloCaches may be open: the number tells them apart.
                format!("{action} a HaloCache of {name}, scope {} of it", doing.epoch)
            }
            VectorWait::Load(_) => format!("opens a ReadCache of {name}"),
            VectorWait::Scope(wait) => self.scopes.doing(wait, name),
            VectorWait::Pages => format!("waits in a sync for changes of {name}"),
            VectorWait::Gate => format!("waits until transfers from {name} are acknowledged, or its readers have left"),
        }
    }

    /// The parked work, and a load in the background.
    pub(super) fn what_is_held(&self, held: &mut Holds<'_>) {
        scope::holds(self, held);
        if let Some(stream) = &self.load.stream {
            let (epoch, me) = (stream.epoch, self.scopes.ledger.me());
            let behind = self.load_awaits(epoch).into_iter().filter(|rank| *rank != me).collect();
            // No rank enters a later load before this load is complete.
            held.work(ScopeWait::own(LOAD, epoch)..=ScopeWait::last_own(LOAD), Obstacle { by_itself: false, behind });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_numbers_of_their_own() {
        use VectorWait::{Gate, Halo, Load, Pages, Scope};
        for wait in [Load(7), Halo, Scope(ScopeWait::Settle), Scope(ScopeWait::Room(Rank::new(3))), Gate, Pages] {
            assert_eq!(VectorWait::from(Wait::from(wait)), wait);
        }
    }
}
