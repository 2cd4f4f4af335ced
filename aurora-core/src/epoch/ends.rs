//! How many scopes of an object each rank had entered when it dropped the object.

use super::{Ledger, Opening};
use crate::Error;
use crate::error::ObjectName;
use crate::ids::Epoch;
use crate::object::Cx;
use aurora_net::Rank;

/// How many collective scopes a rank has entered, and the last.
type Entered = (Epoch, Option<Opening>);

/// By ranks that have dropped their handle of a sound object.
#[derive(Debug)]
pub(crate) struct Ends(Vec<Option<Entered>>);

impl Ends {
    pub(crate) fn new(ranks: usize) -> Self {
        Ends(vec![None; ranks])
    }

    /// The content of this rank's drop notice.
    pub(crate) fn notice(ledger: &Ledger) -> Vec<u8> {
        postcard::to_allocvec(&(ledger.epoch, &ledger.last)).expect("plain data")
    }

    /// Records a drop notice, which is empty if the object was faulty there. False: malformed.
    pub(crate) fn note(&mut self, from: Rank, notice: &[u8], fits: impl Fn(&Opening) -> bool) -> bool {
        if notice.is_empty() {
            return true;
        }
        let entered = postcard::from_bytes::<Entered>(notice).ok();
        let entered = entered.filter(|(_, last)| last.as_ref().is_none_or(fits));
        self.0[from.index()] = entered;
        self.0[from.index()].is_some()
    }

    /// Checks that all ranks that have dropped an object had entered the same scopes of it; `gone`: this rank has
    /// dropped it too. A rank that drops it during a failure has entered fewer. So this error is reported only at the
    /// end of `run`, if `run` has not failed otherwise; ranks that wait for such a rank get the error at once.
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

/// Defers the fault of an object to the end of `run`, if no waiting rank gets it otherwise: a scope of writes was
/// dropped and its writes are lost, or two ranks race for an element.
pub(crate) fn defer_lost_writes(ledger: &Ledger, cx: &mut Cx<'_>) {
    let lost_writes = ledger.has_ended_writes() && !cx.core.waits_for_end_of(cx.id());
    if let Some(error) = cx.frame.fault.clone()
        && (lost_writes || matches!(error, Error::Race { .. }))
    {
        cx.defer(error);
    }
}
