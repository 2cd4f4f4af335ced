//! Applies writes of other ranks, and this rank's own, to the block.

use super::apply::ApplyFn;
use super::batch::{Batch, batch_of_runs};
use super::check::Noted;
use super::core::VectorCore;
use crate::Error;
use crate::ids::Epoch;
use crate::object::Cx;
use crate::ops::OpId;
use crate::scope::Outcome;
use aurora_net::Rank;
use std::ops::Range;

impl VectorCore {
    /// The answer to a write of another rank, its write mark, if the write is done.
    pub(crate) fn written(&mut self, done: bool) -> Outcome {
        if done { Outcome::answer(self.writes.apply()) } else { Outcome::Park }
    }

    /// Applies a batch of a scope, and notes it in checking mode.
    pub(crate) fn apply(
        &mut self,
        by: (Rank, Epoch),
        op: Option<OpId>,
        noted: Noted<'_>,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        if !self.write(op, payload, cx)? {
            return Ok(Outcome::Park);
        }
        self.note_batch(by, noted, op, payload, cx).map(|()| Outcome::applied(Ok(())))
    }

    /// Applies a batch. False: not yet.
    pub(crate) fn write(&mut self, op: Option<OpId>, payload: &[u8], cx: &mut Cx<'_>) -> Result<bool, Error> {
        let Some(batch) = Batch::parse(payload, self.block.element, self.block.len()) else {
            return Err(cx.nonsense());
        };
        let apply = match op {
            None => self.access.put,
            Some(op) => self.ops.find(op).ok_or_else(|| cx.unknown_op())?.batch,
        };
        let element = self.block.element;
        let range = || batch.range(element);
        if self.block.write_cells(range, |cells| apply(cells, &batch)).is_none() && !self.write_in_pieces(apply, &batch)
        {
            return Ok(false);
        }
        self.writes.touch(|| batch.runs(element).into_iter().map(|(run, _)| run));
        Ok(true)
    }

    /// Applies an operation to these elements of the block, each with its operand. False: not yet. `None`: this owner
    /// does not know the operation.
    pub(crate) fn fold(&mut self, op: OpId, elements: &Range<usize>, operands: &[u8]) -> Option<bool> {
        let (fold, range) = (self.ops.find(op)?.fold, self.block.bytes_of(elements));
        if operands.is_empty() {
            return Some(true);
        }
        let done = self.block.write_cells(|| range, |cells| fold(cells, elements.start, operands)).is_some();
        if done {
            self.writes.touch(|| [elements.clone()]);
        }
        Some(done)
    }

    /// Applies a batch while parts of the block are lent, if it writes to none of them.
    fn write_in_pieces(&mut self, apply: ApplyFn, batch: &Batch<'_>) -> bool {
        if !self.block.is_cut() {
            return false;
        }
        let element = self.block.element;
        let runs = batch.runs(element).into_iter().map(|(run, _)| run.start * element..run.end * element);
        let Some(pieces) = self.block.pieces_of(runs) else {
            return false;
        };
        for piece in pieces {
            let elements = piece.start / element..piece.end / element;
            let own = batch.cut(element, &elements);
            let own = Batch::parse(&own, element, elements.len()).expect("cut to fit");
            self.block.write_piece(&piece, |cells| apply(cells, &own)).expect("it is free");
        }
        true
    }

    pub(crate) fn write_at(&mut self, start: u64, values: &[u8], cx: &mut Cx<'_>) -> Result<bool, Error> {
        let (element, len) = (self.block.element, self.block.len());
        let run = self.run(start, (values.len() / element) as u64).filter(|_| values.len().is_multiple_of(element));
        let run = run.ok_or_else(|| cx.nonsense())?;
        let store = self.access.store;
        let range = self.block.bytes_of(&run);
        if self.block.write_cells(|| range, |cells| store(cells, run.start, values)).is_none() {
            if !self.block.is_cut() {
                return Ok(false);
            }
            let batch = batch_of_runs(len, element, std::iter::once((run.clone(), values)));
            let batch = Batch::parse(&batch, element, len).expect("it was found to fit");
            if !self.write_in_pieces(self.access.put, &batch) {
                return Ok(false);
            }
        }
        self.writes.touch(|| [run]);
        Ok(true)
    }
}
