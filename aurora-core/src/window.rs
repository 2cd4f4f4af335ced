//! The part of a vector that a scope uses.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// The whole of a vector, or a range of its elements by global indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Window(Option<(usize, usize)>);

impl Window {
    /// The whole vector, of any length.
    pub(crate) const WHOLE: Window = Window(None);

    /// A range of a vector of `len` elements. Parts of an empty vector are never `WHOLE`: they overlap nothing.
    pub(crate) fn of(range: &Range<usize>, len: usize) -> Self {
        if *range == (0..len) && len > 0 { Window::WHOLE } else { Window(Some((range.start, range.end))) }
    }

    pub(crate) fn is_whole(self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub(crate) fn range(self, len: usize) -> Range<usize> {
        self.0.map_or(0..len, |(start, end)| start..end)
    }

    /// True if a vector of `len` elements has such a part: a message of another rank may contain anything.
    pub(crate) fn is_of(self, len: usize) -> bool {
        self.0.is_none_or(|(start, end)| start <= end && end <= len)
    }

    /// True if two windows share an element; an empty range overlaps nothing. `WHOLE` always overlaps `WHOLE`.
    pub(crate) fn overlaps(self, other: Window) -> bool {
        match (self.0, other.0) {
            (Some(one), Some(other)) => one.0.max(other.0) < one.1.min(other.1),
            (Some(part), None) | (None, Some(part)) => part.0 < part.1,
            (None, None) => true,
        }
    }
}

/// As an error message puts it before `the GVector<..>`.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |(start, end)| write!(f, "elements {start}..{end} of "))
    }
}

/// The intersection of two ranges; if they have no element in common, an empty range within the first.
pub(crate) fn common(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = other.start.clamp(one.start, one.end);
    start..other.end.clamp(start, one.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_overlap_where_they_share_an_element() {
        let window = |start, end| Window::of(&(start..end), 10);
        assert!(window(0, 5).overlaps(window(4, 6)) && !window(0, 5).overlaps(window(5, 10)));
        assert!(!window(3, 3).overlaps(window(0, 9)) && !window(3, 3).overlaps(Window::WHOLE));
        assert!(window(3, 4).overlaps(Window::WHOLE) && Window::WHOLE.overlaps(Window::WHOLE));
        let none = Window::of(&(0..0), 0);
        assert!(!none.overlaps(none) && !none.overlaps(Window::WHOLE));
        assert!(window(0, 10).is_whole() && !window(0, 9).is_whole());
        assert_eq!((window(0, 10).to_string(), window(2, 3).to_string()), (String::new(), "elements 2..3 of ".into()));
    }

    #[test]
    fn what_is_said_to_be_a_part_has_to_lie_within() {
        let is_of = |start, end, len| Window(Some((start, end))).is_of(len);
        assert!(is_of(3, 10, 10) && is_of(10, 10, 10) && is_of(0, 0, 0) && Window::WHOLE.is_of(0));
        assert!(!is_of(3, 11, 10) && !is_of(5, 3, 10) && !is_of(11, 11, 10) && !is_of(usize::MAX, 0, 10));
    }

    #[test]
    fn what_is_common() {
        assert_eq!(common(&(2..8), &(0..5)), 2..5);
        assert_eq!(common(&(2..8), &(3..20)), 3..8);
        assert!(common(&(2..8), &(8..20)).is_empty() && common(&(2..8), &(0..1)).is_empty());
        assert_eq!(common(&(2..8), &(0..1)), 2..2);
    }
}
