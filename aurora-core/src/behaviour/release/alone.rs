//! `ReleaseC` of one rank alone (the paper's Figure 1): each owner acknowledges every batch.

use crate::behaviour::buffers::{Buffered, Buffers, Sender};
use crate::behaviour::{Behaviour, ReleaseAlone, Scope, kind};
use crate::ids::CallId;
use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::object::Cx;
use crate::operation::short;
use crate::ops::{self, Op, OpId};
use crate::vector::asking::GATE;
use crate::vector::batch::BatchBuilder;
use crate::vector::check::{self, Noted, Stamp};
use crate::vector::core::VectorCore;
use crate::vector::message::{Asked, Request};
use crate::window::Window;
use crate::{Element, Error, GVector, Kind, Result, Site};
use aurora_net::Rank;
use std::marker::PhantomData;

/// A ReleaseC of one rank alone.
pub struct Alone<T, O> {
    buffers: Buffers<T>,
    calls: Calls,
    op: Option<OpId>,
    operation: PhantomData<O>,
}

/// At most one batch for each owner is under way, so that batches are applied in order.
struct Calls {
    reason: Reason,
    window: Window,
    under_way: Vec<Option<CallId>>,
    /// Checking mode: the number and the line of this scope, and the owners to which it has written.
    alone: check::Alone,
    wrote: Vec<bool>,
}

impl<T: Element, O> Buffered for Alone<T, O> {
    type Operation = O;

    #[inline]
    fn parts(&mut self) -> (&mut Buffers<T>, &mut dyn Sender<T>) {
        (&mut self.buffers, &mut self.calls)
    }

    #[inline]
    fn op(&self) -> Option<OpId> {
        self.op
    }
}

impl Calls {
    /// Checking mode: the stamp that goes to the owner of written elements.
    fn stamp(&mut self, owner: Rank, core: &VectorCore, cx: &Cx<'_>) -> Option<Box<Stamp>> {
        let mut stamp = core.stamp(owner, &self.alone.opened, cx)?;
        self.wrote[owner.index()] = true;
        stamp.alone = Some(self.alone.clone());
        Some(Box::new(stamp))
    }

    fn wait_for<T: Element>(&mut self, vector: &GVector<T>, owner: Rank, site: &Site) -> Result<()> {
        match self.under_way[owner.index()].take() {
            Some(call) => vector.shared.answer(call, ("a ReleaseC alone", Kind::Flush), site).map(drop),
            None => Ok(()),
        }
    }

    /// Checking mode: tells the owners that the scope has ended.
    fn end<T: Element>(&mut self, vector: &GVector<T>, site: &Site) -> Result<()> {
        let (me, window) = (vector.shared.me, self.window);
        let owners = (0..).map(Rank::new).zip(std::mem::take(&mut self.wrote));
        let notices = owners.filter(|(_, wrote)| *wrote).map(|(owner, _)| {
            let number = self.alone.number;
            let reason = Reason::new("AURORA_CHECK", Kind::Flush, site);
            vector.shared.on(site, |object, cx| {
                if owner != me {
                    return Ok(Some(object.core().ask(
                        (owner, &reason, When::Now),
                        Request::Ended { number, window },
                        Vec::new(),
                        cx,
                    )));
                }
                if let Some(stamp) = object.core().stamp(me, site, cx) {
                    object.core().ended_alone(me, number, &stamp);
                }
                Ok(None)
            })
        });
        let notices = notices.collect::<Result<Vec<_>>>()?;
        notices
            .into_iter()
            .flatten()
            .try_for_each(|call| vector.shared.answer(call, ("a note of AURORA_CHECK", Kind::Flush), site).map(drop))
    }
}

impl<T: Element> Sender<T> for Calls {
    fn send(
        &mut self,
        vector: &GVector<T>,
        owner: Rank,
        op: Option<OpId>,
        batch: &mut BatchBuilder<T>,
        site: &Site,
    ) -> Result<()> {
        let link = &vector.shared;
        if owner == link.me {
            let stamp =
                link.modes.check.then(|| link.tidy(|object, cx| self.stamp(owner, object.core(), cx))).flatten();
            link.wait_on(GATE, site, |object, cx| {
                let core = object.core();
                let done = cx.sound().and_then(|()| core.write(op, batch.bytes(), cx));
                let noted = done.and_then(|done| {
                    if let Some(stamp) = stamp.as_deref().filter(|_| done) {
                        let by = (owner, core.comes_after(self.window));
                        core.note_batch(by, Noted::Call(stamp), op, batch.bytes(), cx)?;
                    }
                    Ok(done)
                });
                noted.map(|done| done.then_some(())).transpose()
            })?;
            batch.clear();
            return Ok(());
        }
        let _call = link.call("ReleaseC alone");
        self.wait_for(vector, owner, site)?;
        let request = Request::Write { op, window: self.window };
        // This rank waits for the call only before the next batch and at the end of the scope.
        let call = link.on(site, |object, cx| {
            let core = object.core();
            let (epoch, stamp) = (core.comes_after(self.window), self.stamp(owner, core, cx));
            let asked = Asked { epoch, request, stamp };
            Ok(core.ask_stamped((owner, &self.reason, When::Ahead), asked, batch.take(), None, cx))
        })?;
        self.under_way[owner.index()] = Some(call);
        Ok(())
    }
}

kind!([T: Element, O] Alone<T, O>);

impl<T: Element, O> Behaviour for Alone<T, O> {
    type Element = T;
    const NAME: &'static str = check::ALONE;
    const WRITES: bool = true;
    const SENDS: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, _: bool) -> Result<()> {
        let flushed = self.writer(vector, site).flush();
        let mut owners = vector.shared.me.others(vector.shared.size);
        let ended = flushed.and_then(|()| owners.try_for_each(|owner| self.calls.wait_for(vector, owner, site)));
        let known = self.calls.end(vector, site);
        // After a failure some batches may still be under way.
        ended.and(known).inspect_err(|_| self.abandon(vector))
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        for call in self.calls.under_way.iter_mut().filter_map(Option::take) {
            vector.shared.let_go(move |_, cx| cx.give_up(call));
        }
    }
}

impl<T: Element> GVector<T> {
    /// Opens a `ReleaseC` for this rank alone (the paper's Figure 1): buffered writes, acknowledged when it ends.
    ///
    /// # Errors
    /// Errors of earlier collective scopes, for whose end the call waits; `Leaked` if a guard was forgotten.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut table = GVector::<u64>::new(world, 1000)?;
    ///     if world.is_root() {
    ///         let mut table = table.release_alone()?; // no other rank takes part
    ///         for i in (0..1000).step_by(10) {
    ///             table.put(i, i as u64)?;
    ///         }
    ///         table.finish()?; // now all owners have applied the writes
    ///     }
    ///     world.barrier()?;
    ///     assert_eq!(table.at(990)?, 990);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("buffered_writes", "MPI_Win_lock"))]
    #[track_caller]
    pub fn release_alone(&mut self) -> Result<ReleaseAlone<'_, T>> {
        self.open_alone(None, Window::WHOLE, Site::here())
    }

    /// As [`release_alone`](GVector::release_alone), with updates by operation `O` at the owners. The owners know the
    /// operations of [`ops`] on primitive numbers. They know another operation after all ranks have entered a
    /// [`release_c_with`](GVector::release_c_with) or an [`accumulate`](GVector::accumulate) of this vector with it.
    ///
    /// # Errors
    /// As [`release_alone`](GVector::release_alone), and [`Error::UnknownOp`].
    ///
    /// ```
    /// use aurora_core::ops::Min;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut best = GVector::<u64>::from_fn(world, 9, |_| u64::MAX)?;
    ///     let me = world.rank().index() as u64;
    ///     let mut mine = best.release_alone_with(Min)?;
    ///     mine.update(8, 30 - me)?; // by all ranks at once: no update is lost
    ///     mine.finish()?;
    ///     world.barrier()?;
    ///     assert_eq!(best.at(8)?, 28);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_alone_with<O: Op<T>>(&mut self, op: O) -> Result<ReleaseAlone<'_, T, O>> {
        ops::stateless(op);
        self.open_alone_with(Window::WHOLE, Site::here())
    }

    /// The caller has exclusive use of the window.
    pub(crate) fn open_alone_with<O: Op<T>>(&self, window: Window, site: Site) -> Result<ReleaseAlone<'_, T, O>> {
        let known = self.shared.tidy(|object, _| object.core().knows::<O>());
        if !known {
            return Err(Error::UnknownOp { op: short::<O>().into(), object: self.name(), site });
        }
        self.open_alone(Some(OpId::of::<O>()), window, site)
    }

    /// The caller has exclusive use of the window.
    pub(crate) fn open_alone<O>(&self, op: Option<OpId>, window: Window, site: Site) -> Result<ReleaseAlone<'_, T, O>> {
        self.await_usable(true, window, &site)?;
        let (reason, under_way) = (Reason::new("ReleaseC alone", Kind::Flush, &site), vec![None; self.shared.size]);
        let number = if self.shared.modes.check { self.shared.tidy(|object, _| object.core().next_alone()) } else { 0 };
        let alone = check::Alone { number, opened: site.clone().clipped() };
        let calls = Calls { reason, window, under_way, alone, wrote: vec![false; self.shared.size] };
        let state = Alone { buffers: Buffers::new(self), calls, op, operation: PhantomData };
        Ok(Scope::open(self, window, site, state))
    }
}
