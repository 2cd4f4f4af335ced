//! A vector's answers to requests.

use super::machine::{Answer, Vector};
use super::message::{Asked, Request};
use super::places::Places;
use super::waits::VectorWait;
use crate::Error;
use crate::kernel::watch::Blocked;
use crate::memory;
use crate::object::Cx;
use crate::race::{AccessKind, Scope};
use aurora_net::Rank;
use std::ops::Range;

/// Replies up to this length are copied. Longer replies are sent from the block itself, which cannot be written until
/// they are acknowledged. While a write waits for that, longer replies are copied, too.
const COPIED_REPLY: usize = 16 * 1024;

impl Vector {
    pub(super) fn serve(
        &mut self,
        from: Rank,
        asked: &Asked,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Answer, Error> {
        let Asked { epoch, request, stamp } = asked;
        let (by, stamp) = ((from, *epoch), stamp.as_deref());
        let read = (AccessKind::Read, Scope::None);
        Ok(match request {
            Request::Read { start, len, .. } => {
                let elements = self.run(*start, *len).ok_or_else(|| cx.frame.nonsense())?;
                let range = self.block.bytes_of(&elements);
                let outcome = if range.len() > COPIED_REPLY && self.block.is_all_here() {
                    let copy = if self.is_write_waiting(cx) { self.copy_of(&range) } else { None };
                    copy.map_or(Answer::ReplyFromBlock(range), Answer::Reply)
                } else {
                    self.block.read_range(&range, <[u8]>::to_vec).map_or(Answer::Park, Answer::Reply)
                };
                if let Some(stamp) = stamp.filter(|_| !matches!(outcome, Answer::Park)) {
                    self.note(by, stamp, read, [elements], cx)?;
                }
                outcome
            }
            Request::ReadMany { width, .. } => {
                let width = (*width).into();
                let places = Places::parse(width, payload).filter(|places| places.are_below(self.block.len()));
                let places = places.ok_or_else(|| cx.frame.nonsense())?;
                let outcome = if self.block.is_cut() {
                    let places: Vec<_> = places.iter().collect();
                    self.block.read_elements(&places).map_or(Answer::Park, Answer::Reply)
                } else {
                    Answer::Gather { width, len: places.len() * self.block.element }
                };
                if let Some(stamp) = stamp.filter(|_| !matches!(outcome, Answer::Park)) {
                    self.note(by, stamp, read, places.iter().map(|place| place..place + 1), cx)?;
                }
                outcome
            }
            Request::Write { op, .. } => {
                let done = self.write(*op, payload, cx)?;
                if done && stamp.is_some() {
                    self.note_batch(by, stamp, *op, payload, cx)?;
                }
                self.written(done)
            }
            Request::WriteAt { start } => {
                let done = self.write_at(*start, payload, cx)?;
                if let Some(stamp) = stamp.filter(|_| done) {
                    let run = self.run(*start, (payload.len() / self.block.element) as u64);
                    self.note(by, stamp, (AccessKind::Write, Scope::None), run, cx)?;
                }
                self.written(done)
            }
            Request::Ended { number, .. } => {
                if let Some(stamp) = stamp {
                    self.ended_alone(from, *number, stamp);
                }
                Answer::Reply(Vec::new())
            }
            Request::Pages { after } => self.serve_pages(from, (*epoch, *after), payload, cx)?,
        })
    }

    /// These elements of our block, if the block has them.
    pub(crate) fn run(&self, start: u64, len: u64) -> Option<Range<usize>> {
        let end = start.checked_add(len).filter(|end| *end <= self.block.len() as u64)?;
        Some(start as usize..end as usize)
    }

    /// True if a write (a call of this rank, or parked work) waits until no transfer reads the block, or until the
    /// block has left its readers. Long reads are then answered from copies. If each began another transfer from the
    /// block, overlapping reads would keep the write waiting for ever.
    fn is_write_waiting(&self, cx: &Cx<'_>) -> bool {
        let gate = Blocked::Object(cx.id(), VectorWait::Gate.into());
        cx.core.watch.waiting().is_some_and(|waiting| waiting.wait == gate)
            || (self.block.is_in_flight() || self.block.is_leaving()) && self.has_parked_write()
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
