//! `Paged`: pages of the vector are copied to a rank when it touches them, and all ranks see each other's writes after
//! a sync; see the README of `paged/`.

mod changed;
#[cfg(test)]
mod hostile;
mod map;
mod message;
pub(crate) mod protocol;
mod pushes;
mod show;
mod state;
#[cfg(test)]
mod tests;
mod view;

use self::map::PageMap;
use self::protocol::{Paging, flush_at_end};
use self::view::{View, differ};
use super::release::end::end_release;
use super::{Behaviour, Paged, PagedMut, Scope, kind};
use crate::collective::{In, Proposal};
use crate::kernel::Reason;
use crate::kernel::message::malformed;
use crate::memory::{Shown, fresh};
use crate::scope::{self, Entered, Opening, Rule, Served};
use crate::vector::protocol::Numbered;
use crate::window::Window;
use crate::{Element, Error, GVector, Kind, Result, Site};
use std::cell::RefCell;

const NAME: &str = "Paged";

/// The name of a view in errors about memory.
const A_VIEW: &str = "the view of a Paged scope";

/// A rank's view of the vector, for writing too if `WRITES`.
pub struct Pages<T: Element, const WRITES: bool> {
    view: RefCell<View>,
    shown: Shown<T>,
    scope: Entered,
    /// Syncs so far.
    syncs: u64,
    /// The error of a sync: the view shows nothing any more.
    failed: Option<Error>,
}

kind!([T: Element, const WRITES: bool] Pages<T, WRITES>);

impl<T: Element, const WRITES: bool> Behaviour for Pages<T, WRITES> {
    type Element = T;
    const NAME: &'static str = NAME;
    const SENDS: bool = true;

    fn close(&mut self, vector: &GVector<T>, site: &Site, checked: bool) -> Result<()> {
        self.shown = Shown::default();
        // The vector is faulty on all ranks, or the job has ended: no rank waits for this end.
        self.sound()?;
        let (scope, mut last) = (&mut self.scope, (0..vector.shared.size).map(|_| None).collect::<Vec<_>>());
        self.view.get_mut().take_changes(|changes| {
            vector.shared.on(site, |object, cx| flush_at_end(object, (scope, &mut last), changes, cx))
        })?;
        vector.shared.on(site, |object, cx| {
            end_release(object, scope, None, last, cx);
            Ok(())
        })?;
        if checked { vector.shared.await_end(scope, site) } else { Ok(()) }
    }

    fn abandon(&mut self, _: &GVector<T>) {
        self.shown = Shown::default();
    }
}

impl<T: Element, const WRITES: bool> Pages<T, WRITES> {
    fn sound(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}

impl<T: Element> Pages<T, true> {
    /// Records that this rank begins a sync, and sends its changes to the homes.
    fn flush(&mut self, vector: &GVector<T>, site: &Site) -> Result<()> {
        let opening = Opening::new(NAME, Kind::Page, Rule::EndedInSteps, site);
        let opening = opening.by(Paging::NUMBER).with(format!("sync {}", self.syncs));
        self.scope.opening = opening.clone();
        vector.shared.on(site, |object, cx| {
            let (paging, core) = object.with::<Paging>();
            paging.begin_sync(core, opening, cx)
        })?;
        let view = self.view.get_mut();
        view.take_changes(|changes| {
            vector.shared.on(site, |object, cx| {
                let (paging, core) = object.with::<Paging>();
                if let Some((work, payload)) = paging.flush(core, changes, cx)? {
                    scope::work(object, work, payload, cx);
                }
                Ok(())
            })
        })
    }

    fn sync(&mut self, vector: &GVector<T>, site: &Site) -> Result<()> {
        self.shown = Shown::default();
        self.syncs += 1;
        let number = self.syncs;
        match self.sound().and_then(|()| self.flush(vector, site)) {
            // All other ranks wait in the barrier of this sync, so this rank enters it, too.
            Ok(()) | Err(Error::Race { .. }) => {}
            Err(error) => return Err(error),
        }
        let text = format_args!("sync {number} of {}", vector.name());
        let action = In(&text);
        let key = [vector.shared.id().0, self.scope.epoch, number].into_iter().fold(0, crate::digest::add);
        vector.shared.meet_about(&[vector.shared.id()], Proposal::new("a sync", &action, key), site)?;
        let pushed = vector.shared.wait_on(Paging::wait(0), site, |object, cx| object.with::<Paging>().0.poll(cx))?;
        for (owner, changes) in pushed {
            self.view.get_mut().update(owner, changes.bytes()).ok_or_else(|| malformed(owner))?;
        }
        Ok(())
    }
}

impl<T: Element> PagedMut<'_, T> {
    /// Collective. Makes the writes of all ranks visible to all ranks: after `sync`, each rank reads the values that
    /// all ranks wrote before `sync`. Other ranks change shown elements only in this call, so no slice can be borrowed
    /// during it.
    ///
    /// If two ranks have written one element since the last sync, the value of one of them stays. Setting an element to
    /// the value that it had does not count as a write. Checking mode reports two ranks that have changed one element
    /// as a race.
    ///
    /// Each rank sends its changed elements to their owners, in one message for up to 64 changed pages of an owner.
    /// After one barrier, each owner sends the changes of its block to the ranks that hold the changed pages.
    ///
    /// # Errors
    /// As [`World::barrier`](crate::World::barrier); `Mismatch` if another rank ends its scope instead. A `Race`
    /// that is found before the barrier is returned after it, so that the other ranks do not wait for this rank; they
    /// may get the race in a later call. After an error the scope shows nothing: the next access returns that error.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut v = GVector::<u64>::new(world, 10)?;
    /// let mut pages = v.paged_mut()?;
    /// let me = world.rank().index();
    /// pages.put(me, 7)?;
    /// pages.sync()?;
    /// assert_eq!(pages.at(1 - me)?, 7); // written by the other rank
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias = "Tmk_barrier")]
    #[track_caller]
    pub fn sync(&mut self) -> Result<()> {
        let site = Site::here();
        let synced = self.state.sync(self.vector, &site);
        synced.inspect_err(|error| {
            self.state.view.get_mut().forget();
            self.state.failed = Some(error.clone());
        })
    }
}

impl<T: Element> GVector<T> {
    /// Collective. Opens a `Paged` scope for reading and writing (as in TreadMarks): each rank has a private view of
    /// the whole vector, into which pages of up to 4 KiB are copied when they are touched. Several ranks may write one
    /// page. [`sync`](PagedMut::sync) makes the writes of all ranks visible to all ranks. The end of the scope makes
    /// them visible to later accesses.
    ///
    /// Use it for loops that touch elements which are not known in advance: an access to a page that is already here
    /// needs no message. Entering is a barrier. All elements are shown: [`slice`](PagedMut::slice),
    /// [`at`](PagedMut::at), [`slice_mut`](PagedMut::slice_mut), [`put`](PagedMut::put). [`fetch`](PagedMut::fetch)
    /// requests many pages at once. For reading only, [`paged`](GVector::paged) is enough.
    ///
    /// # Errors
    /// Errors of earlier collective scopes, for whose end the call waits; `Mismatch` if ranks open different scopes;
    /// `Leaked` if a guard was forgotten; [`Error::CacheLimit`](crate::Error::CacheLimit) if the view would be larger
    /// than a copy may be; [`Error::OutOfMemory`](crate::Error::OutOfMemory); the error that ended the job.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let n = 1000;
    ///     let mut next = GVector::<u32>::from_fn(world, n, |i| (7 * i as u32 + 1) % n as u32)?;
    ///     let mut next = next.paged_mut()?; // the one line: without it each step is a round trip to the owner
    ///     let mut at = world.rank().index();
    ///     for _ in 0..10_000 {
    ///         at = next.at(at)? as usize; // the path is not known in advance
    ///     }
    ///     next.sync()?;
    ///     next.put(world.rank().index(), at as u32)?; // neighbours in one page
    ///     next.sync()?;
    ///     assert!(next.slice(0..world.size())?.iter().all(|at| *at < n as u32));
    ///     next.finish()
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("Tmk_malloc", "Tmk_distribute"))]
    #[track_caller]
    pub fn paged_mut(&mut self) -> Result<PagedMut<'_, T>> {
        self.open_pages(Site::here())
    }

    /// Collective. Opens a `Paged` scope for reading: as [`paged_mut`](GVector::paged_mut), for elements that no rank
    /// writes meanwhile. No rank changes the vector before all ranks have ended the scope, so each page is as it was
    /// when all ranks had entered. While the guard lives, this rank reads the vector only through the guard.
    ///
    /// # Errors
    /// As [`paged_mut`](GVector::paged_mut).
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let n = 1000;
    ///     let next = GVector::<u32>::from_fn(world, n, |i| (7 * i as u32 + 1) % n as u32)?;
    ///     let next = next.paged()?; // the one line: without it each step is a round trip to the owner
    ///     let mut at = world.rank().index();
    ///     for _ in 0..10_000 {
    ///         at = next.at(at)? as usize; // the path is not known in advance
    ///     }
    ///     assert!(at < n);
    ///     next.finish()
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias = "cache-remote")]
    #[track_caller]
    pub fn paged(&self) -> Result<Paged<'_, T>> {
        self.open_pages(Site::here())
    }

    /// If the scope writes, the caller has exclusive use of the vector.
    fn open_pages<const WRITES: bool>(&self, site: Site) -> Result<Scope<'_, Pages<T, WRITES>>> {
        self.await_usable(WRITES, Window::WHOLE, &site)?;
        self.admit_copy(A_VIEW, self.len() * size_of::<T>(), &site)?;
        let map = PageMap::new(&self.dist, size_of::<T>(), self.shared.size);
        let view = View::new(map, (size_of::<T>(), differ::<T>), fresh::<T>, self.shared.modes.check);
        let view = view.map_err(|shortage| self.short_of(shortage, A_VIEW, &site))?;
        let opening = match WRITES {
            true => Opening::new(NAME, Kind::Page, Rule::EndedInSteps, &site),
            false => Opening::new(NAME, Kind::Page, Rule::Ended, &site).with(" for reading"),
        };
        let opening = opening.by(Paging::NUMBER);
        let reason = Reason::new(NAME, Kind::Page, &site);
        let epoch = self.shared.on(&site, |object, cx| object.enter(opening.clone(), cx))?;
        let text = format_args!("the opening of a {NAME} scope of {}", self.name());
        self.shared.synchronize("the opening of a Paged scope", &text, self.shared.id().0, None, &site)?;
        let scope = Entered::new(epoch, opening, reason, self.shared.size);
        let state = Pages { view: RefCell::new(view), shown: Shown::default(), scope, syncs: 0, failed: None };
        Ok(Scope::open_together(self, Window::WHOLE, site, state))
    }
}
