//! An object's answers to what is asked of it.

use super::check::Deed;
use super::object::{Object, Outcome, Work};
use super::places::Places;
use crate::kernel::message::Request;
use crate::scalar::{serve, serve_numbered};
use aurora_net::Rank;

/// Replies up to this length are copied; longer ones are sent from the block itself, which then cannot be written until
/// they are acknowledged.
const COPIED_REPLY: usize = 16 * 1024;

impl Object {
    /// Does a piece of work on our block, if its time has come.
    pub(crate) fn attempt(&mut self, from: Rank, work: &Work, payload: &[u8]) -> Outcome {
        if let Some(fault) = &self.fault {
            return Outcome::Refuse(fault.clone());
        }
        match work {
            Work::Call { epoch, request, .. } if self.ledger.pending(request.window(), *epoch).is_some() => {
                Outcome::Park
            }
            Work::Call { request, .. } => self.serve(from, request, payload),
            Work::Batch { epoch, seq, op, .. } => self.apply_batch(from, *epoch, *seq, *op, payload),
        }
    }

    fn serve(&mut self, from: Rank, request: &Request, payload: &[u8]) -> Outcome {
        let element = self.block.element;
        match request {
            Request::Read { start, len, .. } => {
                let bytes = self.block.len() * element;
                let range = start.checked_add(*len).and_then(|end| {
                    let range = usize::try_from(*start).ok()?.checked_mul(element)?
                        ..usize::try_from(end).ok()?.checked_mul(element)?;
                    (range.end <= bytes).then_some(range)
                });
                let unflushed =
                    range.as_ref().and_then(|range| self.unflushed(from, range.start / element..range.end / element));
                match range {
                    None => Outcome::Refuse(self.nonsense()),
                    _ if unflushed.is_some() => Outcome::Refuse(unflushed.expect("just seen")),
                    Some(range) if range.len() > COPIED_REPLY && self.block.is_all_here() => {
                        Outcome::ReplyFromBlock(range)
                    }
                    Some(range) => self.block.read_range(&range, <[u8]>::to_vec).map_or(Outcome::Park, Outcome::Reply),
                }
            }
            Request::ReadMany { width, .. } => match Places::parse((*width).into(), payload) {
                Some(places) if !places.are_below(self.block.len()) => Outcome::Refuse(self.nonsense()),
                Some(places) => match self.unflushed(from, places.iter()) {
                    Some(error) => Outcome::Refuse(error),
                    None if self.block.is_cut() => {
                        self.block.read_elements(&places.numbers()).map_or(Outcome::Park, Outcome::Reply)
                    }
                    None => Outcome::Gather { width: (*width).into(), len: places.len() * element },
                },
                None => Outcome::Refuse(self.nonsense()),
            },
            Request::Write { op, .. } => self.write_for_another(|object| object.write(*op, payload)),
            Request::WriteAt { start } => self.write_for_another(|object| object.write_at(*start, payload)),
            Request::Scalar(request) => serve(self, *request, payload),
            Request::Announce { start, len, update, line, opened, window } => {
                let place = |at: Option<u64>| at.and_then(|at| usize::try_from(at).ok());
                let run = place(Some(*start)).zip(place(start.checked_add(*len))).map(|(start, end)| start..end);
                let deed = if *update { Deed::Update } else { Deed::Put };
                match run.filter(|run| run.end <= self.dist.range(self.ledger.me()).len()) {
                    None => Outcome::Refuse(self.nonsense()),
                    Some(run) => match self.announced((from, *window), deed, run, [line, opened]) {
                        Ok(()) => Outcome::Reply(Vec::new()),
                        Err(error) => Outcome::Refuse(error),
                    },
                }
            }
            Request::Flushed { window } => {
                self.flushed(from, *window);
                Outcome::Reply(Vec::new())
            }
            Request::Numbered { request, after } => serve_numbered(self, from, *request, *after, payload),
        }
    }

    /// The elements that a [`Request::ReadMany`] asks for, which was found to fit.
    pub(crate) fn gather(&mut self, width: usize, places: &[u8], into: &mut [u8]) {
        let gather = self.access.gather;
        if let Some(places) = Places::parse(width, places) {
            self.block.read(|block| gather(block, places, into));
        }
    }
}
