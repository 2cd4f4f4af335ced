//! The way of a handle to its object: a link to the kernel, and the object's type.

use super::{Cx, SharedObject, Wait};
use crate::Site;
use crate::error::Result;
use crate::ids::ObjectId;
use crate::kernel::Kernel;
use crate::kernel::watch::Blocked;
use crate::link::Link;
use aurora_net::Outbox;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Instant;

pub(crate) struct Way<O> {
    link: Link,
    object: PhantomData<fn(O)>,
}

impl<O> Deref for Way<O> {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

const THERE: &str = "an object lives as long as its handle";

impl<O: SharedObject> Way<O> {
    pub(crate) fn of(link: &Link) -> Self {
        Way { link: link.again(), object: PhantomData }
    }

    /// Acts on the object, at once, unless the job is over.
    pub(crate) fn on<R>(&self, site: &Site, action: impl FnOnce(&mut O, &mut Cx<'_>) -> Result<R>) -> Result<R> {
        let id = self.id();
        self.link.act(site, |kernel, out| kernel.with::<O, _>(id, out, action).expect(THERE))
    }

    /// Acts on the object even if the job is over.
    pub(crate) fn tidy_on<R>(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) -> R) -> R {
        let id = self.id();
        self.link.tidy(|kernel, out| kernel.with::<O, _>(id, out, action).expect(THERE))
    }

    /// The same for a guard or handle that goes out of scope. Inside a call of this rank, as in an operation of the
    /// user, it is done when that call is over, if the object still exists. During a panic it causes no second panic.
    pub(crate) fn let_go(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) + Send + 'static) {
        let id = self.id();
        self.link.let_go_of(move |kernel, out| {
            kernel.with::<O, _>(id, out, action);
        });
    }

    /// Waits until `condition` returns `Some` or the job is over.
    pub(crate) fn wait_on<R>(
        &self,
        wait: impl Into<Wait>,
        site: &Site,
        condition: impl FnMut(&mut O, &mut Cx<'_>) -> Option<Result<R>>,
    ) -> Result<R> {
        self.wait_on_since(None, wait, site, condition)
    }

    /// The same, for a wait that has lasted since `began`.
    pub(crate) fn wait_on_since<R>(
        &self,
        began: Option<Instant>,
        wait: impl Into<Wait>,
        site: &Site,
        mut condition: impl FnMut(&mut O, &mut Cx<'_>) -> Option<Result<R>>,
    ) -> Result<R> {
        let id = self.id();
        let on = |kernel: &mut Kernel, out: &mut Outbox| kernel.with::<O, _>(id, out, &mut condition).expect(THERE);
        self.link.wait_since(began, Blocked::Object(id, wait.into()), site, on)
    }

    /// Ends the scope of a guard that is dropped. Its error is kept for the end of `run`, and ends the object.
    pub(crate) fn end_dropped(&self, end: impl FnOnce() -> Result<()>) {
        if let Err(error) = self.link.quietly(end) {
            self.let_go(move |_, cx| {
                cx.defer(error.clone());
                cx.fail(error);
            });
        }
    }

    fn id(&self) -> ObjectId {
        self.link.object.get().expect("the way of an object")
    }
}
