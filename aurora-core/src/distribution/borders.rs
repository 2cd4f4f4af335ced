//! Blocks of lengths that follow no rule: where each ends, and which block an element lies in.

use std::ops::Range;

/// The borders between blocks.
///
/// The search for an owner takes no branch that random indices would mispredict. A grid of cells, each of the same
/// power of two of elements, says who owns the first element of each. A binary search decides among the ranks that may
/// own another element of a cell. They are few, and as many for each cell: the most that any has.
#[derive(Debug)]
pub(super) struct Borders {
    /// Where the block of each rank ends. Then `usize::MAX`, as often as a search may look beyond the last rank.
    ends: Box<[usize]>,
    ranks: usize,
    /// The owner of the first element of each cell.
    cells: Box<[u32]>,
    /// A cell has `1 << shift` elements.
    shift: u32,
    /// An element's owner is its cell's, or one of so many ranks behind it.
    behind: usize,
}

/// There are at least so many cells for each rank, and about twice as many at most.
const CELLS: usize = 4;

impl Borders {
    /// For blocks that end there, in ascending order.
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
