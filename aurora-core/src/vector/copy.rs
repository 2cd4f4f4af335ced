//! `distmemcpy`: one-sided bulk copies (paper section 3.4).

use crate::element::Element;
use crate::error::Result;
use crate::ids::{CallId, ObjectId};
use crate::kernel::Kernel;
use crate::kernel::asking::When;
use crate::kernel::watch::Blocked;
use crate::link::Asked;
use crate::memory::{self, with_lent, with_lent_mut};
use crate::race::AccessKind;
use crate::stats::Kind;
use crate::vector::GVector;
use crate::vector::machine::Vector;
use crate::vector::message::Request;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::{Outbox, Payload, Rank, Token};
use std::ops::{Bound, Range, RangeBounds};

/// A range of a vector, as the source of a copy: [`GVector::range`].
#[derive(Debug)]
pub struct VectorRange<'v, T: Element> {
    vector: &'v GVector<T>,
    range: Range<usize>,
    site: Site,
}

/// A range of a vector, as the destination of a copy: [`GVector::range_mut`].
#[derive(Debug)]
pub struct VectorRangeMut<'v, T: Element> {
    vector: &'v mut GVector<T>,
    range: Range<usize>,
    site: Site,
}

/// The indices that a range names; an open end is that of `within`.
pub(crate) fn resolve(range: impl RangeBounds<usize>, within: &Range<usize>) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => within.start,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => within.end,
    };
    start..end
}

impl<'v, T: Element> VectorRange<'v, T> {
    pub(crate) fn new(vector: &'v GVector<T>, range: impl RangeBounds<usize>, site: Site) -> Self {
        VectorRange { vector, range: resolve(range, &(0..vector.len())), site }
    }
}

impl<'v, T: Element> VectorRangeMut<'v, T> {
    pub(crate) fn new(vector: &'v mut GVector<T>, range: impl RangeBounds<usize>, site: Site) -> Self {
        let range = resolve(range, &(0..vector.len()));
        VectorRangeMut { vector, range, site }
    }
}

fn check<T: Element>(vector: &GVector<T>, range: &Range<usize>, other: usize, into: bool, site: &Site) -> Result<()> {
    if range.start > range.end || range.end > vector.len() {
        let (start, end) = (range.start, range.end);
        return Err(Error::RangeOutside { start, end, len: vector.len(), object: vector.name(), site: site.clone() });
    }
    if range.len() != other {
        let (from, into) = if into { (other, range.len()) } else { (range.len(), other) };
        return Err(Error::LengthsDiffer { from, into, site: site.clone() });
    }
    Ok(())
}

/// A pair of destination and source that can be copied: local memory from a vector, a vector from local memory, or
/// a vector from a vector.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no pair of destination and source",
    note = "local memory is given as a slice: `&mut buffer[..]` or `&buffer[..]`; a vector's part as `v.range(a..b)` or `v.range_mut(a..b)`"
)]
pub trait Transfer: Sized {
    /// Copies all pairs, in the library's own order.
    #[doc(hidden)]
    fn copy_all(pairs: Vec<Self>) -> Result<()>;
}

/// Copies a range of a vector to local memory, local memory to a range of a vector, or one vector's range to another's.
/// One-sided: only the caller takes part, the owners' daemons serve it. When it returns, the destination is written.
/// Local memory is given as a slice: `&mut buffer[..]`, `&buffer[..]`. Both sides must have the same length.
///
/// # Errors
/// [`Error::RangeOutside`] and [`Error::LengthsDiffer`] before anything is copied; `Leaked`, `Poisoned` or `Mismatch`
/// of a vector; [`Error::OutOfMemory`]; whatever ended the job. Local memory may then be written in part.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let mut v = GVector::<i32>::from_fn(world, 10, |i| i as i32)?;
///     let mut part = [0; 4];
///     distmemcpy(&mut part[..], v.range(5..9))?;
///     assert_eq!(part, [5, 6, 7, 8]);
///     world.barrier()?;
///     if world.is_root() {
///         distmemcpy(v.range_mut(8..), &[1, 2][..])?;
///     }
///     world.barrier()?;
///     assert_eq!(v.at(9)?, 2);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn distmemcpy<D, S>(destination: D, source: S) -> Result<()>
where
    (D, S): Transfer,
{
    distmemcpy_many([(destination, source)])
}

/// Copies many pairs as one operation: all are under way at once, in an order that spreads them over the owners.
/// Errors as for [`distmemcpy`]. All pairs of a call have the same direction. A call writes one range of each vector,
/// because it borrows that mutably; to write many ranges of one vector use [`GVector::release_c`] and `put_slice`.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let v = GVector::<i32>::from_fn(world, 10, |i| i as i32)?;
///     let (mut first, mut last) = ([0; 2], [0; 3]);
///     distmemcpy_many([(&mut first[..], v.range(..2)), (&mut last[..], v.range(7..))])?;
///     assert_eq!((first, last), ([0, 1], [7, 8, 9]));
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn distmemcpy_many<P: Transfer>(pairs: impl IntoIterator<Item = P>) -> Result<()> {
    P::copy_all(pairs.into_iter().collect())
}

/// The part of a copy that one owner serves: local memory, and its place in the owner's block.
struct Piece<'v, T: Element, M> {
    vector: &'v GVector<T>,
    owner: Rank,
    start: usize,
    memory: M,
    site: Site,
}

impl<T: Element, M> Piece<'_, T, M> {
    /// Sort key: this rank first, then the next one, and so on.
    fn turn(&self) -> usize {
        let link = &self.vector.link;
        (self.owner.index() + link.size - link.me.index()) % link.size
    }

    fn is_own(&self) -> bool {
        self.owner == self.vector.link.me
    }
}

impl<T: Element> Transfer for (&mut [T], VectorRange<'_, T>) {
    fn copy_all(pairs: Vec<Self>) -> Result<()> {
        for (memory, from) in &pairs {
            check(from.vector, &from.range, memory.len(), false, &from.site)?;
        }
        let mut pieces = Vec::new();
        for (mut memory, from) in pairs {
            for (owner, range) in from.vector.dist.pieces(from.range) {
                let (piece, rest) = memory.split_at_mut(range.len());
                memory = rest;
                let start = range.start - from.vector.dist.range(owner).start;
                pieces.push(Piece { vector: from.vector, owner, start, memory: piece, site: from.site.clone() });
            }
        }
        pieces.sort_by_key(Piece::turn);
        let (own, others): (Vec<_>, Vec<_>) = pieces.into_iter().partition(Piece::is_own);
        let read_own = || {
            own.into_iter().try_for_each(|piece| {
                let range = piece.start..piece.start + piece.memory.len();
                piece.vector.check_own(AccessKind::Read, [range.clone()], Window::WHOLE, &piece.site)?;
                piece.vector.read_own(&piece.site, |block| piece.memory.copy_from_slice(&block[range]))
            })
        };
        let Some(link) = others.first().map(|piece| &piece.vector.link) else {
            return read_own();
        };
        let _call = link.bulk_call("distmemcpy");
        let (mut memory, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .map(|Piece { vector, owner, start, memory, site }| {
                (memory, Piece { vector, owner, start, memory: (), site })
            })
            .unzip();
        // Sorted by owner.
        let owners = others.chunk_by(|a, b| a.owner == b.owner).count() as u32;
        let lens: Vec<_> = memory.iter().map(|memory| memory.len()).collect();
        let tokens = std::cell::RefCell::new(Vec::<Token>::new());
        with_lent_mut(
            &mut memory,
            |lent| {
                link.tidy(|kernel, _| {
                    *tokens.borrow_mut() = lent.into_iter().map(|l| kernel.core.lend_mut(l)).collect()
                })
            },
            || link.tidy(|kernel, _| tokens.borrow_mut().drain(..).for_each(|token| kernel.core.withdraw(token))),
            || {
                let tokens = tokens.borrow().clone();
                let asked = ask_all(&others, |piece, index| {
                    let (start, len) = (piece.start as u64, lens[index] as u64);
                    (Request::Read { start, len, owners }, tokens[index])
                })?;
                read_own()?;
                others.iter().zip(asked).try_for_each(|(piece, asked)| {
                    piece.vector.answer(asked.hand_over(), "distmemcpy", &piece.site).map(drop)
                })
            },
        )
    }
}

impl<T: Element> Transfer for (VectorRangeMut<'_, T>, &[T]) {
    fn copy_all(pairs: Vec<Self>) -> Result<()> {
        for (into, memory) in &pairs {
            check(into.vector, &into.range, memory.len(), true, &into.site)?;
        }
        let step = (AT_ONCE / size_of::<T>()).max(1);
        let mut pieces = Vec::new();
        for (into, memory) in &pairs {
            let (vector, mut rest) = (&*into.vector, *memory);
            for (owner, range) in vector.dist.pieces(into.range.clone()) {
                let (part, behind) = rest.split_at(range.len());
                rest = behind;
                let start = range.start - vector.dist.range(owner).start;
                let step = if owner == vector.link.me { part.len().max(1) } else { step };
                pieces.extend(part.chunks(step).enumerate().map(|(nth, memory)| Piece {
                    vector,
                    owner,
                    start: start + nth * step,
                    memory,
                    site: into.site.clone(),
                }));
            }
        }
        pieces.sort_by_key(Piece::turn);
        let (mine, others): (Vec<_>, Vec<_>) = pieces.into_iter().partition(Piece::is_own);
        let write_own = || {
            mine.iter().try_for_each(|piece| {
                let range = piece.start..piece.start + piece.memory.len();
                piece.vector.check_own(AccessKind::Write, [range.clone()], Window::WHOLE, &piece.site)?;
                piece.vector.write_own(&piece.site, |block| block[range].copy_from_slice(piece.memory))
            })
        };
        let Some(link) = others.first().map(|piece| &piece.vector.link) else {
            return write_own();
        };
        let _call = link.bulk_call("distmemcpy");
        // Before anything is sent: a transfer that is under way cannot be taken back.
        usable(&mine, true)?;
        usable(&others, true)?;
        let slices: Vec<&[T]> = others.iter().map(|piece| piece.memory).collect();
        let tokens = std::cell::RefCell::new(Vec::<Token>::new());
        with_lent(
            &slices,
            |lent| {
                link.tidy(|kernel, _| *tokens.borrow_mut() = lent.into_iter().map(|l| kernel.core.lend(l)).collect())
            },
            || link.tidy(|kernel, _| tokens.borrow_mut().drain(..).for_each(|token| kernel.core.withdraw(token))),
            || Writing::new(&others, tokens.borrow().clone()).run(write_own),
        )
    }
}

/// Bytes of one piece. An owner buffers a piece until it is whole, so that no rank sees half an element. A piece of
/// this size is still in the processor's cache when it is copied into the block, and its memory serves the next one.
const AT_ONCE: usize = 256 << 10;
const AHEAD: usize = 4 * AT_ONCE;

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
        let link = &vector.link;
        link.act(site, |kernel, out| {
            (0..self.owners.len()).for_each(|owner| self.ask(owner, kernel, out));
            Ok(())
        })?;
        let what = Blocked::Calls { object: vector.id, action: "distmemcpy", kind: Kind::of_action("distmemcpy") };
        let mut outcome = meanwhile();
        let answered = link.wait(what, site, |kernel, out| self.advance(&mut outcome, kernel, out).then_some(Ok(())));
        // Some are left only if the job is over.
        link.tidy(|kernel, _| self.asked.iter().for_each(|asked| kernel.core.give_up(asked.call)));
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
            if lane.ahead > 0 && lane.ahead + bytes > AHEAD {
                return;
            }
            let reason = piece.vector.reason("distmemcpy", &piece.site);
            let request = Request::WriteAt { start: piece.start as u64 };
            let payload = Payload::Lent { token: self.tokens[lane.left.start], len: bytes };
            let asked = kernel.with(piece.vector.id, out, |object: &mut Vector, cx| {
                object.ask((piece.owner, &reason, When::Now), request, payload, cx)
            });
            let (call, vector) = (asked.expect("its handle is borrowed"), piece.vector.id);
            self.asked.push(UnderWay { call, vector, owner, bytes });
            lane.ahead += bytes;
            lane.left.start += 1;
        }
    }
}

impl<T: Element> Transfer for (VectorRangeMut<'_, T>, VectorRange<'_, T>) {
    fn copy_all(pairs: Vec<Self>) -> Result<()> {
        /// Bytes that pass through this rank at a time.
        const THROUGH: usize = 1 << 20;
        for (into, from) in &pairs {
            check(from.vector, &from.range, into.range.len(), false, &from.site)?;
            check(into.vector, &into.range, from.range.len(), true, &into.site)?;
        }
        let step = (THROUGH / size_of::<T>()).max(1);
        for (into, from) in pairs {
            let through = memory::zeros(step.min(from.range.len()));
            let me = from.vector.link.me;
            let mut through =
                through.map_err(|s| s.error(me, "a distmemcpy between vectors", from.vector.name(), &from.site))?;
            for at in (0..from.range.len()).step_by(step) {
                let len = step.min(from.range.len() - at);
                let source = VectorRange {
                    range: from.range.start + at..from.range.start + at + len,
                    site: from.site.clone(),
                    ..from
                };
                distmemcpy(&mut through[..len], source)?;
                let start = into.range.start + at;
                let sink =
                    VectorRangeMut { vector: &mut *into.vector, range: start..start + len, site: into.site.clone() };
                distmemcpy(sink, &through[..len])?;
            }
        }
        Ok(())
    }
}

/// Whether the vectors of these pieces may be used; an error is reported for the vector that has it.
fn usable<T: Element, M>(pieces: &[Piece<'_, T, M>], mutable: bool) -> Result<()> {
    pieces.chunk_by(|a, b| a.vector.id == b.vector.id).try_for_each(|of_one| {
        let Piece { vector, site, .. } = &of_one[0];
        vector.link.on(site, |_, cx| cx.usable(mutable, Window::WHOLE))?;
        vector.order_after_scopes(Window::WHOLE, site)
    })
}

/// Sends one request for each piece, or none; the token is that of the memory for the answer.
fn ask_all<'v, T: Element, M>(
    pieces: &[Piece<'v, T, M>],
    request: impl Fn(&Piece<'v, T, M>, usize) -> (Request, Token),
) -> Result<Vec<Asked<'v>>> {
    let Some(first) = pieces.first() else {
        return Ok(Vec::new());
    };
    usable(pieces, false)?;
    first.vector.link.act(&first.site, |kernel, out| {
        let asked = pieces.iter().enumerate().map(|(index, piece)| {
            let (request, token) = request(piece, index);
            let reason = piece.vector.reason("distmemcpy", &piece.site);
            let asked = kernel.with(piece.vector.id, out, |object: &mut Vector, cx| {
                object.ask_into((piece.owner, &reason, When::Now), request, Payload::Empty, Some(token), cx)
            });
            Asked::new(&piece.vector.link, asked.expect("its handle is borrowed"))
        });
        Ok(asked.collect())
    })
}
