//! How far the scopes of those got who have dropped an object.

use super::{Ledger, Opening};
use crate::Error;
use crate::error::ObjectName;
use crate::ids::Epoch;
use crate::object::Cx;
use aurora_net::Rank;

/// How many collective scopes a rank has entered, and the last.
type Entered = (Epoch, Option<Opening>);

/// Of each rank that has dropped its handle of a sound object.
#[derive(Debug)]
pub(crate) struct Ends(Vec<Option<Entered>>);

impl Ends {
    /// Of so many ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        Ends(vec![None; ranks])
    }

    /// What a rank says that drops its handle.
    pub(crate) fn notice(ledger: &Ledger) -> Vec<u8> {
        postcard::to_allocvec(&(ledger.epoch, &ledger.last)).expect("plain data")
    }

    /// A rank has said this; nothing if the object was faulty there. False: it makes no sense.
    pub(crate) fn note(&mut self, from: Rank, notice: &[u8], fits: impl Fn(&Opening) -> bool) -> bool {
        if notice.is_empty() {
            return true;
        }
        let entered = postcard::from_bytes::<Entered>(notice).ok();
        let entered = entered.filter(|(_, last)| last.as_ref().is_none_or(fits));
        self.0[from.index()] = entered;
        self.0[from.index()].is_some()
    }

    /// All who have dropped an object must have entered the same scopes of it; this rank has if it is `gone`. Ranks
    /// that drop it amid a failure have not: so this is told only at the end of `run`, if it ends well otherwise; who
    /// waits for such a rank hears of it at once.
    pub(crate) fn compare(&self, mine: &Ledger, name: &ObjectName, gone: bool) -> Option<Error> {
        self.0.iter().enumerate().find_map(|(rank, end)| {
            let (epoch, last) = end.as_ref()?;
            let differs = match (&mine.last, last) {
                (Some(mine_last), Some(theirs)) if *epoch == mine.epoch => !mine_last.agrees_with(theirs),
                _ => false,
            };
            let fewer = *epoch < mine.epoch;
            if !(fewer || differs || gone && *epoch > mine.epoch) {
                return None;
            }
            let mut theirs = Ledger::claim_of(Rank::new(rank), last.as_ref(), name);
            if fewer {
                theirs.action.insert_str(0, "has dropped it since it ");
            }
            Some(crate::collective::counted((&mine.last_claim(name), mine.epoch), (&theirs, *epoch)))
        })
    }
}

/// An object is faulty. Where a scope of writes has been dropped whose writes are lost with it, and nobody waits to
/// hear of it, or two ranks have written one element, the end of `run` says so.
pub(crate) fn defer_lost_writes(ledger: &Ledger, cx: &mut Cx<'_>) {
    let lost_writes = ledger.has_ended_writes() && !cx.core.waits_for_end_of(cx.id());
    if let Some(error) = cx.frame.fault.clone()
        && (lost_writes || matches!(error, Error::Conflict { .. }))
    {
        cx.defer(error);
    }
}
