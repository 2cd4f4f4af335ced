//! `OwnerComputes` of a map: each rank uses the entries that it owns, in place and without messages.

use super::GMap;
use super::check::Held;
use super::entries::{Entries, MapIter, MapIterMut};
use super::key::{MapKey, MapValue};
use crate::Site;
use crate::error::Result;
use crate::object;
use crate::scope::ScopeWait;
use crate::window::Window;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;

const NAME: &str = "OwnerComputes";

/// The entries that this rank owns, for reading: [`GMap::owner_computes`]. It derefs to
/// [`MapEntries`](crate::MapEntries).
#[must_use = "a scope ends when its guard is dropped: keep it, as in `let own = ...`"]
pub struct MapOwnerComputes<'m, K: MapKey, V: MapValue> {
    guard: Guard<'m, K, V>,
    shown: Option<Arc<Entries<K, V>>>,
}

/// The entries that this rank owns, for reading and writing: [`GMap::owner_computes_mut`]. It derefs to
/// [`MapEntries`](crate::MapEntries).
#[must_use = "a scope ends when its guard is dropped: keep it, as in `let mut own = ...`"]
pub struct MapOwnerComputesMut<'m, K: MapKey, V: MapValue> {
    guard: Guard<'m, K, V>,
    taken: Option<Entries<K, V>>,
}

/// The common state of both guards.
struct Guard<'m, K: MapKey, V: MapValue> {
    map: &'m GMap<K, V>,
    site: Site,
    registered: object::Guard,
    /// Checking mode: the entries that the program holds.
    held: Option<Held>,
}

impl<K: MapKey, V: MapValue> GMap<K, V> {
    /// Opens `OwnerComputes` for reading: the entries that this rank owns. Sends no message. While the guard lives,
    /// remote reads are served and remote writes to these entries wait.
    ///
    /// # Errors
    /// Errors of earlier collective scopes, for whose end the call waits; `Leaked` if a write guard was forgotten.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut squares = GMap::<u64, u64>::new(world)?;
    ///     let mut scope = squares.release_c()?;
    ///     let mut mine = (world.rank().index() as u64..100).step_by(world.size());
    ///     mine.try_for_each(|n| scope.insert(n, n * n))?;
    ///     scope.finish()?;
    ///     let sum = squares.owner_computes()?.iter().map(|(_, square)| square).sum::<u64>(); // the guard ends here
    ///     assert_eq!(world.all_reduce(Sum, sum)?, 328_350);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn owner_computes(&self) -> Result<MapOwnerComputes<'_, K, V>> {
        let site = Site::here();
        let shown = self.shared.wait_on(ScopeWait::Settle, &site, |part, cx| match part.poll_usable(false, cx)? {
            Ok(()) => part.own.clone().map(Ok),
            Err(error) => Some(Err(error)),
        })?;
        Ok(MapOwnerComputes { guard: self.open_guard(site, false), shown: Some(shown) })
    }

    /// Opens `OwnerComputes` for writing: the entries that this rank owns. Sends no message. While the guard lives,
    /// every remote access to these entries waits.
    ///
    /// # Errors
    /// As [`owner_computes`](GMap::owner_computes); `Leaked` if any guard was forgotten.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut stock = GMap::<u32, i64>::new(world)?;
    ///     let mut scope = stock.release_c()?;
    ///     let mut mine = (world.rank().index() as u32..100).step_by(world.size());
    ///     mine.try_for_each(|part| scope.insert(part, 10))?;
    ///     scope.finish()?;
    ///     let mut own = stock.owner_computes_mut()?;
    ///     own.retain(|part, _| part % 2 == 0);
    ///     own.iter_mut().for_each(|(_, pieces)| *pieces -= 1);
    ///     drop(own); // now accesses of other ranks to these entries are served
    ///     world.barrier()?;
    ///     assert_eq!(stock.get_many(&[7, 8])?, [None, Some(9)]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn owner_computes_mut(&mut self) -> Result<MapOwnerComputesMut<'_, K, V>> {
        let site = Site::here();
        let taken = self.shared.wait_on(ScopeWait::Settle, &site, |part, cx| match part.poll_usable(true, cx)? {
            Ok(()) => Some(Ok(part.own.take().and_then(Arc::into_inner))),
            Err(error) => Some(Err(error)),
        })?;
        // No other guard is open: a forgotten one is an error.
        let taken = taken.expect("one guard that writes at a time");
        let mut scope = MapOwnerComputesMut { guard: self.open_guard(site, true), taken: Some(taken) };
        // A type's serde code may panic here: then the scope ends and returns the entries.
        if let (Some(held), Some(taken)) = (&mut scope.guard.held, &scope.taken) {
            held.writes(taken);
        }
        Ok(scope)
    }

    fn open_guard(&self, site: Site, mutable: bool) -> Guard<'_, K, V> {
        let (registered, held) = self.shared.tidy(|part, cx| {
            (cx.open_guard((NAME, &site), (mutable, false), Window::WHOLE), Held::begin(part, &site, cx))
        });
        Guard { map: self, site, registered, held }
    }
}

impl<K: MapKey, V: MapValue> Guard<'_, K, V> {
    /// Ends the scope. `taken` is given back.
    fn close(&mut self, taken: Option<Entries<K, V>>) {
        let panicked = self.registered.is_broken_off();
        let mut held = self.held.take().filter(|_| !panicked);
        // A type's serde code may panic.
        let compared = catch_unwind(AssertUnwindSafe(|| {
            if let (Some(held), Some(taken)) = (&mut held, &taken) {
                held.compare(taken);
            }
        }));
        let (registered, panicked) = (self.registered, panicked || compared.is_err());
        self.map.shared.let_go(move |part, cx| {
            if let Some(taken) = taken {
                part.own = Some(Arc::new(taken));
            }
            if let Some(held) = held.filter(|_| !panicked) {
                held.end(part, cx);
            }
            cx.close_guard(registered, panicked);
            part.scopes.has_changed = true;
        });
        if let Err(panic) = compared
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

const OPEN: &str = "there until the guard is dropped";

impl<K: MapKey, V: MapValue> Deref for MapOwnerComputes<'_, K, V> {
    type Target = Entries<K, V>;

    #[inline]
    fn deref(&self) -> &Entries<K, V> {
        self.shown.as_ref().expect(OPEN)
    }
}

impl<K: MapKey, V: MapValue> Deref for MapOwnerComputesMut<'_, K, V> {
    type Target = Entries<K, V>;

    #[inline]
    fn deref(&self) -> &Entries<K, V> {
        self.taken.as_ref().expect(OPEN)
    }
}

impl<K: MapKey, V: MapValue> DerefMut for MapOwnerComputesMut<'_, K, V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Entries<K, V> {
        self.taken.as_mut().expect(OPEN)
    }
}

/// Loops over guards.
macro_rules! loops {
    ($($guard:ty: $iter:ident, $method:ident, $value:ty;)*) => {$(
        impl<'e, K: MapKey, V: MapValue> IntoIterator for $guard {
            type Item = (&'e K, $value);
            type IntoIter = $iter<'e, K, V>;

            fn into_iter(self) -> Self::IntoIter {
                self.$method()
            }
        }
    )*};
}

loops! {
    &'e MapOwnerComputes<'_, K, V>: MapIter, iter, &'e V;
    &'e MapOwnerComputesMut<'_, K, V>: MapIter, iter, &'e V;
    &'e mut MapOwnerComputesMut<'_, K, V>: MapIterMut, iter_mut, &'e mut V;
}

impl<K: MapKey, V: MapValue> Drop for MapOwnerComputes<'_, K, V> {
    fn drop(&mut self) {
        self.shown = None;
        self.guard.close(None);
    }
}

impl<K: MapKey, V: MapValue> Drop for MapOwnerComputesMut<'_, K, V> {
    fn drop(&mut self) {
        self.guard.close(self.taken.take());
    }
}

impl<K: MapKey, V: MapValue> fmt::Debug for Guard<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME} of {:?}, opened at {}", self.map, self.site)
    }
}

impl<K: MapKey, V: MapValue> fmt::Debug for MapOwnerComputes<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.guard.fmt(f)
    }
}

impl<K: MapKey, V: MapValue> fmt::Debug for MapOwnerComputesMut<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.guard.fmt(f)
    }
}
