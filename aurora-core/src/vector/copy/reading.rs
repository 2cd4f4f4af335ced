//! Copies of vectors to local memory.

use super::piece::{Piece, begin};
use super::{Transfer, VectorRange, check};
use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::link::Asked;
use crate::memory::with_lent_mut;
use crate::race::AccessKind;
use crate::vector::machine::Vector;
use crate::vector::message::Request;
use crate::window::Window;
use crate::{Element, Kind, Result};
use aurora_net::{Payload, Token};

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
        begin(&pieces, false)?;
        let (own, others): (Vec<_>, Vec<_>) = pieces.into_iter().partition(Piece::is_own);
        let (mut here, far): (Vec<_>, Vec<_>) = others.into_iter().partition(Piece::is_here);
        read_from_others(far, || {
            here.retain_mut(|piece| !piece.is_read_in_place());
            read_from_others(here, || own.into_iter().try_for_each(Piece::read_own))
        })
    }
}

impl<T: Element> Piece<'_, T, &mut [T]> {
    /// Reads the piece in place. False: its owner has to be asked.
    fn is_read_in_place(&mut self) -> bool {
        self.vector.direct.copy_out(self.owner.index(), self.first(), self.memory)
    }

    /// Reads this rank's own block.
    fn read_own(self) -> Result<()> {
        let range = self.start..self.start + self.memory.len();
        self.vector.check_own(AccessKind::Read, [range.clone()], Window::WHOLE, &self.site)?;
        self.vector.read_own(&self.site, |block| self.memory.copy_from_slice(&block[range]))
    }
}

/// Asks the owners of these pieces for them, and does `meanwhile` while all requests are under way.
fn read_from_others<T: Element>(
    pieces: Vec<Piece<'_, T, &mut [T]>>,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let Some(link) = pieces.first().map(|piece| &piece.vector.shared) else {
        return meanwhile();
    };
    let _call = link.bulk_call("distmemcpy");
    let (mut memory, others): (Vec<_>, Vec<_>) = pieces
        .into_iter()
        .map(|Piece { vector, owner, start, memory, site }| (memory, Piece { vector, owner, start, memory: (), site }))
        .unzip();
    // Sorted by owner.
    let owners = others.chunk_by(|a, b| a.owner == b.owner).count() as u32;
    let lens: Vec<_> = memory.iter().map(|memory| memory.len()).collect();
    let tokens = std::cell::RefCell::new(Vec::<Token>::new());
    with_lent_mut(
        &mut memory,
        |lent| {
            link.tidy_kernel(|kernel, _| {
                *tokens.borrow_mut() = lent.into_iter().map(|l| kernel.core.lend_mut(l)).collect()
            })
        },
        || link.tidy_kernel(|kernel, _| tokens.borrow_mut().drain(..).for_each(|token| kernel.core.withdraw(token))),
        || {
            let tokens = tokens.borrow().clone();
            let asked = ask_all(&others, |piece, index| {
                let (start, len) = (piece.start as u64, lens[index] as u64);
                (Request::Read { start, len, owners }, tokens[index])
            })?;
            meanwhile()?;
            others.iter().zip(asked).try_for_each(|(piece, asked)| {
                piece.vector.shared.answer(asked.hand_over(), ("distmemcpy", Kind::Copy), &piece.site).map(drop)
            })
        },
    )
}

/// Sends one request for each piece, or none. Each token stands for the memory for the answer.
fn ask_all<'v, T: Element, M>(
    pieces: &[Piece<'v, T, M>],
    request: impl Fn(&Piece<'v, T, M>, usize) -> (Request, Token),
) -> Result<Vec<Asked<'v>>> {
    let Some(first) = pieces.first() else {
        return Ok(Vec::new());
    };
    first.vector.shared.on_kernel(&first.site, |kernel, out| {
        let asked = pieces.iter().enumerate().map(|(index, piece)| {
            let (request, token) = request(piece, index);
            let reason = Reason::new("distmemcpy", Kind::Copy, &piece.site);
            let asked = kernel.with(piece.vector.shared.id(), out, |object: &mut Vector, cx| {
                object.core.ask_into((piece.owner, &reason, When::Now), request, Payload::Empty, Some(token), cx)
            });
            Asked::new(&piece.vector.shared, asked.expect("its handle is borrowed"))
        });
        Ok(asked.collect())
    })
}
