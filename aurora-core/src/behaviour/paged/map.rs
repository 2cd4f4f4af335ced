//! The pages of a vector, and their elements. Pages are numbered inside each owner's block, so a page has one home, and
//! blocks that are unequal, empty, or end inside a page need no rule of their own. A page of a matrix consists of whole
//! rows, or is part of one row: neighbours that share edges of their blocks share no page that is written otherwise.

use crate::distribution::{Distribution, Divisor};
use aurora_net::Rank;
use std::ops::Range;

/// Bytes of a page, unless an element is longer.
const PAGE: usize = 4096;

/// The division of blocks into pages: runs of elements, such as rows, each in equal pages.
#[derive(Clone, Copy)]
pub(super) struct PageGrid {
    /// Elements of a run; the last run of a block may have fewer.
    run: usize,
    /// Elements of a page; the last page of a run may have fewer.
    page: usize,
    /// Pages of a run.
    of_run: usize,
    by_run: Divisor,
    by_page: Divisor,
}

impl PageGrid {
    /// The grid for elements of `element` bytes, in units of `unit` elements: single elements or rows.
    pub(super) fn new(element: usize, unit: usize) -> Self {
        let most = (PAGE / element).max(1);
        let unit = unit.max(1);
        let (run, page) = if unit <= most {
            let run = most / unit * unit;
            (run, run)
        } else {
            (unit, unit.div_ceil(unit.div_ceil(most)))
        };
        PageGrid { run, page, of_run: run.div_ceil(page), by_run: Divisor::new(run), by_page: Divisor::new(page) }
    }

    /// The page of an element of a block.
    #[inline]
    pub(super) fn of(&self, place: usize) -> usize {
        let run = self.by_run.divide(place);
        run * self.of_run + self.by_page.divide(place - run * self.run)
    }

    /// The pages of consecutive elements of a block. `run` is not empty.
    pub(super) fn over(&self, run: &Range<usize>) -> Range<usize> {
        self.of(run.start)..self.of(run.end - 1) + 1
    }

    /// The number of pages of a block of `block` elements.
    pub(super) fn count(&self, block: usize) -> usize {
        if block == 0 { 0 } else { self.of(block - 1) + 1 }
    }

    /// The elements of a page of a block of `block` elements.
    pub(super) fn elements(&self, page: usize, block: usize) -> Range<usize> {
        let (run, part) = (page / self.of_run, page % self.of_run);
        let start = run * self.run + part * self.page;
        start..(start + self.page).min((run + 1) * self.run).min(block)
    }
}

/// The pages of a vector, in the order of its elements.
pub(super) struct PageMap {
    dist: Distribution,
    pages: PageGrid,
    /// The start of each rank's block. A last entry has the numbers of all elements and pages.
    blocks: Vec<Begin>,
}

/// The start of a block.
#[derive(Clone, Copy)]
struct Begin {
    element: usize,
    page: usize,
}

impl PageMap {
    pub(super) fn new(dist: &Distribution, element: usize, ranks: usize) -> Self {
        let pages = PageGrid::new(element, dist.shape().unit());
        let mut count = 0;
        let begins = (0..ranks).map(|rank| {
            let block = dist.range(Rank::new(rank));
            let begin = Begin { element: block.start, page: count };
            count += pages.count(block.len());
            begin
        });
        let mut blocks: Vec<_> = begins.collect();
        blocks.push(Begin { element: dist.len(), page: count });
        PageMap { dist: dist.clone(), pages, blocks }
    }

    /// The number of all pages.
    pub(super) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |end| end.page)
    }

    /// Elements of the whole vector.
    pub(super) fn elements(&self) -> usize {
        self.dist.len()
    }

    /// The page of an element.
    #[inline]
    pub(super) fn of(&self, index: usize) -> usize {
        let block = self.blocks[self.dist.owner_index(index)];
        block.page + self.pages.of(index - block.element)
    }

    /// The pages of consecutive elements.
    pub(super) fn over(&self, elements: &Range<usize>) -> Range<usize> {
        if elements.is_empty() {
            return 0..0;
        }
        let first = self.of(elements.start);
        let last = if elements.len() == 1 { first } else { self.of(elements.end - 1) };
        first..last + 1
    }

    /// The owner of a page, and the number of the page inside the owner's block.
    pub(super) fn home(&self, page: usize) -> (Rank, usize) {
        // Ranks without elements have no pages: among equal numbers, the last belongs to the owner.
        let owner = self.blocks.partition_point(|block| block.page <= page) - 1;
        (Rank::new(owner), page - self.blocks[owner].page)
    }

    /// The first element of a rank's block.
    pub(super) fn start(&self, owner: Rank) -> usize {
        self.dist.range(owner).start
    }

    /// Elements of a rank's block.
    pub(super) fn block(&self, owner: Rank) -> usize {
        self.dist.range(owner).len()
    }

    /// The page with this number inside a rank's block; `None`: the block is shorter.
    pub(super) fn page_of(&self, owner: Rank, number: usize) -> Option<usize> {
        let (first, end) = (self.blocks[owner.index()].page, self.blocks[owner.index() + 1].page);
        (number < end - first).then(|| first + number)
    }

    /// The elements of a page of a rank.
    pub(super) fn elements_of(&self, owner: Rank, number: usize) -> Range<usize> {
        let block = self.dist.range(owner);
        let page = self.pages.elements(number, block.len());
        block.start + page.start..block.start + page.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{MatrixDim, Shape};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_element_lies_in_one_page_of_its_owner(
            units in prop::collection::vec(0usize..70, 1..9),
            cols in 1usize..50,
            element in 1usize..6000,
            placed in any::<bool>(),
        ) {
            let (rows, ranks) = (units.iter().sum(), units.len());
            let shape = Shape::Matrix(MatrixDim::new(rows, cols));
            let on = Rank::new(rows % ranks);
            let dist = if placed { Distribution::on(on, shape) } else { Distribution::listed(shape, &units) };
            let map = PageMap::new(&dist, element, ranks);
            let mut next = 0;
            for page in 0..map.len() {
                let (owner, number) = map.home(page);
                prop_assert_eq!(map.page_of(owner, number), Some(page));
                let elements = map.elements_of(owner, number);
                prop_assert!(elements.start == next && !elements.is_empty());
                prop_assert!(elements.len() * element <= PAGE.max(element));
                let (first, last) = (elements.start / cols, (elements.end - 1) / cols);
                let are_whole = elements.start.is_multiple_of(cols) && elements.end.is_multiple_of(cols);
                prop_assert!(first == last || are_whole, "{:?} cuts rows of {}", elements, cols);
                for index in elements.clone() {
                    prop_assert_eq!((map.of(index), dist.owner(index)), (page, owner));
                }
                prop_assert_eq!(map.over(&elements), page..page + 1);
                next = elements.end;
            }
            prop_assert_eq!(next, dist.len());
            for rank in (0..ranks).map(Rank::new) {
                prop_assert_eq!(map.page_of(rank, map.pages.count(dist.range(rank).len())), None);
            }
        }
    }
}
