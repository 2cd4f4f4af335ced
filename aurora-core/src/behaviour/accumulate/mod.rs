//! `Accumulate`: every rank updates a partial copy of its own, and the owners merge them at the end (Jin and Ziavras,
//! *Modeling Distributed Data Representation*, section 2: the state "distributed updateable").
//!
//! The merge goes the way of a ReleaseC: one that is written at its end, all at once.

mod partial;
mod sparse;

use super::buffers::{Buffered, write_run};
use super::release::Together;
use super::{Accumulate, Behaviour, Scope, sealed};
use crate::Site;
use crate::element::{Element, Op};
use crate::epoch::{Opening, Rule};
use crate::error::Result;
use crate::stats::Kind;
use crate::vector::GVector;
use crate::window::{Window, common};
use partial::Partial;
use std::ops::Range;

const NAME: &str = "Accumulate";

/// Bytes of our own block that are merged before others' messages are looked at again.
const AT_A_TIME: usize = 256 * 1024;

/// What this rank has accumulated, and the way to the owners.
pub struct Accumulated<T: Element, O> {
    /// Of the elements that the scope is about, from this one on.
    partial: Partial<T>,
    first: usize,
    release: Together<T, O>,
}

impl<T: Element, O: Op<T>> Accumulated<T, O> {
    /// Sends each owner what was touched of its block; what was of our own is applied in place.
    fn merge(&mut self, vector: &GVector<T>, site: &Site) -> Result<()> {
        self.partial.seal();
        let (me, first) = (vector.link.me, self.first);
        let shown = first..first + self.partial.len();
        for owner in me.others(vector.link.size) {
            self.ship(common(&vector.dist.range(owner), &shown), vector, site)?;
        }
        let block_start = vector.dist.range(me).start;
        let own = common(&vector.dist.range(me), &shown);
        for start in own.clone().step_by((AT_A_TIME / size_of::<T>()).max(1)) {
            let piece = start..own.end.min(start + (AT_A_TIME / size_of::<T>()).max(1));
            let partial = &self.partial;
            let merged = self.release.merge_own(vector, site, |block| {
                partial.runs(piece.start - first..piece.end - first, |start, operands| {
                    let elements = &mut block[first + start - block_start..][..operands.len()];
                    let pairs = elements.iter_mut().zip(operands);
                    pairs.for_each(|(element, operand)| *element = O::apply(*element, *operand));
                    Ok(())
                })
            })?;
            if !merged {
                self.ship(piece, vector, site)?;
            }
        }
        Ok(())
    }

    /// Puts what was touched of some elements into batches for their owners.
    fn ship(&mut self, range: Range<usize>, vector: &GVector<T>, site: &Site) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let (op, first) = (self.release.op(), self.first);
        let (buffers, sender) = self.release.parts();
        self.partial.runs(range.start - first..range.end - first, |start, operands| {
            write_run(buffers, sender, vector, op, first + start, operands, site)
        })
    }
}

impl<T: Element, O> sealed::Sealed for Accumulated<T, O> {}

impl<T: Element, O: Op<T>> Behaviour for Accumulated<T, O> {
    type Element = T;
    const NAME: &'static str = NAME;
    const SENDS: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        let merged = self.merge(vector, site);
        vector.private.set(self.partial.end());
        merged?;
        self.release.close(vector, site, checked)
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        vector.private.set(self.partial.end());
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens an `Accumulate`: every rank updates elements by operation `O`, wherever they lie, in a partial
    /// copy of its own; at the end owners merge all of them into what was there before. The merged values are seen
    /// after the scope. The operation is part of what all ranks agree on.
    ///
    /// Inside, nothing is sent, received or shown. A partial copy takes memory for what is touched: for a few elements
    /// a table of them, for many a copy of the whole vector; the choice is made while it grows. So this is for elements
    /// that each rank updates often, such as counters, forces or the entries of a matrix that is assembled. Where most
    /// updates meet an element for the first time, [`release_c_with`](GVector::release_c_with) needs less memory and
    /// has begun to send meanwhile.
    ///
    /// Operands are combined on their way ([`Op::combine`]), those of several ranks in any order: the operation must be
    /// associative and commutative. Sums of `f32` and `f64` may so differ in their last bits from run to run:
    /// [`accumulate_in_order`](GVector::accumulate_in_order) if they must not.
    ///
    /// Like any other scope that sends, it may have to wait at its end until the owners have entered it: for each of
    /// them no more than half a megabyte goes ahead.
    ///
    /// # Errors
    /// `Leaked` where a guard was forgotten; `Mismatch` where other ranks are known to have opened another scope.
    /// Memory for the partial copy is taken where it comes to be needed, by [`update`](Scope::update).
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut letters = GVector::<u64>::new(world, 26)?;
    ///     let mut counts = letters.accumulate::<Add>()?;
    ///     for letter in "a rank counts letters".bytes().filter(u8::is_ascii_lowercase) {
    ///         counts.update(usize::from(letter - b'a'), 1)?;
    ///     }
    ///     counts.finish()?;
    ///     assert_eq!(letters.at(0)?, 3 * 2);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn accumulate<O: Op<T>>(&mut self) -> Result<Accumulate<'_, T, O>> {
        self.open_accumulate(false, Window::WHOLE, Site::here())
    }

    /// Collective. As [`accumulate`](GVector::accumulate), merged in a fixed order: to the old value first what rank 0
    /// has accumulated, in the order of its updates, then that of rank 1, and so on: the operation need not be
    /// commutative. With the same updates on as many ranks the result is the same to the last bit, in every run and
    /// over every route.
    ///
    /// An owner applies what a rank sends when all ranks before it have ended their scopes. So a rank that has more
    /// than half a megabyte for one owner waits at its end for those before it.
    ///
    /// # Errors
    /// As [`accumulate`](GVector::accumulate); the order is a part of what all ranks agree on.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut sums = GVector::<f64>::new(world, 10)?;
    ///     let mut mine = sums.accumulate_in_order::<Add>()?;
    ///     let parts = [1e16, 1.0, -1e16];
    ///     mine.update_slice(0, &[parts[world.rank().index()]; 10])?;
    ///     mine.finish()?;
    ///     assert_eq!(sums.at(9)?, (1e16 + 1.0) - 1e16); // 0.0, and never 1.0
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn accumulate_in_order<O: Op<T>>(&mut self) -> Result<Accumulate<'_, T, O>> {
        self.open_accumulate(true, Window::WHOLE, Site::here())
    }

    /// The caller has that part to itself.
    pub(crate) fn open_accumulate<O: Op<T>>(
        &self,
        in_order: bool,
        window: Window,
        site: Site,
    ) -> Result<Accumulate<'_, T, O>> {
        self.know::<O>(&site)?;
        let (rule, detail) = if in_order { (Rule::EndedInOrder, " in order") } else { (Rule::Ended, "") };
        let opening = Opening::new(NAME, Kind::Merge, rule, &site).of(window).with(detail).with_op::<O>();
        let release = self.enter_together(NAME, opening, &site)?;
        let shown = window.range(self.len());
        let (partial, first) = (Partial::new(shown.len(), self.private.take()), shown.start);
        let scope = Scope::open_in(self, window, site, Accumulated { partial, first, release }, true, true);
        scope.vector.opened();
        Ok(scope)
    }
}

impl<T: Element, O: Op<T>> Accumulate<'_, T, O> {
    /// Applies the scope's operation to element `index`, for the owner to see at the end.
    ///
    /// # Errors
    /// [`Error::IndexOutside`](crate::Error::IndexOutside), [`Error::NotShown`](crate::Error::NotShown) outside of the
    /// slice that the scope is of; [`Error::OutOfMemory`](crate::Error::OutOfMemory) where this rank has no room for
    /// another element, and [`Error::CacheLimit`](crate::Error::CacheLimit) where the copy of the whole that it would
    /// now need is more than it may have: all ranks hear of it, and the vector shows nothing of half a phase.
    #[inline]
    #[track_caller]
    pub fn update(&mut self, index: usize, operand: T) -> Result<()> {
        self.check_shown(index)?;
        while !self.state.partial.update(index - self.state.first, operand, O::combine) {
            self.grow()?;
        }
        Ok(())
    }

    /// Applies it to the elements from `start` on, each with an operand of its own.
    ///
    /// # Errors
    /// [`Error::RangeOutside`](crate::Error::RangeOutside), before anything is done; else as [`update`](Self::update).
    #[track_caller]
    pub fn update_slice(&mut self, start: usize, operands: &[T]) -> Result<()> {
        self.check_shown_range(start, operands.len())?;
        if operands.is_empty() {
            return Ok(());
        }
        let (mut done, first) = (0, self.state.first);
        loop {
            done += self.state.partial.update_slice(start - first + done, &operands[done..], O::combine);
            if done == operands.len() {
                return Ok(());
            }
            self.grow()?;
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<()> {
        const PART: &str = "this rank's part of an Accumulate";
        let Scope { vector, site, state, .. } = self;
        if let Some(bytes) = state.partial.copy_to_take() {
            vector.admit_copy(PART, bytes, site)?;
        }
        state.partial.grow().map_err(|shortage| vector.short_of(shortage, PART, site))
    }
}
