//! The waits of a rank at a vector, the awaited ranks, and the vector's work for other ranks in the background.

use crate::error::ObjectName;
use crate::ids::Epoch;
use crate::object::{Holds, Obstacle, Until, Wait};
use crate::stats::Kind;
use crate::vector::machine::Vector;
use aurora_net::Rank;

/// A wait of the program's thread at a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VectorWait {
    /// For all blocks of a load.
    Load(Epoch),
    /// For the edges of a HaloCache's neighbours.
    Halo,
    /// For the end of an earlier scope on all ranks.
    Settle,
    /// For ranks that are many scopes behind, before this one enters another scope.
    Lead,
    /// For an owner, or for this rank itself, to apply batches.
    Room(Rank),
    OwnRoom,
    /// For transfers from our block to be acknowledged.
    Gate,
    /// For the changes of a sync.
    Pages,
}

/// Bits of a wait's number below its class: an epoch or a rank.
const CLASS: u32 = 56;
const LAST: u64 = (1 << CLASS) - 1;

impl From<VectorWait> for Wait {
    fn from(wait: VectorWait) -> Wait {
        let (class, detail, until) = match wait {
            VectorWait::Load(epoch) => (0, epoch, Until::Came),
            VectorWait::Halo => (1, 0, Until::Came),
            VectorWait::Settle => (2, 0, Until::Ended),
            VectorWait::Lead => (3, 0, Until::Ended),
            VectorWait::Room(owner) => (4, owner.index() as u64, Until::Answered),
            // This depends on the scopes of other ranks.
            VectorWait::OwnRoom => (5, 0, Until::Came),
            VectorWait::Gate => (6, 0, Until::Came),
            VectorWait::Pages => (7, 0, Until::Answered),
        };
        Wait { number: class << CLASS | detail, until }
    }
}

impl From<Wait> for VectorWait {
    fn from(Wait { number, .. }: Wait) -> VectorWait {
        let detail = number & LAST;
        match number >> CLASS {
            0 => VectorWait::Load(detail),
            1 => VectorWait::Halo,
            2 => VectorWait::Settle,
            3 => VectorWait::Lead,
            4 => VectorWait::Room(Rank::new(detail as usize)),
            5 => VectorWait::OwnRoom,
            6 => VectorWait::Gate,
            _ => VectorWait::Pages,
        }
    }
}

impl Vector {
    pub(super) fn awaited(&self, wait: VectorWait) -> Vec<Rank> {
        let me = self.ledger.me();
        match wait {
            VectorWait::Load(epoch) => match self.node_barrier() {
                Some((sharing, turn)) => sharing.absent(turn),
                None => self.load_awaits(epoch),
            },
            VectorWait::Halo => self.halo.awaited().collect(),
            VectorWait::Settle => self.scopes_awaited().unwrap_or_default(),
            VectorWait::Lead => self.ledger.late_ranks(),
            VectorWait::OwnRoom => self
                .scopes_awaited()
                .unwrap_or_else(|| self.ledger.awaited_before(self.awaited_scopes.1 + 1, me).collect()),
            VectorWait::Room(owner) => vec![owner],
            VectorWait::Gate => Vec::new(),
            VectorWait::Pages => self.pages.iter().flat_map(|pages| pages.awaited()).collect(),
        }
    }

    fn load_awaits(&self, epoch: Epoch) -> Vec<Rank> {
        let ledger = &self.ledger;
        let missing = ledger.first_awaited(ledger.scope_of(epoch));
        let ranks = missing.unwrap_or_else(|| ledger.incomplete_blocks(epoch).collect());
        if ranks.is_empty() { self.receivers_awaited(epoch) } else { ranks }
    }

    /// The ranks that must end the scopes that the calling thread waits for.
    fn scopes_awaited(&self) -> Option<Vec<Rank>> {
        self.ledger.first_awaited(self.awaited_scopes)
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
            VectorWait::Settle | VectorWait::Lead => format!("waits for the end of a scope of {name}"),
            VectorWait::Room(_) | VectorWait::OwnRoom => {
                let behaviour = match self.writing() {
                    Kind::Merge => "an Accumulate",
                    _ => "a ReleaseC",
                };
                format!("waits in {behaviour} for room to write to {name}")
            }
            VectorWait::Pages => format!("waits in a sync for changes of {name}"),
            VectorWait::Gate => format!("waits until transfers from {name} are acknowledged, or its readers have left"),
        }
    }

    /// The parked work, and a load in the background.
    pub(super) fn what_is_held(&self, held: &mut Holds<'_>) {
        self.parked.iter().for_each(|parked| held.call(parked.from, self.obstacle(parked.from, &parked.work)));
        if let Some(stream) = &self.load.stream {
            let (epoch, me) = (stream.epoch, self.ledger.me());
            let behind = self.load_awaits(epoch).into_iter().filter(|rank| *rank != me).collect();
            // No rank enters a later load before this load is complete.
            held.work(epoch..=LAST, Obstacle { by_itself: false, behind });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_numbers_of_their_own() {
        use VectorWait::{Gate, Halo, Lead, Load, OwnRoom, Pages, Room, Settle};
        for wait in [Load(7), Halo, Settle, Lead, Room(Rank::new(3)), OwnRoom, Gate, Pages] {
            assert_eq!(VectorWait::from(Wait::from(wait)), wait);
        }
    }
}
