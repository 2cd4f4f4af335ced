//! Writes wait in buffers, one for each owner, until there are enough of them to send.

use super::release::end::LastBatch;
use super::{Behaviour, Scope};
use crate::distribution::Distribution;
use crate::ops::{Op, OpId};
use crate::vector::batch::BatchBuilder;
use crate::vector::{GVector, GlobalWrite};
use crate::{Element, Result, Site};
use aurora_net::Rank;
use std::ops::Range;

/// A behaviour that buffers writes. Not for users to implement.
pub trait Buffered: Behaviour {
    /// The operation of [`Scope::update`], or [`PutOnly`](super::PutOnly).
    type Operation;

    /// The buffers, and their sender.
    #[doc(hidden)]
    fn parts(&mut self) -> (&mut Buffers<Self::Element>, &mut dyn Sender<Self::Element>);

    /// The operation's number, or `None`: the scope only puts.
    #[doc(hidden)]
    fn op(&self) -> Option<OpId>;

    /// A writer, for writes that may have to be sent.
    #[doc(hidden)]
    fn writer<'a>(&'a mut self, vector: &'a GVector<Self::Element>, site: &'a Site) -> Writer<'a, Self::Element> {
        let (buffers, sender) = self.parts();
        Writer { buffers, sender, vector, site }
    }
}

/// The way of sending buffers: the difference between a collective ReleaseC and a ReleaseC of one rank alone.
#[allow(unnameable_types, reason = "in hidden methods of `Buffered` alone")]
pub trait Sender<T: Element> {
    /// Sends a batch to its owner, as soon as the owner may get another batch, and empties it.
    #[doc(hidden)]
    fn send(
        &mut self,
        vector: &GVector<T>,
        owner: Rank,
        op: Option<OpId>,
        batch: &mut BatchBuilder<T>,
        site: &Site,
    ) -> Result<()>;
}

/// Writes that are not sent yet, for each owner.
#[allow(missing_debug_implementations, unnameable_types, reason = "in hidden methods of `Buffered` alone")]
pub struct Buffers<T> {
    dist: Distribution,
    /// Checking mode: every write takes the slow path, which notes it.
    check: bool,
    /// Checking mode: the line of the write under way.
    line: Option<Site>,
    owners: Vec<Pending<T>>,
}

struct Pending<T> {
    op: Option<OpId>,
    batch: BatchBuilder<T>,
    /// The first element of the owner's block.
    start: usize,
    /// The length of the batch from which a write takes the slow path: for a put, and for an operation.
    limits: [usize; 2],
}

impl<T: Element> Buffers<T> {
    pub(super) fn new(vector: &GVector<T>) -> Self {
        let check = vector.shared.modes.check;
        let ranges = (0..vector.shared.size).map(|owner| vector.dist.range(Rank::new(owner)));
        let pending = |block: Range<usize>| Pending {
            op: None,
            batch: match check {
                true => BatchBuilder::new(block.len()).with_lines(),
                false => BatchBuilder::new(block.len()),
            },
            start: block.start,
            limits: [0; 2],
        };
        Buffers { dist: vector.dist.clone(), check, line: None, owners: ranges.map(pending).collect() }
    }

    /// Adds one element, or returns the owner for whose batch room has to be made first. A scope has one operation.
    #[inline(always)]
    pub(super) fn push(&mut self, op: Option<OpId>, index: usize, value: T) -> Option<Rank> {
        let owner = self.dist.owner_index(index);
        let pending = &mut self.owners[owner];
        if pending.batch.len() >= pending.limits[usize::from(op.is_some())] {
            return Some(Rank::new(owner));
        }
        pending.batch.push(index - pending.start, value);
        None
    }

    pub(super) fn take_all(&mut self) -> Vec<Option<LastBatch>> {
        let last = |Pending { op, batch, limits, .. }: &mut Pending<T>| {
            *limits = [0; 2];
            (!batch.is_empty()).then(|| LastBatch { batch: (*op).into(), bytes: batch.take() })
        };
        self.owners.iter_mut().map(last).collect()
    }
}

impl<B: Buffered> Scope<'_, B> {
    /// Sets element `index`. The value is seen after the scope.
    ///
    /// # Errors
    /// [`Error::IndexOutside`](crate::Error::IndexOutside); [`Error::NotShown`](crate::Error::NotShown) outside of
    /// the scope's slice; if a full buffer has to be sent, also the error that prevents that.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.release_c()?;
    /// let me = world.rank().index();
    /// scope.put(9 - me, me as u64)?;
    /// drop(scope);
    /// assert_eq!(v.at(8)?, 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn put(&mut self, index: usize, value: B::Element) -> Result<()> {
        self.write(None, index, value)
    }

    /// Sets the elements from `start` on.
    ///
    /// # Errors
    /// [`Error::RangeOutside`](crate::Error::RangeOutside) or [`Error::NotShown`](crate::Error::NotShown), before
    /// anything is written; else as [`put`](Self::put).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.release_c()?;
    /// scope.put_slice(if world.is_root() { 5 } else { 0 }, &[1, 2, 3])?; // in the other rank's part
    /// drop(scope);
    /// assert_eq!((v.at(2)?, v.at(7)?), (3, 3));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn put_slice(&mut self, start: usize, values: &[B::Element]) -> Result<()> {
        self.check_shown_range(start, values.len())?;
        let mut writer = self.state.writer(self.vector, &self.site);
        if writer.buffers.check {
            writer.buffers.line = Some(Site::here());
        }
        writer.write_run(None, start, values)
    }

    /// Applies the scope's operation to element `index` at its owner, after this rank's earlier writes.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// ```
    /// # use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut scope = v.release_c_with(Sum)?;
    /// scope.update(9, 1 + world.rank().index() as u64)?; // by both ranks
    /// drop(scope);
    /// assert_eq!(v.at(9)?, 1 + 2);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn update(&mut self, index: usize, operand: B::Element) -> Result<()>
    where
        B::Operation: Op<B::Element>,
    {
        let op = self.state.op();
        self.write(op, index, operand)
    }

    #[inline]
    #[track_caller]
    fn write(&mut self, op: Option<OpId>, index: usize, value: B::Element) -> Result<()> {
        self.check_shown(index)?;
        match self.state.parts().0.push(op, index, value) {
            None => Ok(()),
            Some(full) => self.write_with_room(full, op, index, value),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn write_with_room(&mut self, owner: Rank, op: Option<OpId>, index: usize, value: B::Element) -> Result<()> {
        let mut writer = self.state.writer(self.vector, &self.site);
        writer.make_room(owner, op)?;
        writer.buffers.push(op, index, value);
        if writer.buffers.check {
            writer.buffers.line = Some(Site::here());
            writer.note(owner, 1);
        }
        Ok(())
    }
}

/// Buffers with their sender.
#[allow(missing_debug_implementations, unnameable_types, reason = "in hidden methods of `Buffered` alone")]
pub struct Writer<'a, T: Element> {
    buffers: &'a mut Buffers<T>,
    sender: &'a mut dyn Sender<T>,
    vector: &'a GVector<T>,
    site: &'a Site,
}

impl<T: Element> Writer<'_, T> {
    /// Makes room in an owner's buffer for writes of this kind.
    fn make_room(&mut self, owner: Rank, op: Option<OpId>) -> Result<()> {
        let pending = &mut self.buffers.owners[owner.index()];
        pending.limits = [0; 2];
        let is_full = pending.batch.len() >= pending.batch.capacity();
        if !pending.batch.is_empty() && (pending.op != op || is_full) {
            self.sender.send(self.vector, owner, pending.op, &mut pending.batch, self.site)?;
        }
        if pending.batch.capacity() == 0 {
            let wanted = pending.batch.wanted();
            pending.batch.open(self.vector.shared.tidy(|_, out| out.buffer(owner, wanted)));
        }
        pending.op = op;
        pending.limits[usize::from(op.is_some())] = pending.batch.capacity();
        Ok(())
    }

    /// Checking mode: notes the values that were just added for an owner. The next write takes the slow path too.
    fn note(&mut self, owner: Rank, values: usize) {
        let pending = &mut self.buffers.owners[owner.index()];
        let line = self.buffers.line.as_ref().unwrap_or(self.site);
        let (at, time) =
            self.vector.shared.tidy_kernel(|kernel, _| (kernel.core.order.now(), kernel.core.order.time()));
        pending.batch.note(values, line, at, &time);
        pending.limits = [0; 2];
    }

    /// Sets consecutive elements, or applies an operation to each. The range is in bounds.
    pub(super) fn write_run(&mut self, op: Option<OpId>, start: usize, values: &[T]) -> Result<()> {
        if let [value] = values
            && self.buffers.push(op, start, *value).is_none()
        {
            return Ok(());
        }
        let dist = &self.vector.dist;
        for (owner, piece) in dist.pieces(start..start + values.len()) {
            let first = dist.range(owner).start;
            let mut at = piece.start;
            while at < piece.end {
                self.make_room(owner, op)?;
                let batch = &mut self.buffers.owners[owner.index()].batch;
                let upto = piece.end.min(at + batch.capacity() - batch.len());
                batch.extend(at - first, &values[at - start..upto - start]);
                if self.buffers.check {
                    self.note(owner, upto - at);
                }
                at = upto;
            }
        }
        Ok(())
    }

    /// Sends all remaining writes.
    pub(super) fn flush(&mut self) -> Result<()> {
        let me = self.vector.shared.me;
        for owner in me.others(self.vector.shared.size).chain([me]) {
            let pending = &mut self.buffers.owners[owner.index()];
            pending.limits = [0; 2];
            if !pending.batch.is_empty() {
                self.sender.send(self.vector, owner, pending.op, &mut pending.batch, self.site)?;
            }
        }
        Ok(())
    }
}

impl<B: Buffered> GlobalWrite<B::Element> for Scope<'_, B> {
    #[inline]
    #[track_caller]
    fn put(&mut self, index: usize, value: B::Element) -> Result<()> {
        self.write(None, index, value)
    }
}
