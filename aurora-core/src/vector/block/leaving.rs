//! A block moves away from its readers in steps: the rank's lock is free between two of them.

use super::Block;
use crate::memory::{LatchMode, Metered, Piece, Shortage};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The time that a write waits for readers to leave before the block moves away.
const PATIENCE: Duration = Duration::from_micros(50);

/// Bytes copied in a step: about 100 us, in memory that is touched for the first time.
const COPIED_AT_ONCE: usize = 512 << 10;

/// The wait of a write until no rank reads its bytes, or until the block has moved away from there.
pub(super) struct Leaving {
    /// The bytes of the block that are to be written.
    range: Range<usize>,
    /// The time at which the move begins.
    due: Option<Instant>,
    copy: Option<Copying>,
}

/// The copy of a piece of the block.
struct Copying {
    piece: Range<usize>,
    into: Metered,
    done: usize,
}

impl Copying {
    fn of(piece: &Piece) -> Self {
        let range = piece.range();
        Copying { into: Metered::new(range.len(), piece.array.promised()), piece: range, done: 0 }
    }

    /// Copies some more of the piece.
    fn step(&mut self, piece: &Piece) -> Result<(), Shortage> {
        let next = (self.done + COPIED_AT_ONCE).min(self.piece.len());
        self.into.write(self.done, &piece.array.bytes()[self.done..next]);
        self.done = next;
        self.into.short().map_or(Ok(()), |shortage| Err(shortage.clone()))
    }
}

impl Block {
    /// True if these bytes may be written in place. If another rank reads them, the block begins to leave: until it
    /// [has left](Block::leave), nothing of the block may be written.
    pub(crate) fn is_writable(&mut self, range: &Range<usize>) -> bool {
        if self.leaving.is_none() && self.piece_with_readers(range).is_some() {
            self.leaving = Some(Leaving { range: range.clone(), due: None, copy: None });
        }
        self.leaving.is_none()
    }

    /// Does a step of leaving. True: writes can be tried again.
    pub(crate) fn leave(&mut self, now: impl FnOnce() -> Instant) -> Result<bool, Shortage> {
        let Some(mut leaving) = self.leaving.take() else {
            return Ok(false);
        };
        let copy = leaving.copy.take();
        if copy.is_none() && self.piece_with_readers(&leaving.range).is_some() {
            let now = now();
            if now < *leaving.due.get_or_insert(now + PATIENCE) {
                self.leaving = Some(leaving);
                return Ok(false);
            }
            // From now on no node peer writes to the place either. If a peer does not leave, the place is given up.
            self.set_latch(LatchMode::ReadOnly);
        }
        let Some(found) = self.piece_with_readers(&leaving.range) else {
            return Ok(true);
        };
        let piece = &mut self.parts.pieces_mut()[found];
        let mut copy = copy.filter(|copy| copy.piece == piece.range()).unwrap_or_else(|| Copying::of(piece));
        copy.step(piece)?;
        let is_copied = copy.done == copy.piece.len();
        if is_copied && self.in_flight == 0 && piece.is_free() {
            self.home.as_mut().expect("the piece lies there").vacate(piece, copy.into.share());
            self.set_latch(LatchMode::Shut);
        } else {
            leaving.copy = Some(copy);
        }
        let has_left = self.piece_with_readers(&leaving.range).is_none();
        self.leaving = Some(leaving).filter(|_| !has_left);
        Ok(has_left)
    }

    /// Some of the block is about to change: the bytes copied so far are out of date.
    pub(super) fn begin_leaving_anew(&mut self) {
        if let Some(leaving) = &mut self.leaving {
            leaving.copy = None;
        }
    }

    #[inline]
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// The time of the next step. A copied piece that is still shown or sent moves with the call that ends that use.
    #[inline]
    pub(crate) fn next_step(&self) -> Option<Instant> {
        let Leaving { due, copy, .. } = self.leaving.as_ref()?;
        due.filter(|_| copy.as_ref().is_none_or(|copy| copy.done < copy.piece.len()))
    }

    /// True while a copy is being made: no rank may write to the place then.
    pub(super) fn is_moving(&self) -> bool {
        self.leaving.as_ref().is_some_and(|leaving| leaving.copy.is_some())
    }

    /// The position of the first piece of a range that another rank reads.
    fn piece_with_readers(&self, range: &Range<usize>) -> Option<usize> {
        self.home.as_ref()?.piece_with_readers(&self.parts, range)
    }
}
