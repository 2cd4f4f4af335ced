//! `OwnerComputes` of a map: each rank uses the entries that it owns, in place and without messages.

use super::GMap;
use super::entries::{Entries, MapIter, MapIterMut};
use super::held::Held;
use super::key::{MapKey, MapValue};
use super::part::{Map, Own};
use crate::Result;
use crate::object::Guard;
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
    guard: Open<'m, K, V>,
    shown: Option<Arc<Entries<K, V>>>,
}

/// The entries that this rank owns, for reading and writing: [`GMap::owner_computes_mut`]. It derefs to
/// [`MapEntries`](crate::MapEntries).
#[must_use = "a scope ends when its guard is dropped: keep it, as in `let mut own = ...`"]
pub struct MapOwnerComputesMut<'m, K: MapKey, V: MapValue> {
    guard: Open<'m, K, V>,
    taken: Option<Entries<K, V>>,
}

/// The common state of both guards.
struct Open<'m, K: MapKey, V: MapValue> {
    map: &'m GMap<K, V>,
    /// `None` after its end.
    guard: Option<Guard<'m, Map<K, V>>>,
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
        let (shown, guard) = self.shared.lend(NAME, false, |own| own.entries.clone())?;
        Ok(MapOwnerComputes { guard: self.open_guard(guard), shown: Some(shown) })
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
        // No other guard is open: a forgotten one is an error.
        let take = |own: &mut Own<K, V>| own.entries.take().and_then(Arc::into_inner);
        let (taken, guard) = self.shared.lend(NAME, true, take)?;
        let mut scope = MapOwnerComputesMut { guard: self.open_guard(guard), taken: Some(taken) };
        // A type's serde code may panic here: then the scope ends and returns the entries.
        if let (Some(held), Some(taken)) = (&mut scope.guard.held, &scope.taken) {
            held.writes(taken);
        }
        Ok(scope)
    }

    fn open_guard<'m>(&'m self, guard: Guard<'m, Map<K, V>>) -> Open<'m, K, V> {
        let held = self.shared.tidy(|map, cx| Held::begin(map, guard.site(), cx));
        Open { map: self, guard: Some(guard), held }
    }
}

impl<K: MapKey, V: MapValue> Open<'_, K, V> {
    /// Ends the scope. `taken` is given back.
    fn close(&mut self, taken: Option<Entries<K, V>>) {
        let Some(guard) = self.guard.take() else {
            return;
        };
        let panicked = guard.is_broken_off();
        let mut held = self.held.take().filter(|_| !panicked);
        // A type's serde code may panic.
        let compared = catch_unwind(AssertUnwindSafe(|| {
            if let (Some(held), Some(taken)) = (&mut held, &taken) {
                held.compare(taken);
            }
        }));
        let panicked = panicked || compared.is_err();
        guard.close(panicked, move |map, cx| {
            if let Some(taken) = taken {
                map.part.entries = Some(Arc::new(taken));
            }
            if let Some(held) = held.filter(|_| !panicked) {
                held.end(map, cx);
            }
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

impl<K: MapKey, V: MapValue> fmt::Debug for Open<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.guard {
            Some(guard) => write!(f, "{NAME} of {:?}, opened at {}", self.map, guard.site()),
            None => write!(f, "{NAME} of {:?}", self.map),
        }
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
