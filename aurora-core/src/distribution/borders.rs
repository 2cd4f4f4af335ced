//! Blocks of any lengths: the end of each block, and the block of an element.

use std::ops::Range;

/// The borders between blocks.
///
/// The search for an owner takes no branch that random indices would mispredict. The elements are cut into cells of
/// one size, a power of two. A table has the owner of the first element of each cell. A binary search decides among the
/// ranks that may own another element of the cell. It searches the same number of ranks for each cell, the maximum.
#[derive(Debug)]
pub(super) struct Borders {
    /// The end of each rank's block, then `usize::MAX` `behind` times, because a search may look beyond the last rank.
    ends: Box<[usize]>,
    ranks: usize,
    /// The owner of the first element of each cell.
    cells: Box<[u32]>,
    /// A cell has `1 << shift` elements.
    shift: u32,
    /// An element's owner is the owner of its cell's first element, or one of the next `behind` ranks.
    behind: usize,
}

/// The minimum number of cells for each rank, if there are as many elements. The maximum is about twice that number.
const CELLS: usize = 4;

impl Borders {
    /// Borders of blocks that end at `ends`, in ascending order.
    pub(super) fn new(mut ends: Vec<usize>) -> Self {
        let (ranks, len) = (ends.len(), ends.last().copied().unwrap_or(0));
        let shift = (len / (CELLS * ranks)).checked_ilog2().unwrap_or(0);
        let owner = |index: usize| ends.partition_point(|end| *end <= index);
        let last = |cell: usize| (cell + ((1 << shift) - 1)).min(len - 1);
        let cells = (0..len).step_by(1 << shift);
        let behind = cells.clone().map(|cell| owner(last(cell)) - owner(cell)).max().unwrap_or(0);
        let cells = cells.map(|cell| owner(cell) as u32).collect();
        ends.resize(ranks + behind, usize::MAX);
        Borders { ends: ends.into(), ranks, cells, shift, behind }
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
    #[inline]
    pub(super) fn owner(&self, index: usize) -> usize {
        let first = self.cells[index >> self.shift] as usize;
        first + self.ends[first..first + self.behind].partition_point(|end| *end <= index)
    }
}
