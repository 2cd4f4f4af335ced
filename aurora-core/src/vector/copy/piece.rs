//! Copies cut at the borders between owners.

use crate::window::Window;
use crate::{Element, GVector, Result, Site};
use aurora_net::Rank;

/// The part of a copy that one owner serves: local memory, and its place in the owner's block.
pub(super) struct Piece<'v, T: Element, M> {
    pub(super) vector: &'v GVector<T>,
    pub(super) owner: Rank,
    /// The place of the first element within the block.
    pub(super) start: usize,
    pub(super) memory: M,
    pub(super) site: Site,
}

impl<T: Element, M> Piece<'_, T, M> {
    /// Sort key: this rank first, then the next one, and so on.
    pub(super) fn turn(&self) -> usize {
        let link = &self.vector.shared;
        (self.owner.index() + link.size - link.me.index()) % link.size
    }

    pub(super) fn is_own(&self) -> bool {
        self.owner == self.vector.shared.me
    }

    /// True if the piece lies in memory that its owner shares with this rank.
    pub(super) fn is_here(&self) -> bool {
        self.vector.direct.is_here(self.owner.index())
    }

    /// The global index of the first element.
    pub(super) fn first(&self) -> usize {
        self.vector.dist.range(self.owner).start + self.start
    }
}

/// Begins a copy of these pieces. If a vector may not be used, nothing is copied.
pub(super) fn begin<T: Element, M>(pieces: &[Piece<'_, T, M>], mutable: bool) -> Result<()> {
    if let Some(Piece { vector, .. }) = pieces.first() {
        vector.shared.no_look();
    }
    match pieces.iter().all(|piece| piece.vector.direct.is_permitted(mutable)) {
        true => Ok(()),
        false => usable(pieces, mutable),
    }
}

/// Checks that the vectors of these pieces may be used. An error is reported for the vector that has it.
fn usable<T: Element, M>(pieces: &[Piece<'_, T, M>], mutable: bool) -> Result<()> {
    pieces.chunk_by(|a, b| a.vector.shared.id() == b.vector.shared.id()).try_for_each(|of_one| {
        let Piece { vector, site, .. } = &of_one[0];
        vector.shared.on(site, |_, cx| cx.usable_in(mutable, Window::WHOLE))?;
        vector.order_after_scopes(Window::WHOLE, site)
    })
}
