//! `ReleaseC`: writes are buffered per owner and leave in batches (paper sections 2.1 and 2.2).
//!
//! Together with all ranks ([`GVector::release_c`]) its end orders the writes of everyone; alone
//! ([`GVector::release_alone`], the paper's Figure 1) it is one rank's own, and acknowledged at its end.

use super::buffers::{Buffered, Buffers, Sender, flush};
use super::{Behaviour, ReleaseAlone, ReleaseC, Scope, sealed};
use crate::element::{Element, Op, OpId, apply_op};
use crate::error::Result;
use crate::global::{GVector, short};
use crate::message::{CallId, Collective, Epoch, Opening, Request};
use crate::service::Reason;
use crate::service::asking::Asking;
use crate::service::batch::BatchBuilder;
use crate::service::check::Deed;
use crate::service::entering::{ReleaseScope, SCOPES_AHEAD};
use crate::service::object::{Object, Work};
use crate::service::watch::What;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Rank;
use std::any::type_name;
use std::marker::PhantomData;
use std::ops::Range;

/// An operation's name travels in headers, whose length is limited.
const LONGEST_NAME: usize = 40;
/// Batches that one owner may have unapplied before a writer waits: what bounds memory on both sides.
const AHEAD: usize = 8;

/// No operation: a scope whose writes replace what was there.
#[derive(Clone, Copy, Debug)]
pub struct PutOnly;

impl<T: Element, O> Buffered for Together<T, O> {
    type Operation = O;

    #[inline]
    fn parts(&mut self) -> (&mut Buffers<T>, &mut dyn Sender<T>) {
        (&mut self.buffers, &mut self.sent)
    }

    #[inline]
    fn op(&self) -> Option<OpId> {
        self.op
    }
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

/// A collective ReleaseC: buffers, and batches sent to each owner.
pub struct Together<T, O> {
    buffers: Buffers<T>,
    sent: Batches,
    op: Option<OpId>,
    operation: PhantomData<O>,
}

/// A lone ReleaseC.
pub struct Alone<T, O> {
    buffers: Buffers<T>,
    calls: Calls,
    op: Option<OpId>,
    operation: PhantomData<O>,
}

/// Batches of a collective scope.
struct Batches {
    epoch: Epoch,
    opening: Opening,
    reason: Reason,
    sent: Vec<u64>,
}

/// Batches of a lone scope: one for each owner may be under way, so that they are applied in order.
struct Calls {
    reason: Reason,
    window: Window,
    under_way: Vec<Option<CallId>>,
    /// Checking mode: the owners that know of writes which they do not have.
    announced: Vec<bool>,
}

impl<T: Element, O> Together<T, O> {
    /// Changes our own block in place, which begins with the block's first element, if its time has come. Whether it has.
    pub(super) fn merge_own(
        &self,
        vector: &GVector<T>,
        site: &Site,
        merge: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<bool> {
        // Others' batches for us, which we are not woken for, at our own pace.
        vector.link.look();
        let scope = self.sent.scope(vector.id, 0);
        vector.link.act(site, |service, _| service.merge_own(&scope, |own| merge(bytemuck::cast_slice_mut(own))))
    }
}

impl Batches {
    fn scope(&self, vector: crate::message::ObjectId, sent: u64) -> ReleaseScope<'_> {
        ReleaseScope { object: vector, epoch: self.epoch, opening: &self.opening, reason: &self.reason, sent }
    }
}

impl<T: Element> Sender<T> for Batches {
    fn send(
        &mut self,
        vector: &GVector<T>,
        owner: Rank,
        op: Option<OpId>,
        batch: &mut BatchBuilder<T>,
        site: &Site,
    ) -> Result<()> {
        // Others' batches for us, which we are not woken for, at our own pace.
        vector.link.look();
        let scope = self.scope(vector.id, self.sent[owner.index()]);
        vector.link.wait(What::Room { object: vector.id, owner }, site, |service, out| {
            let object = service.objects.get(&vector.id)?;
            if let Some(fault) = &object.fault {
                return Some(Err(fault.clone()));
            }
            if object.outstanding[owner.index()] >= AHEAD {
                let behind = (self.opening.window, self.epoch - 1);
                service.objects.get_mut(&vector.id)?.behind = behind;
                if owner != service.me {
                    out.call(owner);
                }
                return None;
            }
            if owner == service.me {
                service.apply_own(&scope, op, batch.bytes(), out);
                batch.clear();
            } else {
                service.send_batch(&scope, owner, op, batch.take(), out);
            }
            Some(Ok(()))
        })?;
        self.sent[owner.index()] += 1;
        Ok(())
    }
}

impl Calls {
    fn wait_for<T: Element>(&mut self, vector: &GVector<T>, owner: Rank, site: &Site) -> Result<()> {
        match self.under_way[owner.index()].take() {
            Some(call) => vector.answer(call, "a ReleaseC alone", site).map(drop),
            None => Ok(()),
        }
    }

    /// Checking mode: all owners have all writes.
    fn all_flushed<T: Element>(&mut self, vector: &GVector<T>, site: &Site) -> Result<()> {
        let told = std::mem::take(&mut self.announced);
        let owners = (0..).map(Rank::new).zip(told).filter(|(_, announced)| *announced);
        owners.into_iter().try_for_each(|(owner, _)| {
            check(vector, owner, Request::Flushed { window: self.window }, site, |object| {
                object.flushed(vector.link.me, self.window);
                Ok(())
            })
        })
    }
}

/// Checking mode: has an owner note something, by a request or, if it is ours, at once.
fn check<T: Element>(
    vector: &GVector<T>,
    owner: Rank,
    request: Request,
    site: &Site,
    own: impl FnOnce(&mut Object) -> Result<()>,
) -> Result<()> {
    let link = &vector.link;
    if owner == link.me {
        return link.act(site, |service, _| service.objects.get_mut(&vector.id).map_or(Ok(()), own));
    }
    let reason = vector.reason("AURORA_CHECK", site);
    let asking = Asking { object: vector.id, to: owner, reason: &reason };
    let call = link.act(site, |service, out| Ok(service.ask(&asking, request, Vec::new(), out)))?;
    vector.answer(call, "a note of AURORA_CHECK", site).map(drop)
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
            let work = Work::Call { id: CallId(0), epoch: 0, request: Request::Write { op, window: self.window } };
            link.wait(What::Gate { object: vector.id }, site, |service, out| {
                service.by_itself(vector.id, &work, out, |object| match &object.fault {
                    Some(fault) => Some(Err(fault.clone())),
                    None => object.write(op, batch.bytes()).map(|done| done.then_some(())).transpose(),
                })?
            })?;
            batch.clear();
            return Ok(());
        }
        self.wait_for(vector, owner, site)?;
        let asking = Asking { object: vector.id, to: owner, reason: &self.reason };
        let request = Request::Write { op, window: self.window };
        let call = link.act(site, |service, out| Ok(service.ask(&asking, request, batch.take(), out)))?;
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
        let (deed, [line, opened]) = (Deed::of(op), [line, site].map(|site| site.clone().clipped()));
        let request = Request::Announce {
            start: run.start as u64,
            len: run.len() as u64,
            update: deed == Deed::Update,
            line: line.clone(),
            opened: opened.clone(),
            window: self.window,
        };
        let from = (vector.link.me, self.window);
        check(vector, owner, request, &line, |object| object.announced(from, deed, run, [&line, &opened]))
    }
}

impl<T, O> sealed::Sealed for Together<T, O> {}

impl<T, O> sealed::Sealed for Alone<T, O> {}

impl<T: Element, O> Behaviour for Together<T, O> {
    type Element = T;
    const NAME: &'static str = "ReleaseC";

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        let sent = &self.sent;
        let last = self.buffers.take_all();
        vector.link.act(site, |service, out| {
            let object = service.objects.get(&vector.id);
            if let Some(fault) = object.and_then(|object| object.fault.as_ref())
                && last.iter().any(Option::is_some)
            {
                return Err(fault.clone());
            }
            service.end_release(&sent.scope(vector.id, 0), &sent.sent, last, out);
            Ok(())
        })?;
        if !checked {
            return Ok(());
        }
        let (epoch, window) = (sent.epoch, sent.opening.window);
        vector.link.wait(What::Settle { object: vector.id }, site, |service, _| {
            let object = service.objects.get_mut(&vector.id)?;
            object.behind = (window, epoch);
            match &object.fault {
                Some(fault) => Some(Err(fault.clone())),
                None => object.ledger.is_settled(epoch).then_some(Ok(())),
            }
        })
    }

    fn abandon(&mut self, _: &GVector<T>) {}
}

impl<T: Element, O> Behaviour for Alone<T, O> {
    type Element = T;
    const NAME: &'static str = "ReleaseC alone";

    fn close(&mut self, vector: &GVector<T>, site: &Site, _: bool) -> Result<()> {
        let flushed = flush(&mut self.buffers, &mut self.calls, vector, site);
        let mut owners = vector.link.me.others(vector.link.size);
        let ended = flushed.and_then(|()| owners.try_for_each(|owner| self.calls.wait_for(vector, owner, site)));
        let known = self.calls.all_flushed(vector, site);
        // Of a scope that has failed some may be under way still.
        ended.and(known).inspect_err(|_| self.abandon(vector))
    }

    fn abandon(&mut self, vector: &GVector<T>) {
        for call in self.calls.under_way.iter_mut().filter_map(Option::take) {
            vector.link.tidy(|service, _| service.give_up(call));
        }
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens a `ReleaseC`: every rank writes where it likes, buffered; what is written is seen after the
    /// scope. Writes of one rank are applied in their order; of two ranks that write one element, one wins.
    ///
    /// Entering waits for nobody. `v[i] += x` does not exist here (the old value is not at hand): sums are for
    /// [`release_c_with`](GVector::release_c_with).
    ///
    /// # Errors
    /// `Leaked` where a guard was forgotten; `Mismatch` where other ranks are known to have opened another scope.
    #[track_caller]
    pub fn release_c(&mut self) -> Result<ReleaseC<'_, T>> {
        self.open_together(None, Window::WHOLE, Site::here())
    }

    /// Collective. Opens a `ReleaseC` in which elements can also be updated by operation `O` at their owners: the sum of
    /// all ranks' [`Add`](crate::Add)s is exact. The operation is part of what all ranks agree on.
    ///
    /// # Errors
    /// As [`release_c`](GVector::release_c).
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut histogram = GVector::<u64>::new(world, 4)?;
    ///     let mut counts = histogram.release_c_with::<Add>()?;
    ///     for key in 0..100 {
    ///         counts.update(key % 4, 1)?;
    ///     }
    ///     counts.finish()?;
    ///     assert_eq!(histogram.at(3)?, 75);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_c_with<O: Op<T>>(&mut self) -> Result<ReleaseC<'_, T, O>> {
        self.open_together_with(Window::WHOLE, Site::here())
    }

    /// The caller has that part to itself.
    pub(crate) fn open_together_with<O: Op<T>>(&self, window: Window, site: Site) -> Result<ReleaseC<'_, T, O>> {
        self.open_together(Some(self.know::<O>()), window, site)
    }

    /// Tells the service what an operation does.
    pub(super) fn know<O: Op<T>>(&self) -> OpId {
        let op = OpId::of::<O>();
        self.link.tidy(|service, _| {
            if let Some(object) = service.objects.get_mut(&self.id) {
                object.ops.insert(op, apply_op::<T, O>);
            }
        });
        op
    }

    /// The caller has that part to itself.
    pub(crate) fn open_together<O>(&self, op: Option<OpId>, window: Window, site: Site) -> Result<ReleaseC<'_, T, O>> {
        let state = self.enter_together(Collective::ReleaseC, op, window, &site)?;
        let scope = Scope::open_in(self, window, site, state, true, true);
        scope.vector.opened();
        Ok(scope)
    }

    /// Batches of ranks that opened a scope first may have waited for this one to be open.
    pub(super) fn opened(&self) {
        self.link.tidy(|service, out| service.advance(self.id, out));
    }

    /// Enters a collective scope whose writes are buffered. Once its guard is open: [`opened`](Self::opened).
    pub(super) fn enter_together<O>(
        &self,
        behaviour: Collective,
        op: Option<OpId>,
        window: Window,
        site: &Site,
    ) -> Result<Together<T, O>> {
        let mut opening = Opening::new(behaviour, site).of(window);
        if op.is_some() {
            opening.op = op;
            opening.op_name = short::<O>().chars().take(LONGEST_NAME).collect::<String>().into();
        }
        let epoch = self.link.wait(What::Settle { object: self.id }, site, |service, out| {
            match service.usable_in(self.id, true, window, out) {
                Err(error) => Some(Err(error)),
                Ok(object) if object.ledger.ahead() >= SCOPES_AHEAD => {
                    object.behind = (Window::WHOLE, object.ledger.epoch);
                    None
                }
                Ok(_) => Some(service.enter(self.id, opening.clone(), out)),
            }
        })?;
        let reason = self.reason(behaviour.action(), site);
        let sent = Batches { epoch, opening, reason, sent: vec![0; self.link.size] };
        Ok(Together { buffers: Buffers::new(self), sent, op, operation: PhantomData })
    }

    /// Opens a `ReleaseC` for this rank alone (the paper's Figure 1): buffered writes, acknowledged when it ends.
    ///
    /// # Errors
    /// As [`owner_computes_mut`](GVector::owner_computes_mut).
    #[track_caller]
    pub fn release_alone(&mut self) -> Result<ReleaseAlone<'_, T>> {
        self.open_alone(None, Window::WHOLE, Site::here())
    }

    /// As [`release_alone`](GVector::release_alone), with operation `O` at the owners, who must know it: `Add`, `Min`,
    /// `Max` and `Or` of primitive numbers, or one with which all ranks have entered a
    /// [`release_c_with`](GVector::release_c_with) before.
    ///
    /// # Errors
    /// As [`release_alone`](GVector::release_alone), and [`Error::UnknownOp`].
    #[track_caller]
    pub fn release_alone_with<O: Op<T>>(&mut self) -> Result<ReleaseAlone<'_, T, O>> {
        self.open_alone_with(Window::WHOLE, Site::here())
    }

    /// The caller has that part to itself.
    pub(crate) fn open_alone_with<O: Op<T>>(&self, window: Window, site: Site) -> Result<ReleaseAlone<'_, T, O>> {
        let known = self.link.tidy(|service, _| {
            service.objects.get(&self.id).is_some_and(|object| object.ops.contains_key(&OpId::of::<O>()))
        });
        if !known {
            return Err(Error::UnknownOp { op: type_name::<O>().into(), object: self.name(), site });
        }
        self.open_alone(Some(OpId::of::<O>()), window, site)
    }

    /// The caller has that part to itself.
    pub(crate) fn open_alone<O>(&self, op: Option<OpId>, window: Window, site: Site) -> Result<ReleaseAlone<'_, T, O>> {
        self.link.wait(What::Settle { object: self.id }, &site, |service, out| {
            service.settled_in(self.id, true, window, out).map(|object| object.map(drop))
        })?;
        let (reason, under_way) = (self.reason("ReleaseC alone", &site), vec![None; self.link.size]);
        let calls = Calls { reason, window, under_way, announced: Vec::new() };
        let state = Alone { buffers: Buffers::new(self), calls, op, operation: PhantomData };
        Ok(Scope::open_in(self, window, site, state, true, false))
    }
}
