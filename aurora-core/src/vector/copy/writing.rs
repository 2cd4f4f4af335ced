//! Copies of local memory to vectors.

use super::piece::{Piece, begin};
use super::{Transfer, VectorRangeMut, check};
use crate::ids::{CallId, ObjectId};
use crate::kernel::Kernel;
use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::kernel::watch::Blocked;
use crate::memory::with_lent;
use crate::race::AccessKind;
use crate::vector::machine::Vector;
use crate::vector::message::Request;
use crate::window::Window;
use crate::{Element, Kind, Result};
use aurora_net::{Outbox, Payload, Token};
use std::ops::Range;

impl<T: Element> Transfer for (VectorRangeMut<'_, T>, &[T]) {
    fn copy_all(pairs: Vec<Self>) -> Result<()> {
        for (into, memory) in &pairs {
            check(into.vector, &into.range, memory.len(), true, &into.site)?;
        }
        let mut pieces = Vec::new();
        for (into, memory) in &pairs {
            let (vector, mut rest) = (&*into.vector, *memory);
            for (owner, range) in vector.dist.pieces(into.range.clone()) {
                let (memory, behind) = rest.split_at(range.len());
                rest = behind;
                let start = range.start - vector.dist.range(owner).start;
                pieces.push(Piece { vector, owner, start, memory, site: into.site.clone() });
            }
        }
        pieces.sort_by_key(Piece::turn);
        // Before anything is sent: a transfer that is under way cannot be taken back.
        begin(&pieces, true)?;
        let (own, others): (Vec<_>, Vec<_>) = pieces.into_iter().partition(Piece::is_own);
        let (here, far): (Vec<_>, Vec<_>) = others.into_iter().partition(Piece::is_here);
        write_to_others(&far, || {
            let left: Vec<_> = here.into_iter().filter_map(Piece::write_in_place).collect();
            write_to_others(&left, || own.iter().try_for_each(Piece::write_own))
        })
    }
}

impl<T: Element> Piece<'_, T, &[T]> {
    /// Writes the piece in place. Returns the rest, which has to be sent to the owner.
    fn write_in_place(mut self) -> Option<Self> {
        let done = self.vector.direct.copy_in(self.owner.index(), self.first(), self.memory);
        self.memory = &self.memory[done..];
        self.start += done;
        (!self.memory.is_empty()).then_some(self)
    }

    /// Parts of `step` elements at most.
    fn cut(&self, step: usize) -> impl Iterator<Item = Self> {
        self.memory.chunks(step).enumerate().map(move |(nth, memory)| Piece {
            start: self.start + nth * step,
            memory,
            site: self.site.clone(),
            ..*self
        })
    }

    /// Writes this rank's own block.
    fn write_own(&self) -> Result<()> {
        let range = self.start..self.start + self.memory.len();
        self.vector.check_own(AccessKind::Write, [range.clone()], Window::WHOLE, &self.site)?;
        self.vector.write_own(&self.site, |block| block[range].copy_from_slice(self.memory))
    }
}

/// Sends these pieces to their owners, and does `meanwhile` while the first of them are under way.
fn write_to_others<T: Element>(pieces: &[Piece<'_, T, &[T]>], meanwhile: impl FnOnce() -> Result<()>) -> Result<()> {
    let Some(link) = pieces.first().map(|piece| &piece.vector.shared) else {
        return meanwhile();
    };
    let _call = link.bulk_call("distmemcpy");
    let step = (AT_ONCE / size_of::<T>()).max(1);
    let pieces: Vec<_> = pieces.iter().flat_map(|piece| piece.cut(step)).collect();
    let slices: Vec<&[T]> = pieces.iter().map(|piece| piece.memory).collect();
    let tokens = std::cell::RefCell::new(Vec::<Token>::new());
    with_lent(
        &slices,
        |lent| {
            link.tidy_kernel(|kernel, _| *tokens.borrow_mut() = lent.into_iter().map(|l| kernel.core.lend(l)).collect())
        },
        || link.tidy_kernel(|kernel, _| tokens.borrow_mut().drain(..).for_each(|token| kernel.core.withdraw(token))),
        || Writing::new(&pieces, tokens.borrow().clone()).run(meanwhile),
    )
}

/// Bytes of one piece. An owner buffers a piece until it is whole, so that no rank sees half an element. A piece of
/// this size is still in the processor's cache when it is copied into the block, and its memory serves the next one.
const AT_ONCE: usize = 256 << 10;
const UNDER_WAY: usize = 4 * AT_ONCE;

/// A copy from local memory to other ranks, piece by piece.
struct Writing<'a, T: Element> {
    pieces: &'a [Piece<'a, T, &'a [T]>],
    tokens: Vec<Token>,
    owners: Vec<Lane>,
    asked: Vec<UnderWay>,
}

/// A piece that has been sent and not answered.
struct UnderWay {
    call: CallId,
    vector: ObjectId,
    /// Its place in [`Writing::owners`].
    owner: usize,
    bytes: usize,
}

/// The pieces for one owner.
struct Lane {
    /// Not sent yet.
    left: Range<usize>,
    /// Bytes that have been sent and not answered.
    ahead: usize,
}

impl<'a, T: Element> Writing<'a, T> {
    /// `pieces`, at least one, are in order of their owners; `tokens` stand for their memory.
    fn new(pieces: &'a [Piece<'a, T, &'a [T]>], tokens: Vec<Token>) -> Self {
        let mut end = 0;
        let owners = pieces
            .chunk_by(|a, b| a.owner == b.owner)
            .map(|of_owner| {
                end += of_owner.len();
                Lane { left: end - of_owner.len()..end, ahead: 0 }
            })
            .collect();
        Writing { pieces, tokens, owners, asked: Vec::new() }
    }

    /// Does `meanwhile` once every owner has been sent its first pieces. After a failure no more pieces are sent; the
    /// memory stays lent until those that were sent are answered, so that a vector that has not failed gets them whole.
    fn run(mut self, meanwhile: impl FnOnce() -> Result<()>) -> Result<()> {
        let Piece { vector, site, .. } = &self.pieces[0];
        let link = &vector.shared;
        link.on_kernel(site, |kernel, out| {
            (0..self.owners.len()).for_each(|owner| self.ask(owner, kernel, out));
            Ok(())
        })?;
        let what = Blocked::Calls { object: vector.shared.id(), action: "distmemcpy", kind: Kind::Copy };
        let mut outcome = meanwhile();
        let answered =
            link.wait_kernel(what, site, |kernel, out| self.advance(&mut outcome, kernel, out).then_some(Ok(())));
        // Some calls are left only if the job has ended.
        link.tidy_kernel(|kernel, _| self.asked.iter().for_each(|asked| kernel.core.give_up(asked.call)));
        answered.and(outcome)
    }

    /// Takes the answers that have arrived, and sends a piece for each, until the first error. True if none is missing.
    fn advance(&mut self, outcome: &mut Result<()>, kernel: &mut Kernel, out: &mut Outbox) -> bool {
        let mut next = 0;
        while let Some(asked) = self.asked.get(next) {
            let Some(reply) = kernel.core.take_reply(asked.call) else {
                next += 1;
                continue;
            };
            let UnderWay { vector, owner, bytes, .. } = self.asked.swap_remove(next);
            self.owners[owner].ahead -= bytes;
            if outcome.is_ok() {
                *outcome = reply.map(drop).inspect_err(|error| kernel.note_reported(Some(vector), error));
            }
            if outcome.is_ok() {
                self.ask(owner, kernel, out);
            }
        }
        self.asked.is_empty()
    }

    /// Sends an owner pieces up to its limit.
    fn ask(&mut self, owner: usize, kernel: &mut Kernel, out: &mut Outbox) {
        let lane = &mut self.owners[owner];
        while let Some(piece) = self.pieces[lane.left.clone()].first() {
            let bytes = size_of_val(piece.memory);
            if lane.ahead > 0 && lane.ahead + bytes > UNDER_WAY {
                return;
            }
            let reason = Reason::new("distmemcpy", Kind::Copy, &piece.site);
            let request = Request::WriteAt { start: piece.start as u64 };
            let payload = Payload::Lent { token: self.tokens[lane.left.start], len: bytes };
            let asked = kernel.with(piece.vector.shared.id(), out, |object: &mut Vector, cx| {
                object.core.ask((piece.owner, &reason, When::Now), request, payload, cx)
            });
            let (call, vector) = (asked.expect("its handle is borrowed"), piece.vector.shared.id());
            self.asked.push(UnderWay { call, vector, owner, bytes });
            lane.ahead += bytes;
            lane.left.start += 1;
        }
    }
}
