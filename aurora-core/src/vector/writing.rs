//! Applies writes of other ranks, and this rank's own, to the block.

use super::apply::{ApplyFn, FoldFn};
use super::batch::{Batch, batch_of_runs};
use super::machine::{Answer, Vector};
use crate::Error;
use crate::object::Cx;
use crate::ops::OpId;
use std::ops::Range;

impl Vector {
    /// The answer to a write of another rank, its write mark, if the write is done.
    pub(crate) fn written(&mut self, done: bool) -> Answer {
        if done { Answer::Reply(self.load.write_marks.apply()) } else { Answer::Park }
    }

    /// Applies a batch. False: not yet.
    pub(crate) fn write(&mut self, op: Option<OpId>, payload: &[u8], cx: &mut Cx<'_>) -> Result<bool, Error> {
        let Some(batch) = Batch::parse(payload, self.block.element, self.block.len()) else {
            return Err(cx.frame.nonsense());
        };
        let apply = match op {
            None => self.access.put,
            Some(op) => self.ops.find(op).ok_or_else(|| cx.frame.unknown_op())?.batch,
        };
        let element = self.block.element;
        let range = || batch.range(element);
        if self.block.write_cells(range, |cells| apply(cells, &batch)).is_none() && !self.write_in_pieces(apply, &batch)
        {
            return Ok(false);
        }
        if let Some(touched) = &mut self.load.touched {
            touch(touched, batch.runs(self.block.element).into_iter().map(|(run, _)| run));
        }
        Ok(true)
    }

    /// Applies an operation to these elements of the block, each with its operand. False: not yet.
    pub(crate) fn fold(&mut self, fold: FoldFn, elements: &Range<usize>, operands: &[u8]) -> bool {
        let range = self.block.bytes_of(elements);
        if self.block.write_cells(|| range, |cells| fold(cells, elements.start, operands)).is_none() {
            return false;
        }
        if let Some(touched) = &mut self.load.touched {
            touch(touched, std::iter::once(elements.clone()));
        }
        true
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
        let run = run.ok_or_else(|| cx.frame.nonsense())?;
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
        if let Some(touched) = &mut self.load.touched {
            touch(touched, std::iter::once(run));
        }
        Ok(true)
    }
}

/// Adds ranges to a list; a list that gets long becomes one range that covers all.
fn touch(touched: &mut Vec<Range<usize>>, runs: impl Iterator<Item = Range<usize>>) {
    const LONGEST: usize = 256;
    for run in runs {
        match touched.last_mut() {
            Some(last) if run.start >= last.start && run.start <= last.end => last.end = last.end.max(run.end),
            _ => touched.push(run),
        }
    }
    if touched.len() > LONGEST {
        let start = touched.iter().map(|run| run.start).min().unwrap_or(0);
        let end = touched.iter().map(|run| run.end).max().unwrap_or(0);
        touched.clear();
        touched.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_touched_is_covered(runs in prop::collection::vec((0usize..1000, 1usize..20), 0..600)) {
            let runs: Vec<_> = runs.into_iter().map(|(start, len)| start..start + len).collect();
            let mut touched = Vec::new();
            for run in &runs {
                touch(&mut touched, std::iter::once(run.clone()));
            }
            prop_assert!(touched.len() <= 256);
            for i in runs.iter().flat_map(Clone::clone) {
                prop_assert!(touched.iter().any(|t| t.contains(&i)));
            }
        }
    }
}
