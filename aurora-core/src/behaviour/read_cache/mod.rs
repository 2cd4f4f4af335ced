//! `ReadCache`: a copy of the whole vector on every rank, pushed by its owners (paper sections 2.2 and 3.3).

mod announce;
pub(crate) mod arrival;
mod blocks;
mod cache;
mod install;
mod load;
mod memory;
pub(crate) mod protocol;
mod stream;

pub use blocks::{Blocks, Streamed};

use self::protocol::Load;
use super::elements::{ShowsElements, shows_window};
use super::{Behaviour, ReadCache, Scope, kind};
use crate::behaviour::read_cache::load::Loaded;
use crate::ids::Epoch;
use crate::kernel::watch::Blocked;
use crate::memory::{Kept, Reading, Storage};
use crate::scope::{Opening, Rule, ScopeWait, Served};
use crate::vector::protocol::{Numbered, Protocol};
use crate::window::Window;
use crate::{Element, GVector, Kind, Result, Site};
use aurora_net::BarrierState;

/// The next step of a rank that enters a load.
enum Step {
    Again,
    /// Wait: an earlier load of this rank is not complete.
    After(Epoch),
    Enter,
}

/// The copy, or the shared memory that the guard shows, to which other ranks cannot write meanwhile.
pub struct Cached<T> {
    /// Exactly the window of the scope: another part may be lent for writing.
    part: Kept<T>,
    /// The global index of the first element.
    pub(crate) first: usize,
    reading: Option<Reading>,
}

impl<T: Element> Cached<T> {
    #[inline]
    pub(crate) fn shown(&self) -> &[T] {
        self.part.elements()
    }

    pub(crate) fn let_go(&mut self) {
        self.part = Kept::default();
        self.reading = None;
    }
}

kind!([T: Element] Cached<T>);

impl<T: Element> Behaviour for Cached<T> {
    type Element = T;
    const NAME: &'static str = "ReadCache";

    fn abandon(&mut self, _: &GVector<T>) {
        self.let_go();
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens a `ReadCache`: the whole vector, as it is when all ranks have entered.
    ///
    /// If all ranks are on one machine, the guard shows the memory in which their blocks lie, and nothing is copied.
    /// Otherwise every owner pushes its block once to each other machine, whose ranks share the received copy; if no
    /// memory is shared, the push goes to every rank. A block that has not changed since the last ReadCache is not
    /// sent again. The elements do not change while the guard lives, even if ranks write to the vector.
    ///
    /// # Errors
    /// `Mismatch` if ranks open different scopes; `Leaked` if a write guard was forgotten;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if a rank has no room for the copy;
    /// [`Error::CacheLimit`](crate::Error::CacheLimit) if the copy is too large; the error that ended the job.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut v = GVector::<f64>::from_fn(world, 100, |i| i as f64)?;
    ///     let before = v.read_cache()?;
    ///     assert_eq!(before[99], 99.0); // `before` shows the elements of all owners
    ///     let mean = before.iter().sum::<f64>() / before.len() as f64;
    ///     drop(before);
    ///     v.owner_computes_mut()?.local_mut().iter_mut().for_each(|x| *x -= mean);
    ///     let after = v.read_cache()?; // no barrier: it shows the writes of each rank before its entry
    ///     assert_eq!(after.iter().sum::<f64>(), 0.0);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("allgather", "replicated", "MPI_Allgather", "MPI_Allgatherv", "shmem_fcollect", "into_read_only"))]
    #[track_caller]
    pub fn read_cache(&self) -> Result<ReadCache<'_, T>> {
        self.open_cache(Window::WHOLE, Site::here())
    }

    pub(crate) fn open_cache(&self, window: Window, site: Site) -> Result<ReadCache<'_, T>> {
        let cached = self.load(Cached::<T>::NAME, window, &site)?;
        Ok(Scope::open(self, window, site, cached))
    }

    pub(crate) fn load(&self, name: &'static str, window: Window, site: &Site) -> Result<Cached<T>> {
        let _call = self.shared.in_bulk(self.shared.in_collective(name));
        let epoch = self.enter_load(name, window, site)?;
        let Loaded { part, reading } = self.shared.wait_on(Load::wait(epoch), site, |object, cx| {
            let (load, core) = object.with::<Load>();
            load.catch_up(core, cx);
            if let Err(fault) = cx.sound() {
                return Some(Err(fault));
            }
            let loaded = load.poll_loaded(core, epoch, site, cx)?;
            core.acquire(window, cx);
            Some(loaded)
        })?;
        Ok(Cached { part: part.into(), first: window.range(self.len()).start, reading })
    }

    /// Takes memory for a load, enters its collective scope, and announces it.
    pub(crate) fn enter_load(&self, name: &'static str, window: Window, site: &Site) -> Result<Epoch> {
        // Taken before the announcement: a rank with a complete copy knows that every rank has memory for one.
        let mut admitted = false;
        loop {
            let step = self.shared.wait_on(ScopeWait::Settle, site, |object, cx| {
                let (load, core) = object.with::<Load>();
                if let Err(error) = core.scopes_mut().poll_usable(false, window, cx)? {
                    return Some(Err(error));
                }
                if let Some(stream) = &load.stream {
                    return Some(Ok(Step::After(stream.epoch)));
                }
                if !std::mem::replace(&mut admitted, true)
                    && let Err(error) = load.admit_cache(core, window, site, cx)
                {
                    return Some(Err(error));
                }
                let more = load.take_cache(core, window, site, cx);
                Some(more.map(|more| if more { Step::Again } else { Step::Enter }))
            })?;
            match step {
                Step::Again => {}
                Step::After(epoch) => self.await_stream(epoch, site)?,
                Step::Enter => break,
            }
        }
        let (epoch, node_barrier) = self.shared.on(site, |object, cx| {
            cx.usable_in(false, window)?;
            let opening = Opening::new(name, Kind::Load, Rule::Announced, site).by(Load::NUMBER).of(window);
            let epoch = object.enter(opening, cx)?;
            let (load, core) = object.with::<Load>();
            Ok((epoch, load.node_barrier(core).map(|(sharing, round)| (sharing.clone(), round))))
        })?;
        if let Some((sharing, round)) = node_barrier {
            let mut state = sharing.arrive(round);
            if state == BarrierState::Waiting {
                let linger = || sharing.spin(round);
                let waits = Blocked::Object(self.shared.id(), Load::wait(epoch));
                state = self.shared.await_node_peers(waits, site, linger, |kernel| {
                    kernel.sound(self.shared.id())?;
                    Ok(sharing.poll(round))
                })?;
            }
            self.shared.on(site, |object, cx| {
                let (load, core) = object.with::<Load>();
                load.pass_node_barrier(core, epoch, state == BarrierState::Agreed, cx);
                Ok(())
            })?;
        }
        Ok(epoch)
    }

    pub(crate) fn await_stream(&self, epoch: Epoch, site: &Site) -> Result<()> {
        let what = Load::wait(epoch);
        self.shared.wait_on(what, site, |object, cx| {
            let (load, core) = object.with::<Load>();
            let loaded = load.poll_streamed(core, cx)?;
            core.acquire(Window::WHOLE, cx);
            Some(loaded)
        })
    }

    /// Refuses a copy that `AURORA_CACHE_LIMIT` forbids, before its memory is taken: all ranks then get the error.
    pub(crate) fn admit_copy(&self, purpose: &str, bytes: usize, site: &Site) -> Result<()> {
        self.shared.on(site, |_, cx| cx.admit_copy(purpose, (bytes, bytes), site))
    }

    /// Collective. Frees the memory of this vector's ReadCaches and HaloCaches, and private copies of the whole that
    /// an Accumulate or a ReadCache with ReleaseC made. Otherwise this memory is kept while the vector lives: the
    /// next scope uses it again, and blocks that have not changed are not sent again.
    ///
    /// # Errors
    /// As [`World::barrier`](crate::World::barrier).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::from_fn(world, 10, |i| 10 * i as u64)?;
    /// assert_eq!(v.read_cache()?[9], 90);
    /// v.release_cache()?; // memory for blocks of other machines is free again
    /// assert_eq!(v.read_cache()?[9], 90); // the next load takes it anew
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_cache(&mut self) -> Result<()> {
        let site = Site::here();
        let (streamed, refusal) = self.shared.tidy(|object, cx| match cx.usable(true) {
            Ok(()) => (object.with::<Load>().0.stream.as_ref().map(|stream| stream.epoch), None),
            Err(error) => (None, Some(error)),
        });
        // The guard was dropped before the load was complete. The barrier reports an error of the load.
        let refusal = refusal.or(streamed.and_then(|epoch| self.await_stream(epoch, &site).err()));
        let text = format!("the release of the cache of {}", self.name());
        // Differs from the key of a `fill` or a `gather_to` of the same vector.
        let key = self.shared.id().0 ^ 1 << 63;
        self.shared.synchronize("the release of a cache", &text, key, refusal, &site)?;
        // Every rank has completed its loads, and none begins another before it has left the barrier.
        self.shared.on(&site, |object, cx| {
            cx.usable(true)?;
            object.release_memory();
            Ok(())
        })?;
        self.private.take();
        let mut kept = self.shared_copy.take();
        if let Some(kept) = kept.as_mut().filter(|kept| kept.sharing.is_folded()) {
            kept.copy.give_back();
            kept.taken = false;
        }
        self.shared_copy.set(kept);
        Ok(())
    }
}

impl<T: Element> ShowsElements for Cached<T> {
    #[inline]
    fn elements<'a>(&'a self, _: &GVector<T>) -> (usize, &'a [T]) {
        (self.first, self.shown())
    }
}

shows_window!(ReadCache);
