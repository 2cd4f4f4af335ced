//! A vector's answers to requests.

use super::check::WriteKind;
use super::machine::{Outcome, Parked, Vector, Work};
use super::message::Request;
use super::places::Places;
use super::waits::VectorWait;
use crate::kernel::watch::Blocked;
use crate::memory;
use crate::object::Cx;
use aurora_net::Rank;
use std::ops::Range;

/// Replies up to this length are copied. Longer ones are sent from the block itself, which cannot be written until
/// they are acknowledged; while a write waits for that, they are copied too.
const COPIED_REPLY: usize = 16 * 1024;

impl Vector {
    /// Does a piece of work on our block, or says that it must be parked.
    pub(crate) fn try_work(&mut self, from: Rank, work: &Work, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        if let Err(fault) = cx.sound() {
            return Outcome::Refuse(fault);
        }
        match work {
            Work::Call { asked, .. } if self.ledger.pending(asked.request.window(), asked.epoch).is_some() => {
                Outcome::Park
            }
            Work::Call { asked, .. } => self.serve(from, &asked.request, payload, cx),
            Work::Batch { epoch, seq, op, .. } => self.apply_batch(from, (*epoch, *seq), *op, payload, cx),
        }
    }

    fn serve(&mut self, from: Rank, request: &Request, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        let element = self.block.element;
        match request {
            Request::Read { start, len, .. } => {
                let bytes = self.block.len() * element;
                let range = start.checked_add(*len).and_then(|end| {
                    let range = usize::try_from(*start).ok()?.checked_mul(element)?
                        ..usize::try_from(end).ok()?.checked_mul(element)?;
                    (range.end <= bytes).then_some(range)
                });
                let unflushed = range
                    .as_ref()
                    .and_then(|range| self.unflushed(&cx.frame.name, from, range.start / element..range.end / element));
                match range {
                    None => Outcome::Refuse(cx.frame.nonsense()),
                    _ if unflushed.is_some() => Outcome::Refuse(unflushed.expect("just seen")),
                    Some(range) if range.len() > COPIED_REPLY && self.block.is_all_here() => {
                        let copy = if self.is_write_waiting(cx) { self.copy_of(&range) } else { None };
                        copy.map_or(Outcome::ReplyFromBlock(range), Outcome::Reply)
                    }
                    Some(range) => self.block.read_range(&range, <[u8]>::to_vec).map_or(Outcome::Park, Outcome::Reply),
                }
            }
            Request::ReadMany { width, .. } => match Places::parse((*width).into(), payload) {
                Some(places) if !places.are_below(self.block.len()) => Outcome::Refuse(cx.frame.nonsense()),
                Some(places) => match self.unflushed(&cx.frame.name, from, places.iter()) {
                    Some(error) => Outcome::Refuse(error),
                    None if self.block.is_cut() => self
                        .block
                        .read_elements(&places.iter().collect::<Vec<_>>())
                        .map_or(Outcome::Park, Outcome::Reply),
                    None => Outcome::Gather { width: (*width).into(), len: places.len() * element },
                },
                None => Outcome::Refuse(cx.frame.nonsense()),
            },
            Request::Write { op, .. } => self.write_for_another(|object| object.write(*op, payload, cx)),
            Request::WriteAt { start } => self.write_for_another(|object| object.write_at(*start, payload, cx)),
            Request::Announce { start, len, update, line, opened, window } => {
                let place = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok());
                let run = place(Some(*start)).zip(place(start.checked_add(*len))).map(|(start, end)| start..end);
                let kind = if *update { WriteKind::Update } else { WriteKind::Put };
                match run.filter(|run| run.end <= self.dist.range(self.ledger.me()).len()) {
                    None => Outcome::Refuse(cx.frame.nonsense()),
                    Some(run) => match self.announced(&cx.frame.name, (from, *window), kind, run, [line, opened]) {
                        Ok(()) => Outcome::Reply(Vec::new()),
                        Err(error) => Outcome::Refuse(error),
                    },
                }
            }
            Request::Flushed { window } => {
                self.flushed(from, *window);
                Outcome::Reply(Vec::new())
            }
        }
    }

    /// Whether a write waits until transfers from the block are acknowledged: one of this rank's own calls, or parked
    /// work. Long reads are then answered from copies. If each began another transfer from the block, overlapping reads
    /// would keep the write waiting for ever.
    fn is_write_waiting(&self, cx: &Cx<'_>) -> bool {
        let gate = Blocked::Object(cx.id(), VectorWait::Gate.into());
        let is_write = |parked: &Parked| match &parked.work {
            Work::Call { asked, .. } => asked.request.writes(),
            Work::Batch { .. } => true,
        };
        cx.core.watch.waiting().is_some_and(|waiting| waiting.wait == gate)
            || self.block.is_in_flight() && self.parked.iter().any(is_write)
    }

    /// A copy of some of the block, if there is memory for it.
    fn copy_of(&mut self, range: &Range<usize>) -> Option<Vec<u8>> {
        let mut copy = memory::zeros(range.len()).ok()?;
        self.block.read_range(range, |bytes| copy.copy_from_slice(bytes)).map(|()| copy)
    }

    /// The elements of a [`Request::ReadMany`] that has been checked.
    pub(crate) fn gather(&mut self, width: usize, places: &[u8], into: &mut [u8]) {
        let gather = self.access.gather;
        if let Some(places) = Places::parse(width, places) {
            self.block.read(|block| gather(block, places, into));
        }
    }
}
