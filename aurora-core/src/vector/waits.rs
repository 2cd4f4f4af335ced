//! What a rank waits for at an object, from whom, and what the object does for others by itself.

use crate::epoch::{Collective, Ledger};
use crate::ids::Epoch;
use crate::kernel::watch::{Relay, What};
use crate::vector::object::Object;
use crate::window::Window;
use aurora_net::Rank;

impl Object {
    /// The ranks that have to act before a wait at this object can end.
    pub(crate) fn awaits(&self, what: What) -> Vec<Rank> {
        if let Some(ranks) = self.awaited_at_scalar(what) {
            return ranks;
        }
        let me = self.ledger.me();
        match what {
            What::Load { epoch, .. } => match self.meeting() {
                Some((sharing, turn)) => sharing.absent(turn),
                None => self.load_awaits(epoch),
            },
            What::Halo { .. } => self.edges.awaited().collect(),
            What::Settle { .. } => self.behind_awaits().unwrap_or_default(),
            What::Lead { .. } => self.ledger.laggards(),
            What::Room { owner, .. } if owner == me => {
                self.behind_awaits().unwrap_or_else(|| self.ledger.awaited_before(self.behind.1 + 1, me).collect())
            }
            What::Room { owner, .. } => vec![owner],
            _ => Vec::new(),
        }
    }

    fn load_awaits(&self, epoch: Epoch) -> Vec<Rank> {
        let ledger = &self.ledger;
        let missing = missing(ledger, ledger.scope_of(epoch));
        let ranks = missing.unwrap_or_else(|| ledger.incomplete_blocks(epoch).collect());
        if ranks.is_empty() { self.receivers_awaited(epoch) } else { ranks }
    }

    /// Those who have to end the scopes that the calling thread waits for.
    fn behind_awaits(&self) -> Option<Vec<Rank>> {
        let all = (Window::WHOLE, self.ledger.epoch);
        missing(&self.ledger, if self.home().is_some() { all } else { self.behind })
    }

    /// What a rank does that waits, in words; `name`: the object.
    pub(crate) fn doing(&self, what: What, name: &str) -> String {
        let last = self.ledger.last.as_ref().map(|last| last.behaviour);
        match what {
            What::Halo { .. } => {
                let doing = self.edges.exchange();
                let action = if doing.number == 0 { "opens" } else { "refreshes" };
                // Where several are open it says which.
                format!("{action} a HaloCache of {name}, scope {} of it", doing.epoch)
            }
            What::Load { .. } if last == Some(Collective::ReadMostly) => format!("opens a ReadMostly of {name}"),
            What::Load { .. } => format!("opens a ReadCache of {name}"),
            What::Settle { .. } | What::Lead { .. } => format!("waits for the end of a scope of {name}"),
            What::Room { .. } => {
                let behaviour = match last {
                    Some(Collective::Accumulate | Collective::AccumulateInOrder) => "an Accumulate",
                    _ => "a ReleaseC",
                };
                format!("waits in {behaviour} for room to write to {name}")
            }
            What::Gate { .. } => format!("waits until transfers from {name} are acknowledged"),
            _ => unreachable!("a wait of the kernel's own"),
        }
    }

    /// What it does for others by itself, and for whom it waits in that: a load that goes on in the background, or the scopes of a scalar
    /// that lives here.
    pub(crate) fn relay(&self) -> Option<Relay> {
        let streamed = self.stream.as_ref().map(|stream| {
            let epoch = stream.epoch();
            let me = self.ledger.me();
            let awaited = self.load_awaits(epoch).into_iter().filter(|rank| *rank != me);
            Relay { load: Some(epoch), by_itself: false, behind: awaited.collect() }
        });
        streamed.or_else(|| self.relay_at_home())
    }

    /// Of a scalar that lives here: who has to come to its next scope, or to end it, before that is over.
    fn relay_at_home(&self) -> Option<Relay> {
        let me = self.home().filter(|home| *home == self.ledger.me())?;
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

/// Who has to act in the first of the scopes that are in the way of a part up to an epoch.
fn missing(ledger: &Ledger, (window, upto): (Window, Epoch)) -> Option<Vec<Rank>> {
    ledger.in_the_way(window, upto).find_map(|epoch| {
        let missing: Vec<_> = ledger.awaited(epoch).collect();
        (!missing.is_empty()).then_some(missing)
    })
}
