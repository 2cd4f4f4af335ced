//! The way of a handle to its object, with all that a link to the kernel can do.

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

/// The way from a handle to its object.
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

/// Why there is an object.
const THERE: &str = "an object lives as long as its handle";

impl<O: SharedObject> Way<O> {
    /// Another way than this of the rank itself, for an object that it makes.
    pub(crate) fn of(link: &Link) -> Self {
        Way { link: link.again(), object: PhantomData }
    }

    /// Does something with the object whose way this is, at once, unless the job is over.
    pub(crate) fn on<R>(&self, site: &Site, action: impl FnOnce(&mut O, &mut Cx<'_>) -> Result<R>) -> Result<R> {
        let id = self.id();
        self.link.act(site, |kernel, out| kernel.with::<O, _>(id, out, action).expect(THERE))
    }

    /// The same with the object whose way this is.
    pub(crate) fn tidy_on<R>(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) -> R) -> R {
        let id = self.id();
        self.link.tidy(|kernel, out| kernel.with::<O, _>(id, out, action).expect(THERE))
    }

    /// The same for what goes out of scope, wherever that happens: inside of a call of this rank, as in an operation of
    /// the user's, it is done when that call is over, if the object is still there. Amid a panic no second one comes of
    /// it.
    pub(crate) fn let_go(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) + Send + 'static) {
        let id = self.id();
        self.link.let_go_of(move |kernel, out| {
            kernel.with::<O, _>(id, out, action);
        });
    }

    /// The same of the object whose way this is.
    pub(crate) fn wait_on<R>(
        &self,
        wait: impl Into<Wait>,
        site: &Site,
        condition: impl FnMut(&mut O, &mut Cx<'_>) -> Option<Result<R>>,
    ) -> Result<R> {
        self.wait_on_since(None, wait, site, condition)
    }

    /// The same, of who has waited since `began` already.
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

    /// Ends the scope of a guard that is dropped. Nobody is there to be told of an error: it is kept for the program,
    /// and all ranks hear of it.
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
