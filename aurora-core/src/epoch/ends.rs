//! The number of scopes of an object that each rank had entered when it dropped the object.

use super::{Ledger, Opening};
use crate::Error;
use crate::error::ObjectName;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use aurora_net::Rank;

/// The number of collective scopes that a rank has entered, and the last of them.
type Entered = (Epoch, Option<Opening>);

/// By ranks that have dropped their handle of an object without a fault.
#[derive(Debug)]
pub(crate) struct Ends(Vec<Option<Entered>>);

impl Ends {
    pub(crate) fn new(ranks: usize) -> Self {
        Ends(vec![None; ranks])
    }

    /// This rank drops the object: returns its drop notice.
    pub(crate) fn drop_notice(&self, ledger: &Ledger, cx: &mut Cx<'_>) -> Vec<u8> {
        self.compare(ledger, cx);
        postcard::to_allocvec(&(ledger.epoch, &ledger.last)).expect("plain data")
    }

    /// Another rank has dropped the object, with this notice, which is empty if the object was faulty there. `fits`:
    /// true if an opening can belong to this object.
    pub(crate) fn peer_dropped(
        &mut self,
        (from, notice): (Rank, &[u8]),
        fits: impl Fn(&Opening) -> bool,
        ledger: &Ledger,
        cx: &mut Cx<'_>,
    ) -> Result<(), Malformed> {
        if !notice.is_empty() {
            let entered = postcard::from_bytes::<Entered>(notice).ok();
            let entered = entered.filter(|(_, last)| last.as_ref().is_none_or(fits));
            self.0[from.index()] = Some(entered.ok_or(Malformed)?);
        }
        self.compare(ledger, cx);
        Ok(())
    }

    /// Checks that all ranks that have dropped an object had entered the same scopes of it. A rank that drops it during
    /// a failure has entered fewer. So this error is reported only at the end of `run`, if `run` has not failed
    /// otherwise; ranks that wait for such a rank get the error at once.
    fn compare(&self, ledger: &Ledger, cx: &mut Cx<'_>) {
        let gone = cx.frame.dropped[cx.core.me.index()];
        let error = self.difference(ledger, &cx.frame.name, gone).filter(|_| cx.is_sound());
        error.into_iter().for_each(|error| cx.defer(error));
    }

    /// The first difference. `gone`: this rank has dropped the object.
    fn difference(&self, mine: &Ledger, name: &ObjectName, gone: bool) -> Option<Error> {
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
                theirs.action.insert_str(0, "has dropped the object after it ");
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
