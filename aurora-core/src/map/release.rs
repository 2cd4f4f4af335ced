//! `ReleaseC` of a map: writes of all ranks are buffered per owner, combined, and leave in batches.

use super::buffer::{BATCH, NOWHERE, OWN_BATCH};
use super::check::Noted;
use super::entries::Pair;
use super::key::{Lookup, MapKey, MapValue, hash_of, owner_of};
use super::message::MapBatch;
use super::part::Part;
use super::work::{MapWork, another_key};
use super::{Buffer, GMap, Pending, code};
use crate::Site;
use crate::behaviour::PutOnly;
use crate::encoding::cannot_travel;
use crate::error::Result;
use crate::object::Guard;
use crate::ops::{self, Op};
use crate::scope::{self, Entered, Opening, Rule};
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::{Payload, Rank};
use std::borrow::ToOwned;
use std::marker::PhantomData;

const NAME: &str = "ReleaseC";

/// The maximum bytes of a rank's buffer.
const BUFFER: usize = 32 << 20;

/// The initial bytes of the buffer for each owner.
const FIRST: usize = 256 << 10;

/// The number of keys that are looked up at the same time.
const TOGETHER: usize = 32;

/// Buffered inserts and updates of all ranks: [`GMap::release_c`] and [`GMap::release_c_with`].
///
/// Dropping the guard sends the remaining writes; the next use of the map waits for the other ranks.
/// [`finish`](MapReleaseC::finish) is the checked end. A guard belongs to its thread, and must not be forgotten.
#[must_use = "a scope ends when its guard is dropped: keep it, as in `let mut scope = ...`"]
pub struct MapReleaseC<'m, K: MapKey, V: MapValue, O = PutOnly> {
    map: &'m GMap<K, V>,
    scope: Entered,
    buffer: Buffer<K, V>,
    /// Checking mode: notes of the writes.
    noted: Option<Noted>,
    /// `None` after the end of the scope.
    guard: Option<Guard>,
    operation: PhantomData<(*const (), O)>,
}

/// Encoded writes for one owner.
#[derive(Clone, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The sum of their keys' hashes.
    hashes: u64,
}

/// Writes that are not sent yet: by owners, less than a batch to each other owner, and all writes to this rank itself.
struct Last<K, V> {
    batches: Vec<Batch>,
    own: Vec<Pending<K, V>>,
}

impl<K: MapKey, V: MapValue> GMap<K, V> {
    /// Collective. Opens a `ReleaseC`: every rank may insert any entry. Inserts are buffered, and seen after the scope.
    /// Inserts of one rank are applied in their order. If two ranks insert one key, the value of one of them stays.
    ///
    /// Entering waits for no rank, unless this rank is eight scopes of the map ahead.
    ///
    /// # Errors
    /// `Leaked` if a guard was forgotten; `Mismatch` if another rank is known to have opened a different scope.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut squares = GMap::<usize, usize>::new(world)?;
    /// let mut scope = squares.release_c()?;
    /// for n in (world.rank().index()..100).step_by(world.size()) {
    ///     scope.insert(n, n * n)?;
    /// }
    /// scope.finish()?;
    /// assert_eq!(squares.get(&99)?, Some(9801)); // any rank's entry, without a barrier
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_c(&mut self) -> Result<MapReleaseC<'_, K, V>> {
        let site = Site::here();
        self.open(Opening::new(NAME, Kind::Flush, Rule::Ended, &site), site)
    }

    /// Collective. Opens a `ReleaseC` in which the value of a key can also be updated by operation `O`. Operands of
    /// one key are combined ([`Op::combine`]) before they are sent; the owner applies them ([`Op::apply`]). All ranks
    /// must use the same operation. A key that the map does not contain is inserted with the operand as its value.
    ///
    /// # Errors
    /// As [`release_c`](GMap::release_c).
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut counts = GMap::<String, u64>::new(world)?;
    ///     let mut scope = counts.release_c_with(Sum)?;
    ///     for word in "to be or not to be".split(' ') {
    ///         scope.update(word, 1)?; // on each rank
    ///     }
    ///     scope.finish()?;
    ///     assert_eq!(counts.get("be")?, Some(2 * 3));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("rpc_ff", "dist_object"))]
    #[track_caller]
    pub fn release_c_with<O: Op<V>>(&mut self, op: O) -> Result<MapReleaseC<'_, K, V, O>> {
        ops::stateless(op);
        let site = Site::here();
        self.shared.on(&site, |part, cx| {
            let known = part.ops.add::<O>(O::apply);
            known.map(drop).map_err(|same| cx.same_number::<O>(same, &site))
        })?;
        self.open(Opening::new(NAME, Kind::Flush, Rule::Ended, &site).with_op::<O>(), site)
    }

    fn open<O>(&self, opening: Opening, site: Site) -> Result<MapReleaseC<'_, K, V, O>> {
        let scope = self.shared.enter((NAME, opening), true, &site)?;
        let guard = self.shared.tidy(|_, cx| cx.open_guard((NAME, &site), (true, true), Window::WHOLE));
        let size = self.shared.size;
        let buffer = Buffer::new(BUFFER.min(FIRST * size));
        let noted = self.shared.modes.check.then(|| Noted::new(size));
        Ok(MapReleaseC { map: self, scope, buffer, noted, guard: Some(guard), operation: PhantomData })
    }
}

impl<K: MapKey, V: MapValue, O> MapReleaseC<'_, K, V, O> {
    /// Inserts an entry, or replaces the value of its key. The value is seen after the scope.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if serde cannot encode the entry; if a full buffer has to be sent, also
    /// the error that prevents that.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut codes = GMap::<String, u64>::new(world)?;
    /// let mut scope = codes.release_c()?;
    /// if world.is_root() {
    ///     scope.insert("Vienna".into(), 1010)?;
    ///     scope.insert("Vienna".into(), 1020)?; // of two inserts by one rank the last one stays
    /// }
    /// drop(scope);
    /// assert_eq!(codes.get("Vienna")?, Some(1020));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn insert(&mut self, key: K, value: V) -> Result<()> {
        let pair = Pair::new(key, value);
        if let Some(noted) = &mut self.noted {
            noted.note(self.map, pair.hash, (&pair.key, true), &Site::here());
        }
        let put = self.buffer.put(pair);
        put.map_err(|cause| cannot_travel::<(K, V)>(&cause, self.scope.site()))?;
        self.keep_room()
    }

    /// Applies the scope's operation to the value of a key at its owner, after this rank's earlier writes of the
    /// scope. The key is copied only if the buffer has no write for it.
    ///
    /// # Errors
    /// As [`insert`](MapReleaseC::insert); [`Error::Value`](crate::Error::Value) also if `to_owned` makes a key that is
    /// hashed in another way.
    ///
    /// ```
    /// use aurora_core::ops::Max;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut longest = GMap::<String, usize>::new(world)?;
    /// let mut scope = longest.release_c_with(Max)?;
    /// scope.update("hop", 5)?; // no `String` is needed
    /// scope.update("hop", 3 + 4 * world.rank().index())?;
    /// scope.finish()?;
    /// assert_eq!(longest.get("hop")?, Some(7)); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn update<Q>(&mut self, key: &Q, operand: V) -> Result<()>
    where
        Q: Lookup<K> + ToOwned<Owned = K> + ?Sized,
        O: Op<V>,
    {
        self.update_at((hash_of(key), key, NOWHERE), operand)
    }

    /// [`update`](MapReleaseC::update) of many keys, each with its operand, in this order. If no processor cache holds
    /// the buffer, it takes about half of the time of single updates, because it looks 32 keys up at the same time.
    ///
    /// # Errors
    /// As [`insert`](MapReleaseC::insert). After an error, or a panic of the iterator, up to 32 updates that the
    /// iterator has given are not made.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut counts = GMap::<String, u64>::new(world)?;
    ///     let mut scope = counts.release_c_with(Sum)?;
    ///     scope.update_all("to be or not to be".split(' ').map(|word| (word, 1)))?; // on each rank
    ///     scope.finish()?;
    ///     assert_eq!(counts.get("be")?, Some(2 * 3));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn update_all<'k, Q>(&mut self, updates: impl IntoIterator<Item = (&'k Q, V)>) -> Result<()>
    where
        Q: Lookup<K> + ToOwned<Owned = K> + ?Sized + 'k,
        O: Op<V>,
    {
        let mut updates = updates.into_iter().fuse();
        let mut together = Vec::with_capacity(TOGETHER);
        loop {
            let next = updates.by_ref().take(TOGETHER).map(|(key, operand)| (hash_of(key), key, operand));
            together.extend(next.inspect(|(hash, ..)| self.buffer.prefetch(*hash)));
            if together.is_empty() {
                return Ok(());
            }
            let mut guesses = [NOWHERE; TOGETHER];
            for ((hash, ..), guess) in together.iter().zip(&mut guesses) {
                *guess = self.buffer.guess(*hash);
            }
            for ((hash, ..), guess) in together.iter().zip(guesses) {
                self.buffer.prefetch_key(*hash, guess);
            }
            for ((hash, key, operand), guess) in together.drain(..).zip(guesses) {
                self.update_at((hash, key, guess), operand)?;
            }
        }
    }

    /// An update of a key with this hash. `guess`: the position in the buffer at which a write to the key may be.
    #[inline]
    #[track_caller]
    fn update_at<Q>(&mut self, (hash, key, guess): (u64, &Q, usize), operand: V) -> Result<()>
    where
        Q: Lookup<K> + ToOwned<Owned = K> + ?Sized,
        O: Op<V>,
    {
        if let Some(noted) = &mut self.noted {
            noted.note(self.map, hash, (key, false), &Site::here());
        }
        let mut grows = 0;
        if !code::is_number::<V>() {
            grows = code::len(&operand).map_err(|cause| cannot_travel::<V>(&cause, self.scope.site()))?;
        }
        match self.buffer.combine((hash, key, guess), operand, (O::apply, O::combine)) {
            Some(value) => {
                let pair = Pair::new(key.to_owned(), value);
                match pair.hash == hash && key.is(&pair.key) {
                    true => self.add(pair),
                    false => Err(another_key::<K>(&Site::here())),
                }
            }
            None if grows == 0 => Ok(()),
            None => {
                self.buffer.grows(grows);
                self.keep_room()
            }
        }
    }

    /// An update of a key for which the buffer has no write.
    #[inline(never)]
    fn add(&mut self, pair: Pair<K, V>) -> Result<()> {
        let added = self.buffer.add(Pending { pair, is_put: false });
        added.map_err(|cause| cannot_travel::<(K, V)>(&cause, self.scope.site()))?;
        self.keep_room()
    }

    #[inline]
    fn keep_room(&mut self) -> Result<()> {
        if self.buffer.is_full() { self.make_room() } else { Ok(()) }
    }

    /// Makes room in the buffer: it grows, or its writes are sent.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) -> Result<()> {
        let map = self.map;
        let may_grow = |bytes: usize| {
            let budget = || map.shared.tidy_kernel(|kernel, _| kernel.core.budget);
            bytes <= BUFFER && budget().admit(bytes, bytes / 2).is_ok()
        };
        let room = self.buffer.make_room(may_grow);
        if room.map_err(|cause| cannot_travel::<(K, V)>(&cause, self.scope.site()))? {
            return Ok(());
        }
        // Writes that have left the buffer and cannot be sent are lost. The program may go on, so the map must fail.
        let opened = self.scope.site().clone();
        let sent = map.shared.poisoned_by_panics((NAME, Some(&opened)), || self.send_all());
        sent.inspect_err(|error| map.shared.tidy(|_, cx| cx.fail(error.clone())))
    }

    fn send_all(&mut self) -> Result<()> {
        let Last { batches, own } = self.send(true)?;
        for (owner, batch) in batches.into_iter().enumerate().filter(|(_, batch)| !batch.bytes.is_empty()) {
            send(self.map, &mut self.scope, Rank::new(owner), batch, true)?;
        }
        self.send_own(own, true)
    }

    /// Sends the writes, each batch once there is room for it at the owner. `!wait`: at once, but not yet the writes to
    /// this rank itself. Returns the last batch to each owner.
    fn send(&mut self, wait: bool) -> Result<Last<K, V>> {
        let MapReleaseC { map, scope, buffer, noted, .. } = self;
        let (me, size) = (map.shared.me, map.shared.size);
        for (owner, notes) in noted.iter_mut().flat_map(Noted::take) {
            let site = scope.site().clone();
            match owner == me {
                true => map.shared.apply_own(scope, wait, (MapWork::Notes(scope.opening.op), &notes), &site),
                false => {
                    let notes = || Payload::Bytes(notes.into());
                    map.shared.send_batch(scope, (owner, wait), MapBatch::Notes, notes, &site)
                }
            }?;
        }
        let mut last = Last { batches: vec![Batch::default(); size], own: Vec::new() };
        for write in buffer.take() {
            let owner = owner_of(write.pair.hash, size);
            if owner == me {
                if wait && last.own.len() == OWN_BATCH {
                    apply_own(map, scope, std::mem::take(&mut last.own), wait)?;
                }
                last.own.push(write);
                continue;
            }
            let batch = &mut last.batches[owner.index()];
            if batch.bytes.len() >= BATCH {
                send(map, scope, owner, std::mem::take(batch), wait)?;
            }
            batch.hashes = batch.hashes.wrapping_add(write.pair.hash);
            write.write(&mut batch.bytes).map_err(|cause| cannot_travel::<(K, V)>(cause, scope.site()))?;
        }
        Ok(last)
    }

    fn send_own(&mut self, own: Vec<Pending<K, V>>, wait: bool) -> Result<()> {
        let mut writes = own.into_iter();
        while writes.len() > 0 {
            let batch = writes.by_ref().take(OWN_BATCH).collect();
            apply_own(self.map, &mut self.scope, batch, wait)?;
        }
        Ok(())
    }

    /// Ends the scope and reports errors: the checked form of dropping the guard. Returns when every rank has ended
    /// its scope and all writes to this rank's entries are applied.
    ///
    /// # Errors
    /// `Mismatch`, `Leaked` or `Poisoned` of the map; [`Error::OutOfMemory`](crate::Error::OutOfMemory) if an owner has
    /// no memory for its entries; [`Error::Value`](crate::Error::Value) if a buffered entry cannot be sent, or if its
    /// owner cannot read it, which ends the map on all ranks; the error that ended the job.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut counts = GMap::<u64, u64>::new(world)?;
    /// let mut scope = counts.release_c_with(Sum)?;
    /// scope.update(&5, 1)?; // on each of 2 ranks
    /// scope.finish()?; // all ranks have ended the scope, and all updates are applied
    /// assert_eq!(counts.get(&5)?, Some(2));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn finish(mut self) -> Result<()> {
        self.end(true)
    }

    fn end(&mut self, checked: bool) -> Result<()> {
        let (map, guard) = (self.map, self.guard.take());
        let close = |broken_off, (): &mut ()| if broken_off { Ok(()) } else { self.close(checked) };
        map.shared.end_guard(guard, close, |part, ()| part.scopes.has_changed = true)
    }

    fn close(&mut self, checked: bool) -> Result<()> {
        let map = self.map;
        let _call = map.shared.bulk_call(NAME);
        let ended = self.end_to_all().inspect_err(|error| {
            // Otherwise the other ranks would wait for this rank.
            map.shared.tidy(|_, cx| cx.fail(error.clone()));
        });
        ended?;
        if !checked {
            return Ok(());
        }
        map.shared.await_end(&self.scope, self.scope.site())
    }

    fn end_to_all(&mut self) -> Result<()> {
        if self.noted.is_some() {
            self.scope.time = self.map.shared.tidy(|_, cx| cx.release());
        }
        let Last { mut batches, own } = self.send(false)?;
        let (shared, scope) = (&self.map.shared, &self.scope);
        for owner in shared.me.others(shared.size) {
            let Batch { bytes, hashes } = std::mem::take(&mut batches[owner.index()]);
            let last = (!bytes.is_empty()).then(|| (MapBatch::Writes { hashes }, Payload::Bytes(bytes.into())));
            shared.on(scope.site(), |_, cx| {
                if last.is_some() || scope.sent[owner.index()] > 0 {
                    cx.sound()?;
                }
                scope::end_to::<Part<K, V>>(scope, owner, last, cx);
                Ok(())
            })?;
        }
        self.send_own(own, false)?;
        let (shared, scope) = (&self.map.shared, &self.scope);
        shared.on(scope.site(), |part, cx| {
            scope::end_here(part, scope, None, cx);
            Ok(())
        })
    }
}

/// Sends a batch to its owner, as soon as the owner may get another batch, or at once if not `wait`.
fn send<K: MapKey, V: MapValue>(
    map: &GMap<K, V>,
    scope: &mut Entered,
    owner: Rank,
    Batch { bytes, hashes }: Batch,
    wait: bool,
) -> Result<()> {
    let (batch, site) = (MapBatch::Writes { hashes }, scope.site().clone());
    map.shared.send_batch(scope, (owner, wait), batch, || Payload::Bytes(bytes.into()), &site)
}

/// Applies a batch to this rank's own entries, or parks it until that is possible.
fn apply_own<K: MapKey, V: MapValue>(
    map: &GMap<K, V>,
    scope: &mut Entered,
    batch: Vec<Pending<K, V>>,
    wait: bool,
) -> Result<()> {
    let (batch, site) = (MapWork::Own(scope.opening.op, batch.into_iter()), scope.site().clone());
    map.shared.apply_own(scope, wait, (batch, &[]), &site)
}

impl<K: MapKey, V: MapValue, O> Drop for MapReleaseC<'_, K, V, O> {
    fn drop(&mut self) {
        self.map.shared.end_dropped(|| self.end(false));
    }
}

impl<K: MapKey, V: MapValue, O> std::fmt::Debug for MapReleaseC<'_, K, V, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME} of {:?}, opened at {}", self.map, self.scope.site())
    }
}
