//! Checking mode: the owner of a block notes who has written which element. It detects two ranks that write one
//! element in the same ReleaseC, and a rank that reads what another has not flushed.
//!
//! *Writes of a collective scope* are noted as their batches are applied, each with its line, which the batch
//! carries, and forgotten when the scope is settled. A put of one rank clashes with a put or an update of another;
//! updates do not clash: they are by the one operation of the scope, which commutes. *Writes of a ReleaseC alone*
//! wait in its rank's buffers, so that rank announces each to the owner as it is made, and waits until it is noted;
//! they are forgotten when that scope has ended.
//!
//! The owner pays 40 to 80 bytes for each element that is written, until the scope is over, and a look at a hash
//! table for each element written or read. Large tables are made only if there is memory for them.

mod checker;
mod lines;

pub(crate) use checker::{Checker, WriteKind};
pub(crate) use lines::Lines;

use super::batch::Batch;
use super::machine::Vector;
use crate::element::OpId;
use crate::error::{Claim, ObjectName};
use crate::ids::Epoch;
use crate::memory::Shortage;
use crate::stats::Kind;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Rank;
use checker::{Clash, Write};
use std::ops::Range;

impl Vector {
    /// Notes a batch that is applied: an error if another rank has written one of its elements.
    pub(crate) fn check_batch(
        &mut self,
        name: &ObjectName,
        (from, epoch): (Rank, Epoch),
        op: Option<OpId>,
        payload: &[u8],
    ) -> Result<(), Error> {
        let Some(checker) = &mut self.check else {
            return Ok(());
        };
        let record = self.ledger.find(epoch);
        let theirs = record.and_then(|record| record.from[from.index()].opening.as_ref());
        let opening = theirs.or_else(|| record?.mine.as_ref()).filter(|o| o.kind == Kind::Flush);
        let batch = Batch::parse(payload, self.block.element, self.dist.range(self.ledger.me()).len());
        let (Some(opening), Some(batch)) = (opening, batch) else {
            return Ok(());
        };
        let site = opening.site.clone();
        match checker.applied(epoch, (from, &site), WriteKind::of(op), &batch) {
            Ok(None) => Ok(()),
            Ok(Some(clash)) => Err(self.clash(name, clash, from)),
            Err(shortage) => Err(self.no_notes(name, shortage, &site)),
        }
    }

    /// Notes a run that a rank has written in a ReleaseC alone, and whose values it still keeps.
    pub(crate) fn announced(
        &mut self,
        name: &ObjectName,
        from: (Rank, Window),
        kind: WriteKind,
        run: Range<usize>,
        write: [&Site; 2],
    ) -> Result<(), Error> {
        let checker = self.check.get_or_insert_default();
        checker.announced(from, kind, run, write).map_err(|shortage| self.no_notes(name, shortage, write[0]))
    }

    pub(crate) fn flushed(&mut self, from: Rank, window: Window) {
        if let Some(checker) = &mut self.check {
            checker.flushed(from, window);
        }
    }

    /// The error that keeps `reader` from reading these places of our block.
    pub(crate) fn unflushed(
        &self,
        name: &ObjectName,
        reader: Rank,
        places: impl Iterator<Item = usize>,
    ) -> Option<Error> {
        let clash = self.check.as_ref()?.unflushed(reader, places)?;
        Some(self.clash(name, clash, reader))
    }

    /// A clash as an error. A reader's line is known to the reader alone.
    fn clash(&self, name: &ObjectName, Clash { place, earlier, later }: Clash, reader: Rank) -> Error {
        let index = self.dist.range(self.ledger.me()).start + place;
        let claim = |Write { rank, kind, alone, line, opened }: Write| {
            let kind = match kind {
                WriteKind::Put => "put it",
                WriteKind::Update => "updated it",
            };
            let behaviour = if alone { "ReleaseC alone" } else { "ReleaseC" };
            let place = if line == opened { String::new() } else { format!(" at {opened},") };
            Claim { rank, action: format!("{kind} inside the {behaviour} opened{place}"), site: line }
        };
        let object = Box::new(name.clone());
        match later {
            Some(later) => {
                let (first, second) = if earlier.rank <= later.rank { (earlier, later) } else { (later, earlier) };
                Error::Conflict { index, object, first: Box::new(claim(first)), second: Box::new(claim(second)) }
            }
            None => {
                let reader = Claim { rank: reader, action: String::new(), site: earlier.line.clone() };
                Error::Unflushed { index, object, writer: Box::new(claim(earlier)), reader: Box::new(reader) }
            }
        }
    }

    fn no_notes(&self, name: &ObjectName, shortage: Shortage, site: &Site) -> Error {
        shortage.error(self.ledger.me(), "the notes of AURORA_CHECK", name.clone(), site)
    }
}
