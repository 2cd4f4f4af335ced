//! `ReleaseC` of all ranks together: an owner applies a batch once earlier scopes of that part are completed.

use super::end::end_release;
use crate::behaviour::buffers::{Buffered, Buffers, Sender};
use crate::behaviour::{Behaviour, ReleaseC, Scope, kind};
use crate::ops::{self, Op, OpId};
use crate::scope::{Entered, Opening, Rule};
use crate::vector::batch::BatchBuilder;
use crate::vector::machine::VectorWork;
use crate::vector::message::Written;
use crate::window::Window;
use crate::{Element, GVector, Kind, Result, Site};
use aurora_net::Rank;
use std::marker::PhantomData;

const NAME: &str = "ReleaseC";

/// A collective ReleaseC: buffers, and the batches sent to each owner.
pub struct Together<T, O> {
    buffers: Buffers<T>,
    scope: Entered,
    /// The batch that owners of this node get at the end, in place of writes.
    to_peers: Option<Written>,
    op: Option<OpId>,
    operation: PhantomData<O>,
}

impl<T: Element, O> Buffered for Together<T, O> {
    type Operation = O;

    #[inline]
    fn parts(&mut self) -> (&mut Buffers<T>, &mut dyn Sender<T>) {
        (&mut self.buffers, &mut self.scope)
    }

    #[inline]
    fn op(&self) -> Option<OpId> {
        self.op
    }
}

impl<T: Element, O> Together<T, O> {
    /// At the end of the scope the owners of this node get this batch, unless writes are left for them.
    pub(crate) fn end_with(&mut self, batch: Written) {
        self.to_peers = Some(batch);
    }

    /// Changes this rank's own block in place, if batches of this scope may be applied now. Else returns false.
    pub(crate) fn merge_own(
        &self,
        vector: &GVector<T>,
        site: &Site,
        merge: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<bool> {
        // Serves other ranks' batches, for which this rank is not woken.
        vector.shared.look();
        let epoch = self.scope.epoch;
        vector.shared.on(site, |object, cx| {
            cx.sound()?;
            let core = object.core();
            let may_apply = core.ledger().may_apply(epoch) && core.ledger().may_apply_from(epoch, cx.me());
            let block = core.block_mut();
            let merged = if may_apply { block.write(|own| merge(bytemuck::cast_slice_mut(own))) } else { None };
            core.refresh_permit(cx);
            merged.map_or(Ok(false), |merged| merged.map(|()| true))
        })
    }
}

impl<T: Element> Sender<T> for Entered {
    fn send(
        &mut self,
        vector: &GVector<T>,
        owner: Rank,
        op: Option<OpId>,
        batch: &mut BatchBuilder<T>,
        site: &Site,
    ) -> Result<()> {
        if owner != vector.shared.me {
            return vector.shared.send_batch(self, (owner, true), Written::from(op), || batch.take().into(), site);
        }
        vector.shared.apply_own(self, true, (VectorWork::Batch(op), batch.bytes()), site)?;
        batch.clear();
        Ok(())
    }
}

kind!([T: Element, O] Together<T, O>);

impl<T: Element, O> Behaviour for Together<T, O> {
    type Element = T;
    const NAME: &'static str = NAME;
    const SENDS: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        let (scope, to_peers, last) = (&mut self.scope, self.to_peers, self.buffers.take_all());
        vector.shared.on(site, |object, cx| {
            if last.iter().any(Option::is_some) {
                cx.sound()?;
            }
            end_release(object, scope, to_peers, last, cx);
            Ok(())
        })?;
        if checked { vector.shared.await_end(&self.scope, site) } else { Ok(()) }
    }

    fn abandon(&mut self, _: &GVector<T>) {}
}

impl<T: Element> GVector<T> {
    /// Collective. Opens a `ReleaseC`: every rank may write any element. Writes are buffered, and seen after the scope.
    /// Writes of one rank are applied in their order. If two ranks write one element, the value of one of them stays.
    ///
    /// Entering waits for no rank, unless this rank is eight scopes of the vector ahead. The old value is not
    /// available, so `v[i] += x` does not exist here: for sums use [`release_c_with`](GVector::release_c_with).
    ///
    /// # Errors
    /// `Leaked` if a guard was forgotten; `Mismatch` if another rank is known to have opened a different scope.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let (p, me) = (world.size(), world.rank().index());
    ///     let n = 300;
    ///     let mut reversed = GVector::<u64>::new(world, n)?;
    ///     let mut scope = reversed.release_c()?;
    ///     for i in (me..n).step_by(p) {
    ///         scope.put(n - 1 - i, i as u64)?; // buffered, for any owner
    ///     }
    ///     drop(scope); // one message to each other rank
    ///     assert_eq!(reversed.at(0)?, 299); // no barrier: the end orders the writes of all ranks
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("buffered_writes", "scatter", "batch_store", "DstAggregator"))]
    #[track_caller]
    pub fn release_c(&mut self) -> Result<ReleaseC<'_, T>> {
        self.open_together(None, Window::WHOLE, Site::here())
    }

    /// Collective. Opens a `ReleaseC` in which elements can also be updated by operation `O`. Owners apply the updates
    /// of all ranks, so [`Sum`](crate::ops::Sum) loses no update. All ranks must use the same operation.
    ///
    /// # Errors
    /// As [`release_c`](GVector::release_c).
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut histogram = GVector::<u64>::new(world, 4)?;
    ///     let mut counts = histogram.release_c_with(Sum)?;
    ///     for key in 0..100 {
    ///         counts.update(key % 4, 1)?;
    ///     }
    ///     counts.finish()?;
    ///     assert_eq!(histogram.at(3)?, 75);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("batch_add", "MPI_Accumulate", "NGA_Acc"))]
    #[track_caller]
    pub fn release_c_with<O: Op<T>>(&mut self, op: O) -> Result<ReleaseC<'_, T, O>> {
        ops::stateless(op);
        self.open_together_with(Window::WHOLE, Site::here())
    }

    /// The caller has exclusive use of the window.
    pub(crate) fn open_together_with<O: Op<T>>(&self, window: Window, site: Site) -> Result<ReleaseC<'_, T, O>> {
        self.open_together(Some(self.know::<O>(&site)?), window, site)
    }

    /// Registers an operation with the kernel.
    pub(crate) fn know<O: Op<T>>(&self, site: &Site) -> Result<OpId> {
        self.shared.on(site, |object, cx| object.core().know::<T, O>(site, cx))
    }

    /// The caller has exclusive use of the window.
    pub(crate) fn open_together<O: 'static>(
        &self,
        op: Option<OpId>,
        window: Window,
        site: Site,
    ) -> Result<ReleaseC<'_, T, O>> {
        let state = self.enter_release(op, window, &site)?;
        Ok(Scope::open_together(self, window, site, state))
    }

    /// Enters a ReleaseC. The caller opens its guard with [`Scope::open_together`].
    pub(crate) fn enter_release<O: 'static>(
        &self,
        op: Option<OpId>,
        window: Window,
        site: &Site,
    ) -> Result<Together<T, O>> {
        let opening = Opening::new(NAME, Kind::Flush, Rule::Ended, site).of(window);
        self.enter_together(NAME, if op.is_some() { opening.with_op::<O>() } else { opening }, site)
    }

    /// Enters any collective scope whose writes are buffered.
    pub(crate) fn enter_together<O: 'static>(
        &self,
        name: &'static str,
        opening: Opening,
        site: &Site,
    ) -> Result<Together<T, O>> {
        let op = opening.op;
        let scope = self.shared.enter((name, opening), true, site)?;
        Ok(Together { buffers: Buffers::new(self), scope, to_peers: None, op, operation: PhantomData })
    }
}
