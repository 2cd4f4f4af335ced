//! Blocks of lengths that follow no rule: where each ends, and which block an element lies in.

use std::ops::Range;

/// The borders between blocks.
///
/// The search for an owner takes no branch that random indices would mispredict. A grid of cells, each of the same
/// power of two of elements, says who owns the first element of each. Few blocks meet in one cell. As many steps of a
/// binary search as the fullest cell needs find the owner.
#[derive(Debug)]
pub(super) struct Borders {
    /// Where the block of each rank ends. Then `usize::MAX`, as often as a search may look beyond the last rank.
    ends: Box<[usize]>,
    ranks: usize,
    /// The owner of the first element of each cell.
    cells: Box<[u32]>,
    /// A cell has `1 << shift` elements.
    shift: u32,
    /// An element's owner is one of the `1 << steps` ranks from its cell's owner on.
    steps: u32,
}

/// There are about as many cells for each rank, or twice as many.
const CELLS: usize = 4;

impl Borders {
    /// For blocks that end there, in ascending order.
    pub(super) fn new(mut ends: Vec<usize>) -> Self {
        let (ranks, len) = (ends.len(), ends.last().copied().unwrap_or(0));
        let shift = (len / (CELLS * ranks)).checked_ilog2().unwrap_or(0);
        let owner = |index: usize| ends.partition_point(|end| *end <= index);
        let cells = (0..len).step_by(1 << shift);
        let most = cells.clone().map(|cell| owner((cell + (1 << shift)).min(len) - 1) - owner(cell)).max().unwrap_or(0);
        let cells = cells.map(|cell| owner(cell) as u32).collect();
        let steps = usize::BITS - most.leading_zeros();
        ends.resize(ranks + (1 << steps), usize::MAX);
        Borders { ends: ends.into(), ranks, cells, shift, steps }
    }

    pub(super) fn ends(&self) -> &[usize] {
        &self.ends[..self.ranks]
    }

    /// The elements of the block of `rank`.
    pub(super) fn range(&self, rank: usize) -> Range<usize> {
        let ends = self.ends();
        rank.checked_sub(1).map_or(0, |before| ends[before])..ends[rank]
    }

    /// The rank in whose block element `index` lies, which must exist.
    pub(super) fn owner(&self, index: usize) -> usize {
        let mut owner = self.cells[index >> self.shift] as usize;
        for step in (0..self.steps).rev() {
            owner += usize::from(self.ends[owner + (1 << step) - 1] <= index) << step;
        }
        owner
    }
}
