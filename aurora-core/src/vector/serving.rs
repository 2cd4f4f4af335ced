//! A vector's answers to requests.

use super::asking::GATE;
use super::check::Noted;
use super::core::VectorCore;
use super::machine::VectorWork;
use super::message::{Asked, Request};
use super::places::Places;
use crate::Error;
use crate::memory;
use crate::object::Cx;
use crate::race::{AccessKind, Scope};
use crate::scope::Outcome;
use aurora_net::{Buffer, Payload, Rank};
use std::ops::Range;

/// Replies up to this length are copied. Longer replies are sent from the block itself, which cannot be written until
/// they are acknowledged. While a write waits for that, longer replies are copied, too.
const COPIED_REPLY: usize = 16 * 1024;

impl VectorCore {
    pub(super) fn serve(
        &mut self,
        from: Rank,
        asked: &Asked,
        payload: &[u8],
        cx: &mut Cx<'_>,
    ) -> Result<Outcome, Error> {
        let Asked { epoch, request, stamp } = asked;
        let (by, stamp) = ((from, *epoch), stamp.as_deref());
        let read = (AccessKind::Read, Scope::None);
        Ok(match request {
            Request::Read { start, len, .. } => {
                let elements = self.run(*start, *len).ok_or_else(|| cx.nonsense())?;
                let range = self.block.bytes_of(&elements);
                let is_lent = range.len() > COPIED_REPLY && self.block.is_all_here();
                let copy = match is_lent {
                    true if self.is_write_waiting(cx) => self.copy_of(&range),
                    true => None,
                    false => self.block.read_range(&range, <[u8]>::to_vec),
                };
                if copy.is_none() && !is_lent {
                    return Ok(Outcome::Park);
                }
                if let Some(stamp) = stamp {
                    self.note(by, stamp, read, [elements], cx)?;
                }
                match copy {
                    Some(bytes) => Outcome::answer(bytes),
                    None => {
                        cx.none_given_up().map_err(|error| *error)?;
                        Outcome::Done(Ok(self.lend_block(range.start, range.len(), cx)))
                    }
                }
            }
            Request::ReadMany { width, .. } => {
                let width = (*width).into();
                let places = Places::parse(width, payload).filter(|places| places.are_below(self.block.len()));
                let places = places.ok_or_else(|| cx.nonsense())?;
                let answer: Payload = if self.block.is_cut() {
                    let places: Vec<_> = places.iter().collect();
                    let Some(bytes) = self.block.read_elements(&places) else {
                        return Ok(Outcome::Park);
                    };
                    Buffer::own(bytes).into()
                } else {
                    let gather = self.access.gather;
                    let mut answer = cx.buffer(from, places.len() * self.block.element);
                    self.block.read(|block| gather(block, places, &mut answer));
                    answer.into()
                };
                if let Some(stamp) = stamp {
                    self.note(by, stamp, read, places.iter().map(|place| place..place + 1), cx)?;
                }
                Outcome::Done(Ok(answer))
            }
            Request::Write { op, .. } => {
                let done = self.write(*op, payload, cx)?;
                if let Some(stamp) = stamp.filter(|_| done) {
                    self.note_batch(by, Noted::Call(stamp), *op, payload, cx)?;
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
                Outcome::answer(Vec::new())
            }
            Request::Of { .. } => return Err(cx.nonsense()),
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
        cx.waits_with(GATE.number) || (self.block.is_in_flight() || self.block.is_leaving()) && self.has_parked_write()
    }

    /// A copy of some of the block, if there is memory for it.
    fn copy_of(&mut self, range: &Range<usize>) -> Option<Vec<u8>> {
        let mut copy = memory::zeros(range.len()).ok()?;
        self.block.read_range(range, |bytes| copy.copy_from_slice(bytes)).map(|()| copy)
    }

    /// True if a parked write waits for the block.
    fn has_parked_write(&self) -> bool {
        self.scopes.parked().any(|work| match work {
            VectorWork::Call(asked) => asked.request.writes(),
            VectorWork::Batch(_) | VectorWork::Of { .. } => true,
        })
    }
}
