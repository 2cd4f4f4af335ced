//! Which page holds which elements. Pages are numbered inside each owner's block, so a page has one home, and blocks
//! that are unequal, empty, or end inside a page need no rule of their own.

use crate::distribution::{Distribution, Divisor};
use aurora_net::Rank;
use std::ops::Range;

/// Bytes of a page, unless an element is longer.
const PAGE: usize = 4096;

/// Elements of a page, if an element has so many bytes. The last page of a block may have fewer.
pub(super) fn elements_of_page(element: usize) -> usize {
    (PAGE / element).max(1)
}

/// The pages of a vector, in the order of its elements.
pub(super) struct PageMap {
    dist: Distribution,
    /// Elements of a page.
    page: usize,
    by_page: Divisor,
    /// Of each rank's block. Behind the last stand the numbers of all elements and pages.
    blocks: Vec<Begin>,
}

/// Where a block begins.
#[derive(Clone, Copy)]
struct Begin {
    element: usize,
    page: usize,
}

impl PageMap {
    pub(super) fn new(dist: &Distribution, element: usize, ranks: usize) -> Self {
        let page = elements_of_page(element);
        let mut pages = 0;
        let begins = (0..ranks).map(|rank| {
            let block = dist.range(Rank::new(rank));
            let begin = Begin { element: block.start, page: pages };
            pages += block.len().div_ceil(page);
            begin
        });
        let mut blocks: Vec<_> = begins.collect();
        blocks.push(Begin { element: dist.len(), page: pages });
        PageMap { dist: dist.clone(), page, by_page: Divisor::new(page), blocks }
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
        block.page + self.by_page.divide(index - block.element)
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
        // Ranks without elements have no pages: the last of equal numbers is that of the owner.
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
        let start = block.start + number * self.page;
        start..(start + self.page).min(block.end)
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
                for index in elements.clone() {
                    prop_assert_eq!((map.of(index), dist.owner(index)), (page, owner));
                }
                prop_assert_eq!(map.over(&elements), page..page + 1);
                next = elements.end;
            }
            prop_assert_eq!(next, dist.len());
            prop_assert_eq!(map.page_of(Rank::new(0), dist.range(Rank::new(0)).len().div_ceil(map.page)), None);
        }
    }
}
