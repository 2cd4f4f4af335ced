//! The waits of a rank for the scopes of an object, and the awaited ranks.

use super::opening::article;
use super::{Scopes, Served};
use crate::ObjectName;
use crate::object::{Until, Wait};
use aurora_net::Rank;

/// A wait of the program's thread for scopes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScopeWait {
    /// For the end of an earlier scope on all ranks.
    Settle,
    /// For ranks that are many scopes behind, before this one enters another scope.
    Lead,
    /// For this rank itself to apply batches.
    OwnRoom,
    /// For an owner to apply batches.
    Room(Rank),
}

/// Bits of a wait's number below its class: an epoch or a rank.
const CLASS: u32 = 56;

/// The first class of an object's own waits.
const OWN: u64 = 4;

/// The last number of a wait's class.
const LAST: u64 = (1 << CLASS) - 1;

impl ScopeWait {
    /// The number of an object's own wait, with a detail: an epoch or a rank.
    pub(crate) const fn own(class: u64, detail: u64) -> u64 {
        (OWN + class) << CLASS | detail
    }

    /// The last number of a class of an object's own waits.
    pub(crate) const fn last_own(class: u64) -> u64 {
        Self::own(class, LAST)
    }

    /// A wait by its number. `Err`: the class and the detail of a wait of the object's own.
    pub(crate) fn of(Wait { number, .. }: Wait) -> Result<Self, (u64, u64)> {
        let (class, detail) = (number >> CLASS, number & LAST);
        match class {
            0 => Ok(ScopeWait::Settle),
            1 => Ok(ScopeWait::Lead),
            2 => Ok(ScopeWait::OwnRoom),
            3 => Ok(ScopeWait::Room(Rank::new(detail as usize))),
            own => Err((own - OWN, detail)),
        }
    }
}

impl From<ScopeWait> for Wait {
    fn from(wait: ScopeWait) -> Wait {
        let (class, detail, until) = match wait {
            ScopeWait::Settle => (0, 0, Until::Ended),
            ScopeWait::Lead => (1, 0, Until::Ended),
            // This depends on the scopes of other ranks.
            ScopeWait::OwnRoom => (2, 0, Until::Acted),
            ScopeWait::Room(owner) => (3, owner.index() as u64, Until::Answered),
        };
        Wait { number: class << CLASS | detail, until }
    }
}

impl<S: Served> Scopes<S> {
    /// The ranks that have to act before a wait can end.
    pub(crate) fn awaited(&self, wait: ScopeWait) -> Vec<Rank> {
        let (ledger, first) = (&self.ledger, || self.ledger.first_awaited(self.awaited));
        match wait {
            ScopeWait::Settle => first().unwrap_or_default(),
            ScopeWait::Lead => ledger.late_ranks(),
            ScopeWait::OwnRoom => {
                first().unwrap_or_else(|| ledger.awaited_before(self.awaited.1 + 1, ledger.me()).collect())
            }
            ScopeWait::Room(owner) => vec![owner],
        }
    }

    /// The activity of a waiting rank, in words.
    pub(crate) fn doing(&self, wait: ScopeWait, name: &ObjectName) -> String {
        match wait {
            ScopeWait::Settle | ScopeWait::Lead => format!("waits for the end of a scope of {name}"),
            ScopeWait::Room(_) | ScopeWait::OwnRoom => {
                let scope = self.ledger.opening(self.awaited.1 + 1).map_or("scope", |opening| &opening.name);
                format!("waits in {} {scope} for room to write to {name}", article(scope))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_have_numbers_of_their_own() {
        for wait in [ScopeWait::Settle, ScopeWait::Lead, ScopeWait::OwnRoom, ScopeWait::Room(Rank::new(3))] {
            assert_eq!(ScopeWait::of(wait.into()), Ok(wait));
        }
        for (class, detail) in [(0, 0), (0, LAST), (7, 9)] {
            let own = Wait { number: ScopeWait::own(class, detail), until: Until::Acted };
            assert_eq!(ScopeWait::of(own), Err((class, detail)));
        }
    }
}
