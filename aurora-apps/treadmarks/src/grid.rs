//! The pages of an array.

use crate::machine::{PAGE, Page};
use std::ops::Range;

/// The pages of an array. Each row of the array begins a page; a row longer than a page has several pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The first page.
    first: Page,
    /// The bytes of the array.
    len: usize,
    /// The bytes of a row.
    row: usize,
}

impl Grid {
    /// The pages from `first` on of an array of `len` bytes in rows of `row` bytes; 0 for an array without rows.
    pub fn new(first: Page, len: usize, row: usize) -> Self {
        let row = if row == 0 { len } else { row };
        Grid { first, len, row: row.clamp(1, len.max(1)) }
    }

    fn pages_of_a_row(&self) -> usize {
        self.row.div_ceil(PAGE)
    }

    /// The number of pages.
    pub fn count(&self) -> usize {
        let (rows, rest) = (self.len / self.row, self.len % self.row);
        rows * self.pages_of_a_row() + rest.div_ceil(PAGE)
    }

    /// The page behind the last page of the array.
    pub fn end(&self) -> Page {
        self.first + self.count() as Page
    }

    /// The page of a byte.
    fn page_of(&self, byte: usize) -> usize {
        byte / self.row * self.pages_of_a_row() + byte % self.row / PAGE
    }

    /// The pages of a range of bytes of the array.
    pub fn pages(&self, bytes: &Range<usize>) -> Range<Page> {
        if bytes.is_empty() {
            return self.first..self.first;
        }
        let (first, last) = (self.page_of(bytes.start), self.page_of(bytes.end - 1));
        self.first + first as Page..self.first + last as Page + 1
    }

    /// Returns true if a page belongs to this array.
    pub fn has(&self, page: Page) -> bool {
        page.checked_sub(self.first).is_some_and(|page| (page as usize) < self.count())
    }

    /// The bytes of a page in the array.
    pub fn bytes(&self, page: Page) -> Range<usize> {
        let page = (page - self.first) as usize;
        let (row, part) = (page / self.pages_of_a_row(), page % self.pages_of_a_row());
        let start = row * self.row + part * PAGE;
        let end_of_row = ((row + 1) * self.row).min(self.len);
        start..(start + PAGE).min(end_of_row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_lies_in_the_pages_of_its_range() {
        for (len, row) in [
            (0, 0),
            (1, 1),
            (9000, 0),
            (100, 9000),
            (4096, 4096),
            (4100, 4100),
            (61_440, 6144),
            (61_441, 6144),
            (10_000, 16),
        ] {
            let grid = Grid::new(7, len, row);
            let all = grid.pages(&(0..len));
            assert_eq!(all.len(), grid.count(), "{grid:?}");
            let mut at = 0;
            for page in all.clone() {
                let bytes = grid.bytes(page);
                assert!(grid.has(page) && !bytes.is_empty() && bytes.len() <= PAGE, "{grid:?} {page}");
                assert_eq!(bytes.start, at, "pages follow each other");
                assert_eq!(bytes.start / grid.row, (bytes.end - 1) / grid.row, "a page lies in one row");
                assert_eq!(grid.pages(&bytes), page..page + 1);
                at = bytes.end;
            }
            assert_eq!(at, len);
            assert!(!grid.has(6) && !grid.has(all.end.max(7)));
        }
    }

    #[test]
    fn rows_begin_pages() {
        let grid = Grid::new(0, 1024 * 6144, 6144);
        assert_eq!(grid.count(), 2048);
        assert_eq!((grid.bytes(0), grid.bytes(1), grid.bytes(2)), (0..4096, 4096..6144, 6144..10_240));
    }
}
