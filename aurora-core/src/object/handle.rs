//! The program's handle of a shared object, and its construction.

use super::{Cx, Making, NodeWords, Plan, SharedObject, Wait};
use crate::collective::{In, Proposal};
use crate::ids::ObjectId;
use crate::kernel::{Core, Kernel};
use crate::link::Link;
use crate::once::Once;
use crate::{Element, Error, ObjectName, Result, Site, World, digest, memory};
use aurora_net::{Endpoint, Outbox, Rank};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;

/// A rank's handle of a shared object: [`World::share`] makes it. It belongs to the thread that runs the rank's
/// program. The object is freed when all ranks have dropped their handles, in any order.
pub struct Shared<O: SharedObject> {
    link: Link,
    pub(crate) name: ObjectName,
    object: PhantomData<fn(O)>,
}

/// Access to an object from its own threads: [`Shared::reach`].
pub struct Reach<O> {
    endpoint: Endpoint<Kernel>,
    id: ObjectId,
    object: PhantomData<fn(O)>,
}

impl<O> std::fmt::Debug for Reach<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reach").field("object", &self.id).finish_non_exhaustive()
    }
}

impl<O: SharedObject> Reach<O> {
    /// Acts on this rank's part of the object, as [`Shared::act`] does.
    ///
    /// # Errors
    /// The error of the action; the error that ended the job; [`Error::Ended`] if the object or the job is gone.
    #[track_caller]
    pub fn act<R>(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) -> Result<R>) -> Result<R> {
        let site = Site::here();
        self.endpoint.act(|kernel, out| self.act_in(kernel, out, action, site))
    }

    /// Does the same as [`act`](Self::act), but wakes the waiting thread of the program only after a
    /// [`Cx::progress`] or a fault.
    ///
    /// # Errors
    /// As [`act`](Self::act).
    #[track_caller]
    pub fn act_quietly<R>(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) -> Result<R>) -> Result<R> {
        let site = Site::here();
        self.endpoint.act_quietly(|kernel, out| {
            let acted = self.act_in(kernel, out, action, site);
            let wakes = kernel.core.fault.is_some() || kernel.core.watch.has_progress();
            (acted, wakes)
        })
    }

    fn act_in<R>(
        &self,
        kernel: &mut Kernel,
        out: &mut Outbox,
        action: impl FnOnce(&mut O, &mut Cx<'_>) -> Result<R>,
        site: Site,
    ) -> Result<R> {
        if let Some(fault) = kernel.core.fault.clone() {
            return Err(fault);
        }
        let done = if kernel.core.ended { None } else { kernel.with::<O, _>(self.id, out, action) };
        done.unwrap_or(Err(Error::Ended { site }))
    }
}

impl<O> Clone for Reach<O> {
    fn clone(&self) -> Self {
        Reach { endpoint: self.endpoint.clone(), id: self.id, object: PhantomData }
    }
}

impl World {
    /// Collective. Makes a shared object, in which each rank has a part, and returns once all ranks have agreed on it.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # use aurora_core::object::{Plan, SharedObject};
    /// struct Counter(u64);
    ///
    /// impl SharedObject for Counter {}
    /// # Config::threads(2).run(|world| {
    /// let counter = world.share(Plan::new("a counter", &()), |making| Ok(Counter(making.rank.index() as u64)))?;
    /// let mine = counter.act(|counter, _| {
    ///     counter.0 += 10;
    ///     Ok(counter.0)
    /// })?;
    /// assert_eq!(mine, [10, 11][world.rank().index()]); // each rank has its part
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Mismatch` if ranks construct objects of different types, names or arguments; on all ranks, the error that
    /// `make` returns on one of them; the error that ended the job.
    pub fn share<O: SharedObject>(
        &self,
        mut plan: Plan,
        make: impl FnOnce(&Making<'_>) -> Result<O>,
    ) -> Result<Shared<O>> {
        let link = self.link().of_next_object();
        plan.of_type::<O>();
        NodeWords::agree(&link, &plan)?;
        let made = NodeWords::make(&link, &plan).and_then(|words| make(&Making::new(&link, &plan, &words)));
        match made {
            Ok(object) => Shared::construct(link, &mut plan, |_| object),
            Err(error) => {
                plan.refuse(error.clone());
                plan.propose(&link)?;
                Err(error)
            }
        }
    }

    /// Collective. A [`barrier`](World::barrier) that carries words of these objects. Each object returns its word
    /// ([`SharedObject::arrive`]), the words are merged, and each object gets the merged word of all ranks
    /// ([`SharedObject::depart`]) before the call returns.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # use aurora_core::object::{Cx, Plan, SharedObject};
    /// /// Counts the ranks of a barrier.
    /// struct Census(u8);
    ///
    /// impl SharedObject for Census {
    ///     fn arrive(&mut self, _: &mut Cx<'_>) -> Vec<u8> {
    ///         vec![1]
    ///     }
    ///
    ///     fn merge(&self, all: &mut Vec<u8>, more: &[u8]) {
    ///         all[0] += more[0];
    ///     }
    ///
    ///     fn depart(&mut self, all: &[u8], _: &mut Cx<'_>) {
    ///         self.0 = all[0];
    ///     }
    /// }
    /// # Config::threads(2).run(|world| {
    /// let census = world.share(Plan::new("a census", &()), |_| Ok(Census(0)))?;
    /// world.sync(&[&census])?;
    /// assert_eq!(census.act(|census, _| Ok(census.0))?, 2); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`barrier`](World::barrier); `Mismatch` also if ranks name different objects.
    ///
    /// # Panics
    /// If the words of one rank together have more than 8 KiB.
    #[track_caller]
    pub fn sync(&self, named: &[&dyn Named]) -> Result<()> {
        let (site, action) = (Site::here(), In(&"a barrier that names objects"));
        let ids: Vec<_> = named.iter().map(|object| object.id().0).collect();
        let key = ids.iter().fold(1, |key, id| digest::add(key, id.0));
        self.link().meet_about(&ids, Proposal::new("a barrier", &action, key), &site)
    }
}

/// An object that a barrier can name: [`World::sync`].
pub trait Named {
    #[doc(hidden)]
    fn id(&self) -> NamedId;
}

/// The number of an object that a barrier can name.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedId(pub(crate) ObjectId);

impl<O: SharedObject> Named for Shared<O> {
    fn id(&self) -> NamedId {
        NamedId(self.link.id())
    }
}

#[doc(hidden)]
impl<O: SharedObject> Deref for Shared<O> {
    type Target = Link;

    fn deref(&self) -> &Link {
        &self.link
    }
}

impl<O: SharedObject> Shared<O> {
    /// Collective. Registers the object of this link and returns once all ranks have agreed on it. It is registered
    /// first: a message may arrive as soon as they have agreed.
    pub(crate) fn construct(link: Link, plan: &mut Plan, make: impl FnOnce(&Core) -> O) -> Result<Self> {
        let (id, name) = (link.id(), plan.name());
        link.tidy_kernel(|kernel, _| {
            let machine = make(&kernel.core);
            kernel.add(id, name.clone(), machine);
        });
        plan.propose(&link).inspect_err(|_| link.tidy_kernel(|kernel, _| kernel.remove(id)))?;
        Ok(Shared { link, name: ObjectName { made_at: plan.site.clone(), ..name }, object: PhantomData })
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.link.me
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns access to the object for its own threads, which may outlive it.
    pub fn reach(&self) -> Reach<O> {
        Reach { endpoint: self.link.endpoint.clone(), id: self.link.id(), object: PhantomData }
    }

    /// Acts on this rank's part of the object, at once; then the kernel calls [`advance`](SharedObject::advance). The
    /// action must not use shared objects: it runs inside a call.
    ///
    /// # Errors
    /// The error of the action; the error that ended the job.
    #[track_caller]
    pub fn act<R>(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) -> Result<R>) -> Result<R> {
        self.on(&Site::here(), action)
    }

    /// Acts on this rank's part of the object, even if the object has failed or the job has ended: for the `Drop` of a
    /// type that holds this handle. The action must not use shared objects.
    pub fn tidy<R>(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) -> R) -> R {
        let mut once = Once::new(action);
        self.link.tidy_on(&mut |object, cx| once.run(|action| action(object.of_kind(), cx)));
        once.expect()
    }

    /// Waits until `look` returns `Some`. `look` is called again after each change of the object. A call that returns
    /// `None` must have no effect. Meanwhile this thread drives the transport.
    ///
    /// # Errors
    /// The error of `look`; the error that ended the object or the job; `Deadlock` or a similar error, if the wait
    /// can never end ([`SharedObject::awaits`]).
    #[track_caller]
    pub fn wait<R>(&self, wait: Wait, mut look: impl FnMut(&mut O, &mut Cx<'_>) -> Option<Result<R>>) -> Result<R> {
        self.wait_on(wait, &Site::here(), |object, cx| match cx.sound() {
            Err(error) => Some(Err(error)),
            Ok(()) => look(object, cx),
        })
    }

    /// Returns memory for a copy of shared data on this rank: `len` zeros, if `AURORA_CACHE_LIMIT` and the free memory
    /// allow it. `purpose` names the copy in errors.
    ///
    /// # Errors
    /// [`Error::CacheLimit`] and [`Error::OutOfMemory`], which make the object faulty on all ranks; an earlier fault of
    /// the object; the error that ended the job.
    #[track_caller]
    pub fn zeros<T: Element>(&self, purpose: &str, len: usize) -> Result<Vec<T>> {
        let (site, bytes) = (Site::here(), len.saturating_mul(size_of::<T>()));
        self.on(&site, |_, cx| {
            cx.sound()?;
            cx.admit_copy(purpose, (bytes, bytes), &site)
        })?;
        memory::zeros(len).map_err(|shortage| self.tidy(|_, cx| cx.no_memory(shortage, purpose, &site)))
    }

    /// Collective. A [`barrier`](World::barrier) before a collective call of the object. `call` names the kind of call,
    /// such as `a launch`, and `words` describe it. `call`, `words` and `alike` must be equal on all ranks.
    ///
    /// # Errors
    /// `Mismatch`, with both lines, if a rank makes another call or if `alike` differs; on all ranks, the `refusal`
    /// that one of them gives; the errors of [`barrier`](World::barrier).
    #[track_caller]
    pub fn agree(&self, call: &'static str, words: &str, alike: &impl Hash, refusal: Option<Error>) -> Result<()> {
        let mut hasher = DefaultHasher::new();
        (words, alike).hash(&mut hasher);
        let key = digest::add(hasher.finish(), self.link.id().0);
        self.synchronize(call, &words, key, refusal, &Site::here())
    }
}

impl<O: SharedObject> Drop for Shared<O> {
    fn drop(&mut self) {
        let (id, panicking) = (self.link.id(), std::thread::panicking());
        self.let_go_of(move |kernel, out| kernel.drop_object(id, panicking, out));
    }
}

impl<O: SharedObject> fmt::Debug for Shared<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)
    }
}
