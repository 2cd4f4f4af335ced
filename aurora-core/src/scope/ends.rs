//! The number of scopes of an object that each rank had entered when it dropped the object.

use super::ledger::claim_of;
use super::{Ledger, Opening};
use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use crate::{Error, ObjectName};
use aurora_net::Rank;

/// The number of collective scopes that a rank has entered, and the last of them.
pub(super) type Entered = (Epoch, Option<Opening>);

/// By ranks that have dropped their handle of an object without a fault.
#[derive(Debug)]
pub(super) struct Ends(Vec<Option<Entered>>);

impl Ends {
    pub(super) fn new(ranks: usize) -> Self {
        Ends(vec![None; ranks])
    }

    /// This rank drops the object: returns its drop notice.
    pub(super) fn drop_notice<A: Clone + Default>(&self, ledger: &Ledger<A>, cx: &mut Cx<'_>) -> Vec<u8> {
        self.compare(ledger, cx);
        postcard::to_allocvec(&(ledger.epoch, &ledger.last)).expect("plain data")
    }

    /// The scopes that a rank had entered, from its drop notice. `None`: the object was faulty there. `fits`: true if
    /// an opening can belong to this object.
    pub(super) fn read(notice: &[u8], fits: impl Fn(&Opening) -> bool) -> Result<Option<Entered>, Malformed> {
        if notice.is_empty() {
            return Ok(None);
        }
        let entered = postcard::from_bytes::<Entered>(notice).ok();
        entered.filter(|(_, last)| last.as_ref().is_none_or(fits)).ok_or(Malformed).map(Some)
    }

    /// Another rank has dropped the object.
    pub(super) fn peer_dropped<A: Clone + Default>(
        &mut self,
        (from, entered): (Rank, Option<Entered>),
        ledger: &Ledger<A>,
        cx: &mut Cx<'_>,
    ) {
        if entered.is_some() {
            self.0[from.index()] = entered;
        }
        self.compare(ledger, cx);
    }

    /// Checks that all ranks that have dropped an object had entered the same scopes of it. A rank that drops it during
    /// a failure has entered fewer. So this error is reported only at the end of `run`, if `run` has not failed
    /// otherwise; ranks that wait for such a rank get the error at once.
    fn compare<A: Clone + Default>(&self, ledger: &Ledger<A>, cx: &mut Cx<'_>) {
        let gone = cx.has_dropped(cx.me());
        let error = self.difference(ledger, cx.name(), gone).filter(|_| cx.is_sound());
        error.into_iter().for_each(|error| cx.defer(error));
    }

    /// The first difference. `gone`: this rank has dropped the object.
    fn difference<A: Clone + Default>(&self, mine: &Ledger<A>, name: &ObjectName, gone: bool) -> Option<Error> {
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
            let mut theirs = claim_of(Rank::new(rank), last.as_ref(), name);
            if fewer {
                theirs.action.insert_str(0, "has dropped the object after it ");
            }
            Some(crate::collective::counted((&mine.last_claim(name), mine.epoch), (&theirs, *epoch)))
        })
    }
}

/// Defers the fault of an object to the end of `run`, if no waiting rank gets it otherwise: a scope of writes was
/// dropped and its writes are lost, or two ranks race for an element.
pub(super) fn defer_lost_writes<A: Clone + Default>(ledger: &Ledger<A>, cx: &mut Cx<'_>) {
    let lost_writes = ledger.has_ended_writes() && !cx.waits_for_ends();
    if let Err(error) = cx.sound()
        && (lost_writes || matches!(error, Error::Race { .. }))
    {
        cx.defer(error);
    }
}
