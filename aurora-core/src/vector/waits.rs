//! What a rank waits for at an object, from whom, and what the object does for others by itself.

use crate::ids::Epoch;
use crate::kernel::watch::{Relay, Wait};
use crate::stats::Kind;
use crate::vector::machine::Vector;
use aurora_net::Rank;

impl Vector {
    /// The ranks that have to act before a wait at this vector can end.
    pub(crate) fn waits_for(&self, wait: Wait) -> Vec<Rank> {
        let me = self.ledger.me();
        match wait {
            Wait::Load { epoch, .. } => match self.node_barrier() {
                Some((sharing, turn)) => sharing.absent(turn),
                None => self.load_awaits(epoch),
            },
            Wait::Halo { .. } => self.halo.awaited().collect(),
            Wait::Settle { .. } => self.behind_awaits().unwrap_or_default(),
            Wait::Lead { .. } => self.ledger.laggards(),
            Wait::Room { owner, .. } if owner == me => {
                self.behind_awaits().unwrap_or_else(|| self.ledger.awaited_before(self.behind.1 + 1, me).collect())
            }
            Wait::Room { owner, .. } => vec![owner],
            _ => Vec::new(),
        }
    }

    fn load_awaits(&self, epoch: Epoch) -> Vec<Rank> {
        let ledger = &self.ledger;
        let missing = ledger.first_awaited(ledger.scope_of(epoch));
        let ranks = missing.unwrap_or_else(|| ledger.incomplete_blocks(epoch).collect());
        if ranks.is_empty() { self.receivers_awaited(epoch) } else { ranks }
    }

    /// Those who have to end the scopes that the calling thread waits for.
    fn behind_awaits(&self) -> Option<Vec<Rank>> {
        self.ledger.first_awaited(self.behind)
    }

    /// What a rank does that waits, in words; `name`: the object.
    pub(crate) fn wait_text(&self, wait: Wait, name: &str) -> String {
        match wait {
            Wait::Halo { .. } => {
                let doing = self.halo.exchange();
                let action = if doing.number == 0 { "opens" } else { "refreshes" };
                // Where several are open it says which.
                format!("{action} a HaloCache of {name}, scope {} of it", doing.epoch)
            }
            Wait::Load { .. } => format!("opens a ReadCache of {name}"),
            Wait::Settle { .. } | Wait::Lead { .. } => format!("waits for the end of a scope of {name}"),
            Wait::Room { .. } => {
                let behaviour = match self.writing() {
                    Kind::Merge => "an Accumulate",
                    _ => "a ReleaseC",
                };
                format!("waits in {behaviour} for room to write to {name}")
            }
            Wait::Gate { .. } => format!("waits until transfers from {name} are acknowledged"),
            _ => unreachable!("a wait of the kernel's own"),
        }
    }

    /// The load that goes on in the background, and for whom it waits.
    pub(crate) fn background_load(&self) -> Option<Relay> {
        let (epoch, me) = (self.load.stream.as_ref()?.epoch(), self.ledger.me());
        let awaited = self.load_awaits(epoch).into_iter().filter(|rank| *rank != me);
        Some(Relay { load: Some(epoch), by_itself: false, behind: awaited.collect() })
    }
}
