//! The pieces of a block that are here: usually one, the whole block. Before a part is lent, it is cut off. A piece
//! that a guard holds is neither cut nor joined. A piece that is lent for writing is not here.

use super::Storage;
use super::array::across;
use std::ops::Range;
use std::sync::Arc;

/// Pieces of a block, in ascending order.
#[derive(Default)]
pub(crate) struct Parts {
    pieces: Vec<Piece>,
}

pub(crate) struct Piece {
    /// The first byte of the piece within the block.
    pub(crate) at: usize,
    pub(crate) array: Arc<dyn Storage>,
}

impl Piece {
    pub(crate) fn range(&self) -> Range<usize> {
        self.at..self.at + self.array.byte_len()
    }

    /// True if nothing else holds the piece.
    pub(crate) fn is_free(&mut self) -> bool {
        Arc::get_mut(&mut self.array).is_some()
    }
}

impl Parts {
    pub(crate) fn new(array: Arc<dyn Storage>) -> Self {
        Parts { pieces: vec![Piece { at: 0, array }] }
    }

    #[inline]
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    #[inline]
    pub(crate) fn pieces_mut(&mut self) -> &mut [Piece] {
        &mut self.pieces
    }

    /// The single piece that is the whole block of `len` bytes, if it is here and has not been cut.
    #[inline]
    pub(crate) fn whole(&self, len: usize) -> Option<&Arc<dyn Storage>> {
        match &self.pieces[..] {
            [piece] if piece.array.byte_len() == len => Some(&piece.array),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn whole_mut(&mut self, len: usize) -> Option<&mut Arc<dyn Storage>> {
        match &mut self.pieces[..] {
            [piece] if piece.array.byte_len() == len => Some(&mut piece.array),
            _ => None,
        }
    }

    /// The positions of the pieces that contain a range, if all of it is here.
    pub(crate) fn find(&self, range: &Range<usize>) -> Option<Range<usize>> {
        if let [one] = &self.pieces[..]
            && one.at <= range.start
            && range.start < range.end
            && range.end <= one.range().end
        {
            return Some(0..1);
        }
        let first = self.pieces.partition_point(|piece| piece.range().end <= range.start);
        let (mut next, mut at) = (first, range.start);
        while at < range.end {
            let piece = self.pieces.get(next).filter(|piece| piece.at <= at)?;
            at = piece.range().end;
            next += 1;
        }
        Some(first..next)
    }

    /// The bytes of a range, piece by piece, if all of it is here.
    pub(crate) fn bytes(&self, range: &Range<usize>) -> Option<Vec<&[u8]>> {
        let pieces = &self.pieces[self.find(range)?];
        let cut = |piece: &Piece| {
            let (from, upto) = (range.start.max(piece.at), range.end.min(piece.range().end));
            from - piece.at..upto - piece.at
        };
        Some(pieces.iter().map(|piece| &piece.array.bytes()[cut(piece)]).collect())
    }

    /// Calls `show` with a range, copied if its pieces lie in different places; `None` if not all of it is here.
    pub(crate) fn show<R>(&self, range: &Range<usize>, show: impl FnOnce(&[u8]) -> R) -> Option<R> {
        match &self.pieces[self.find(range)?] {
            [] => Some(show(&[])),
            [one] => Some(show(&one.array.bytes()[range.start - one.at..range.end - one.at])),
            several => {
                let arrays: Vec<_> = several.iter().map(|piece| &*piece.array).collect();
                let at = several[0].at;
                Some(match across(&arrays) {
                    Some(all) => show(&all[range.start - at..range.end - at]),
                    None => show(&self.bytes(range)?.concat()),
                })
            }
        }
    }

    /// Cuts pieces at the ends of a range, unless a guard holds them.
    pub(crate) fn cut(&mut self, range: &Range<usize>) {
        for at in [range.start, range.end] {
            let within = |piece: &Piece| piece.at < at && at < piece.range().end;
            let Some(cut) = self.pieces.iter().position(within) else {
                continue;
            };
            let piece = &mut self.pieces[cut];
            let (inside, array) = (at - piece.at, Arc::get_mut(&mut piece.array));
            if let Some(array) = array.map(|array| array.split_off(inside)) {
                self.pieces.insert(cut + 1, Piece { at, array });
            }
        }
    }

    /// Takes these pieces out.
    pub(crate) fn remove(&mut self, positions: Range<usize>) -> Vec<Piece> {
        self.pieces.drain(positions).collect()
    }

    /// Puts a piece into its place, which is vacant.
    pub(crate) fn insert(&mut self, at: usize, array: Arc<dyn Storage>) {
        let position = self.pieces.partition_point(|piece| piece.at < at);
        self.pieces.insert(position, Piece { at, array });
        self.join();
    }

    /// Joins neighbours that were one piece before, if no guard holds them.
    pub(crate) fn join(&mut self) {
        let mut at = 0;
        while at + 1 < self.pieces.len() {
            let (before, behind) = self.pieces.split_at_mut(at + 1);
            let (one, next) = (&mut before[at], &mut behind[0]);
            let free = Arc::get_mut(&mut one.array).zip(Arc::get_mut(&mut next.array));
            if free.is_some_and(|(one, next)| one.join(next)) {
                self.pieces.remove(at + 1);
            } else {
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Array;
    use proptest::prelude::*;

    fn ranges(parts: &Parts) -> Vec<Range<usize>> {
        parts.pieces().iter().map(Piece::range).collect()
    }

    fn block(len: u8) -> Parts {
        Parts::new(Arc::new(Array::from((0..len).collect::<Vec<u8>>())))
    }

    #[test]
    fn what_is_lent_is_cut_off_and_joined_again() {
        let mut parts = block(10);
        parts.cut(&(3..7));
        assert_eq!(ranges(&parts), [0..3, 3..7, 7..10]);
        let found = parts.find(&(3..7)).expect("it is here");
        let lent = parts.remove(found).pop().expect("one piece");
        assert!(parts.find(&(2..4)).is_none() && parts.find(&(0..10)).is_none() && parts.whole(10).is_none());
        assert_eq!(parts.bytes(&(7..9)), Some(vec![&[7, 8][..]]));
        parts.insert(lent.at, lent.array);
        assert_eq!(ranges(&parts), std::slice::from_ref(&(0..10)));
        assert!(parts.whole(10).is_some());
    }

    #[test]
    fn what_is_held_stays_as_it_is() {
        let mut parts = block(10);
        parts.cut(&(0..4));
        let held = parts.pieces()[0].array.clone();
        parts.join();
        parts.cut(&(2..8));
        assert_eq!(ranges(&parts), [0..4, 4..8, 8..10]);
        assert_eq!(parts.show(&(2..9), <[u8]>::to_vec), Some((2..9).collect()));
        drop(held);
        parts.join();
        assert_eq!(ranges(&parts), std::slice::from_ref(&(0..10)));
    }

    #[test]
    fn an_empty_block_is_whole() {
        let mut parts = block(0);
        parts.cut(&(0..0));
        assert!(parts.whole(0).is_some() && parts.find(&(0..0)).is_some());
        assert_eq!(parts.show(&(0..0), <[u8]>::len), Some(0));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(cuts in prop::collection::vec((0usize..40, 0usize..40, any::<bool>()), 0..12)) {
            let mut parts = block(40);
            let mut lent = Vec::new();
            let mut here = [true; 40];
            for (a, b, take) in cuts {
                let range = a.min(b)..a.max(b);
                let all_here = here[range.clone()].iter().all(|here| *here);
                prop_assert_eq!(parts.find(&range).is_some(), all_here);
                prop_assert_eq!(parts.show(&range, <[u8]>::to_vec), all_here.then(|| range.clone().map(|i| i as u8).collect()));
                parts.cut(&range);
                match parts.find(&range).filter(|_| take && !range.is_empty()) {
                    Some(found) => {
                        here[range].fill(false);
                        lent.extend(parts.remove(found));
                    }
                    None => parts.join(),
                }
            }
            for Piece { at, array } in lent {
                parts.insert(at, array);
            }
            parts.join();
            prop_assert_eq!(ranges(&parts), vec![0..40]);
        }
    }
}
