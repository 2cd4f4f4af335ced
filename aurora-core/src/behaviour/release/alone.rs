//! `ReleaseC` of one rank alone (the paper's Figure 1): each owner acknowledges every batch.

use crate::behaviour::buffers::{Buffered, Buffers, Sender};
use crate::behaviour::{Behaviour, ReleaseAlone, Scope, sealed};
use crate::element::{Element, Op, OpId};
use crate::error::Result;
use crate::ids::CallId;
use crate::kernel::Reason;
use crate::kernel::asking::When;
use crate::object::Cx;
use crate::vector::GVector;
use crate::vector::batch::BatchBuilder;
use crate::vector::check::WriteKind;
use crate::vector::machine::{Vector, Work};
use crate::vector::message::{Asked, Request};
use crate::vector::waits::VectorWait;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Rank;
use std::any::type_name;
use std::marker::PhantomData;
use std::ops::Range;

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
    /// Checking mode: the owners that were told of writes that they do not have yet.
    announced: Vec<bool>,
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
    fn wait_for<T: Element>(&mut self, vector: &GVector<T>, owner: Rank, site: &Site) -> Result<()> {
        match self.under_way[owner.index()].take() {
            Some(call) => vector.answer(call, "a ReleaseC alone", site).map(drop),
            None => Ok(()),
        }
    }

    /// Checking mode: tells owners that they have all writes.
    fn all_flushed<T: Element>(&mut self, vector: &GVector<T>, site: &Site) -> Result<()> {
        let told = std::mem::take(&mut self.announced);
        let owners = (0..).map(Rank::new).zip(told).filter(|(_, announced)| *announced);
        owners.into_iter().try_for_each(|(owner, _)| {
            check(vector, owner, Request::Flushed { window: self.window }, site, |object, _| {
                object.flushed(vector.link.me, self.window);
                Ok(())
            })
        })
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
        let link = &vector.link;
        if owner == link.me {
            let asked = Asked { epoch: 0, request: Request::Write { op, window: self.window } };
            let work = Work::Call { id: CallId(0), asked };
            link.wait_on(VectorWait::Gate, site, |object, cx| {
                object.by_itself(&work, cx, |object, cx| {
                    let done = cx.sound().and_then(|()| object.write(op, batch.bytes(), cx));
                    done.map(|done| done.then_some(())).transpose()
                })
            })?;
            batch.clear();
            return Ok(());
        }
        let _call = link.call("ReleaseC alone");
        self.wait_for(vector, owner, site)?;
        let request = Request::Write { op, window: self.window };
        // No rank waits for it before there is another batch, or the scope ends.
        let call =
            link.on(site, |object, cx| Ok(object.ask((owner, &self.reason, When::Ahead), request, batch.take(), cx)))?;
        self.under_way[owner.index()] = Some(call);
        Ok(())
    }

    fn announce(
        &mut self,
        vector: &GVector<T>,
        owner: Rank,
        op: Option<OpId>,
        run: Range<usize>,
        line: &Site,
        site: &Site,
    ) -> Result<()> {
        self.announced.resize(vector.link.size, false);
        self.announced[owner.index()] = true;
        let first = vector.dist.range(owner).start;
        let run = run.start - first..run.end - first;
        let (kind, [line, opened]) = (WriteKind::of(op), [line, site].map(|site| site.clone().clipped()));
        let request = Request::Announce {
            start: run.start as u64,
            len: run.len() as u64,
            update: kind == WriteKind::Update,
            line: line.clone(),
            opened: opened.clone(),
            window: self.window,
        };
        let from = (vector.link.me, self.window);
        check(vector, owner, request, &line, |object, cx| {
            object.announced(&cx.frame.name, from, kind, run, [&line, &opened])
        })
    }
}

/// Checking mode: has an owner record something; by a request, or directly if this rank is the owner.
fn check<T: Element>(
    vector: &GVector<T>,
    owner: Rank,
    request: Request,
    site: &Site,
    own: impl FnOnce(&mut Vector, &mut Cx<'_>) -> Result<()>,
) -> Result<()> {
    let link = &vector.link;
    if owner == link.me {
        return link.on(site, own);
    }
    let reason = vector.reason("AURORA_CHECK", site);
    let call = link.on(site, |object, cx| Ok(object.ask((owner, &reason, When::Now), request, Vec::new(), cx)))?;
    vector.answer(call, "a note of AURORA_CHECK", site).map(drop)
}

impl<T, O> sealed::Sealed for Alone<T, O> {}

impl<T: Element, O> Behaviour for Alone<T, O> {
    type Element = T;
    const NAME: &'static str = "ReleaseC alone";
    const SENDS: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, _: bool) -> Result<()> {
        let flushed = self.writer(vector, site).flush();
        let mut owners = vector.link.me.others(vector.link.size);
        let ended = flushed.and_then(|()| owners.try_for_each(|owner| self.calls.wait_for(vector, owner, site)));
        let known = self.calls.all_flushed(vector, site);
        // After a failure some batches may still be under way.
        ended.and(known).inspect_err(|_| self.abandon(vector))
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        for call in self.calls.under_way.iter_mut().filter_map(Option::take) {
            vector.link.let_go(move |_, cx| cx.core.give_up(call));
        }
    }
}

impl<T: Element> GVector<T> {
    /// Opens a `ReleaseC` for this rank alone (the paper's Figure 1): buffered writes, acknowledged when it ends.
    ///
    /// # Errors
    /// Those of earlier collective scopes, for whose end it waits; `Leaked` if a guard was forgotten.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut table = GVector::<u64>::new(world, 1000)?;
    ///     if world.is_root() {
    ///         let mut table = table.release_alone()?; // the others need not know of it
    ///         for i in (0..1000).step_by(10) {
    ///             table.put(i, i as u64)?;
    ///         }
    ///         table.finish()?; // here all owners have it
    ///     }
    ///     world.barrier()?;
    ///     assert_eq!(table.at(990)?, 990);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_alone(&mut self) -> Result<ReleaseAlone<'_, T>> {
        self.open_alone(None, Window::WHOLE, Site::here())
    }

    /// As [`release_alone`](GVector::release_alone), with operation `O` at the owners. They must know it: `Add`,
    /// `Min`, `Max` and `Or` of primitive numbers, or an operation with which all ranks have entered a
    /// [`release_c_with`](GVector::release_c_with) or an [`accumulate`](GVector::accumulate) of this vector before.
    ///
    /// # Errors
    /// As [`release_alone`](GVector::release_alone), and [`Error::UnknownOp`].
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut best = GVector::<u64>::from_fn(world, 9, |_| u64::MAX)?;
    ///     let me = world.rank().index() as u64;
    ///     let mut mine = best.release_alone_with::<Min>()?;
    ///     mine.update(8, 30 - me)?; // of all ranks at once: none is lost
    ///     mine.finish()?;
    ///     world.barrier()?;
    ///     assert_eq!(best.at(8)?, 28);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_alone_with<O: Op<T>>(&mut self) -> Result<ReleaseAlone<'_, T, O>> {
        self.open_alone_with(Window::WHOLE, Site::here())
    }

    /// The caller has exclusive use of that part.
    pub(crate) fn open_alone_with<O: Op<T>>(&self, window: Window, site: Site) -> Result<ReleaseAlone<'_, T, O>> {
        let known = self.link.tidy_on(|object, _| object.ops.knows::<O>());
        if !known {
            return Err(Error::UnknownOp { op: type_name::<O>().into(), object: self.name(), site });
        }
        self.open_alone(Some(OpId::of::<O>()), window, site)
    }

    /// The caller has exclusive use of that part.
    pub(crate) fn open_alone<O>(&self, op: Option<OpId>, window: Window, site: Site) -> Result<ReleaseAlone<'_, T, O>> {
        self.link.wait_on(VectorWait::Settle, &site, |object, cx| object.poll_usable(true, window, cx))?;
        let (reason, under_way) = (self.reason("ReleaseC alone", &site), vec![None; self.link.size]);
        let calls = Calls { reason, window, under_way, announced: Vec::new() };
        let state = Alone { buffers: Buffers::new(self), calls, op, operation: PhantomData };
        Ok(Scope::open(self, window, site, state, true, false))
    }
}
