//! `Accumulate`: every rank updates a partial copy of its own, and the owners merge these copies at the end (Jin and
//! Ziavras, *Modeling Distributed Data Representation*, section 2: the state "distributed updateable").
//!
//! The merge uses the protocol of a ReleaseC whose writes are all made at its end.

pub(crate) mod folds;
mod partial;
mod sparse;

use super::buffers::Buffered;
use super::release::Together;
use super::{Accumulate, Behaviour, Scope, kind};
use crate::ops::{self, Op};
use crate::scope::{Opening, Rule};
use crate::window::{Window, common};
use crate::{Element, GVector, Kind, Result, Site};
use aurora_net::Rank;
use folds::Folds;
use partial::Partial;
use std::ops::Range;

const NAME: &str = "Accumulate";

/// Bytes of this rank's own block that are merged before messages are served again.
const AT_A_TIME: usize = 256 * 1024;

/// The values that this rank has accumulated for the elements from `first` on, and the ReleaseC that sends them.
pub struct Accumulated<T: Element, O> {
    partial: Partial<T>,
    first: usize,
    release: Together<T, O>,
}

impl<T: Element, O: Op<T>> Accumulated<T, O> {
    /// Sends each owner the touched elements of its block. Merges the elements of this rank's own block in place.
    /// If the partial copy is in the node's shared memory, its owners there fold it themselves.
    fn merge(&mut self, vector: &GVector<T>, site: &Site) -> Result<()> {
        let (me, first, shared) = (vector.shared.me, self.first, self.partial.is_shared());
        let shown = first..first + self.partial.len;
        let folds = |rank: Rank| shared && vector.shared.nodes.same_node(rank, me);
        if !shared || me.others(vector.shared.size).any(|owner| !folds(owner)) {
            self.partial.seal();
        }
        for owner in me.others(vector.shared.size).filter(|owner| !folds(*owner)) {
            self.ship(owner, common(&vector.dist.range(owner), &shown), vector, site)?;
        }
        if shared {
            vector.shared.tidy(|object, _| Folds::publish(object.core()));
            self.release.end_with(Folds::BATCH);
            return Ok(());
        }
        let block_start = vector.dist.range(me).start;
        let own = common(&vector.dist.range(me), &shown);
        let at_a_time = (AT_A_TIME / size_of::<T>()).max(1);
        for start in own.clone().step_by(at_a_time) {
            let piece = start..own.end.min(start + at_a_time);
            let places = piece.start - first..piece.end - first;
            self.partial.bridge(places.clone(), self.gap(me, vector));
            let partial = &self.partial;
            // In checking mode the batch carries its lines.
            let merged = !vector.shared.modes.check
                && self.release.merge_own(vector, site, |block| {
                    partial.runs(places, |start, operands| {
                        let elements = &mut block[first + start - block_start..][..operands.len()];
                        let pairs = elements.iter_mut().zip(operands);
                        pairs.for_each(|(element, operand)| *element = O::apply(*element, *operand));
                        Ok(())
                    })
                })?;
            if !merged {
                self.ship(me, piece, vector, site)?;
            }
        }
        Ok(())
    }

    /// How far apart two touched elements may be that are sent to `owner` as one run.
    fn gap(&self, owner: Rank, vector: &GVector<T>) -> usize {
        /// A run takes about as long as this many elements.
        const NEAR: usize = 7;
        /// The bytes of a run's places.
        const PLACES: usize = 8;
        let is_near = vector.shared.nodes.same_node(owner, vector.shared.me);
        if vector.shared.modes.check {
            0
        } else if is_near {
            NEAR
        } else {
            PLACES / size_of::<T>()
        }
    }

    fn ship(&mut self, owner: Rank, range: Range<usize>, vector: &GVector<T>, site: &Site) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let (op, first) = (self.release.op(), self.first);
        let places = range.start - first..range.end - first;
        self.partial.bridge(places.clone(), self.gap(owner, vector));
        let mut writer = self.release.writer(vector, site);
        self.partial.runs(places, |start, operands| writer.write_run(op, first + start, operands))
    }
}

kind!([T: Element, O: Op<T>] Accumulated<T, O>);

impl<T: Element, O: Op<T>> Behaviour for Accumulated<T, O> {
    type Element = T;
    const NAME: &'static str = NAME;
    const SENDS: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        let merged = self.merge(vector, site);
        self.abandon(vector);
        merged?;
        self.release.close(vector, site, checked)
    }

    /// Keeps the memory of the partial copy.
    fn abandon(&mut self, vector: &GVector<T>) {
        let (shared, private) = self.partial.end();
        vector.shared_copy.set(shared.or(vector.shared_copy.take()));
        vector.private.set(private);
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens an `Accumulate`: every rank updates elements by operation `O`, wherever they lie, in a
    /// partial copy of its own. At the end the owners merge all partial copies into the old values; the merged values
    /// are seen after the scope. All ranks must use the same operation.
    ///
    /// Inside the scope nothing is sent, received or shown. A partial copy takes memory for the touched elements. At
    /// first it is a hash table; if many elements are touched, it becomes a copy of the whole vector. So an Accumulate
    /// is for elements that each rank updates often, such as counters, forces or the entries of a matrix that is
    /// assembled. If most updates touch an element for the first time, [`release_c_with`](GVector::release_c_with)
    /// needs less memory and sends during the scope.
    ///
    /// A copy of the whole vector is in memory that the ranks of a node share, if the operation is one of [`ops`] on
    /// numbers or arrays of numbers, the vector has at least 4 KiB, and the copies of the node's ranks have at most
    /// 64 MiB together. Owners on this node then read the copy themselves.
    ///
    /// The old values of elements are operands too. A new vector has zeros: [`fill`](GVector::fill) it before a `Min`,
    /// a `Max` of negative numbers, a `Product` or an `And`.
    ///
    /// Operands are combined before they are sent ([`Op::combine`]), and the owners merge the ranks' copies in any
    /// order: the operation must be associative and commutative. Sums of `f32` and `f64` may differ in their last bits
    /// from run to run; use [`accumulate_in_order`](GVector::accumulate_in_order) if they must not.
    ///
    /// Owners that do not read the copy themselves are sent the touched elements. An owner that has not entered the
    /// scope is sent at most half a megabyte; if there is more, the end waits for that owner.
    ///
    /// # Errors
    /// `Leaked` if a guard was forgotten; `Mismatch` if another rank is known to have opened a different scope.
    /// Memory for the partial copy is taken when it is needed, by [`update`](Scope::update).
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut letters = GVector::<u64>::new(world, 26)?;
    ///     let mut counts = letters.accumulate(Sum)?;
    ///     for letter in "a rank counts letters".bytes().filter(u8::is_ascii_lowercase) {
    ///         counts.update(usize::from(letter - b'a'), 1)?;
    ///     }
    ///     counts.finish()?;
    ///     assert_eq!(letters.at(0)?, 3 * 2);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("reduce_scatter", "MPI_Reduce_scatter", "NGA_Acc"))]
    #[track_caller]
    pub fn accumulate<O: Op<T>>(&mut self, op: O) -> Result<Accumulate<'_, T, O>> {
        ops::stateless(op);
        self.open_accumulate(false, Window::WHOLE, Site::here())
    }

    /// Collective. As [`accumulate`](GVector::accumulate), merged in a fixed order: into the old value first the value
    /// that rank 0 has accumulated, in the order of its updates, then the value of rank 1, and so on. The operation
    /// need not be commutative. The same updates on the same number of ranks give the same bits in every run and over
    /// every route.
    ///
    /// An owner applies the values of a rank when all lower ranks have ended their scopes. So a rank that has to send
    /// more than half a megabyte to one owner waits at the end of its scope for the lower ranks.
    ///
    /// # Errors
    /// As [`accumulate`](GVector::accumulate); also `Mismatch` if another rank opens an `accumulate`.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut sums = GVector::<f64>::new(world, 10)?;
    ///     let mut mine = sums.accumulate_in_order(Sum)?;
    ///     let parts = [1e16, 1.0, -1e16];
    ///     mine.update_slice(0, &[parts[world.rank().index()]; 10])?;
    ///     mine.finish()?;
    ///     assert_eq!(sums.at(9)?, (1e16 + 1.0) - 1e16); // 0.0, and never 1.0
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn accumulate_in_order<O: Op<T>>(&mut self, op: O) -> Result<Accumulate<'_, T, O>> {
        ops::stateless(op);
        self.open_accumulate(true, Window::WHOLE, Site::here())
    }

    /// The caller has exclusive use of the window.
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
        // Not in checking mode, in which the owners need the lines of the updates.
        let shares = O::NEUTRAL.is_some() && shown.len() == self.len() && !self.shared.modes.check;
        let shared = if shares { self.shared_copy.take() } else { None };
        let (partial, first) = (Partial::new(shown.len(), O::NEUTRAL, shared, self.private.take()), shown.start);
        Ok(Scope::open_together(self, window, site, Accumulated { partial, first, release }))
    }
}

impl<T: Element, O: Op<T>> Accumulate<'_, T, O> {
    /// Applies the scope's operation to element `index`. Its owner merges the result at the end.
    ///
    /// # Errors
    /// [`Error::IndexOutside`](crate::Error::IndexOutside); [`Error::NotShown`](crate::Error::NotShown) outside of
    /// the scope's slice; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if this rank has no room for another
    /// element; [`Error::CacheLimit`](crate::Error::CacheLimit) if the copy of the whole that is needed now is larger
    /// than allowed. After a memory error all ranks that use the vector get the error.
    ///
    /// ```
    /// # use aurora_core::ops::Max;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.accumulate(Max)?;
    /// scope.update(9, 10 + world.rank().index() as u64)?;
    /// drop(scope);
    /// assert_eq!(v.at(9)?, 11);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn update(&mut self, index: usize, operand: T) -> Result<()> {
        let place = index.wrapping_sub(self.state.first);
        if let Some(value) = self.state.partial.filled().get_mut(place) {
            *value = O::combine(*value, operand);
            return Ok(());
        }
        self.update_otherwise(index, operand)
    }

    /// Applies the operation to many elements, each with an operand of its own. The effect, to the last bit, is that of
    /// a loop of [`update`](Self::update)s. Many updates take less time this way.
    ///
    /// # Errors
    /// As `update`. The updates before the refused one are made, and none after it.
    ///
    /// ```
    /// # use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.accumulate(Sum)?;
    /// scope.update_many([3, 9, 3].map(|index| (index, 1)))?; // by both ranks
    /// drop(scope);
    /// assert_eq!((v.at(3)?, v.at(9)?), (4, 2));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn update_many(&mut self, updates: impl IntoIterator<Item = (usize, T)>) -> Result<()> {
        match self.state.first {
            0 => self.update_places(updates),
            first => {
                self.update_places(updates.into_iter().map(|(index, operand)| (index.wrapping_sub(first), operand)))
            }
        }
    }

    /// Updates elements, numbered from the first that the scope shows.
    #[inline(always)]
    #[track_caller]
    fn update_places(&mut self, updates: impl IntoIterator<Item = (usize, T)>) -> Result<()> {
        let (first, mut updates) = (self.state.first, updates.into_iter());
        while self.state.partial.filled().is_empty() {
            let Some((place, operand)) = updates.next() else {
                return Ok(());
            };
            self.update_otherwise(place.wrapping_add(first), operand)?;
        }
        // The iterator's own loop: its `next` may be a function that is not inlined in the user's crate.
        let filled = self.state.partial.filled();
        let updated = updates.try_for_each(|(place, operand)| {
            let value = filled.get_mut(place).ok_or(place)?;
            *value = O::combine(*value, operand);
            Ok(())
        });
        updated.or_else(|outside: usize| self.check_shown(outside.wrapping_add(first)))
    }

    /// Updates a partial copy of another form, or refuses an index that is not shown.
    #[inline(never)]
    #[track_caller]
    fn update_otherwise(&mut self, index: usize, operand: T) -> Result<()> {
        self.check_shown(index)?;
        while !self.state.partial.update(index - self.state.first, operand, O::combine) {
            self.grow()?;
        }
        Ok(())
    }

    /// Applies the operation to the elements from `start` on, each with an operand of its own.
    ///
    /// # Errors
    /// [`Error::RangeOutside`](crate::Error::RangeOutside), before any change; else as [`update`](Self::update).
    ///
    /// ```
    /// # use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.accumulate(Sum)?;
    /// scope.update_slice(4, &[1, 2])?; // by both ranks
    /// drop(scope);
    /// assert_eq!((v.at(4)?, v.at(5)?), (2, 4));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn update_slice(&mut self, start: usize, operands: &[T]) -> Result<()> {
        self.check_shown_range(start, operands.len())?;
        let (mut done, first) = (0, self.state.first);
        while done < operands.len() {
            done += self.state.partial.update_slice(start - first + done, &operands[done..], O::combine);
            if done < operands.len() {
                self.grow()?;
            }
        }
        Ok(())
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
