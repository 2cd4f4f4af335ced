//! `ReleaseC` of a map: writes of all ranks are buffered per owner, combined, and leave in batches.

use super::buffer::{BATCH, NOWHERE, OWN_BATCH};
use super::entries::Pair;
use super::key::{Lookup, MapKey, MapValue, hash_of, owner_of};
use super::message::MapBatch;
use super::part::Own;
use super::work::another_key;
use super::{Buffer, GMap, Pending, code};
use crate::behaviour::PutOnly;
use crate::encoding::cannot_travel;
use crate::ops::{self, Op};
use crate::scope::{OpenScope, Opening, SendBatch, Writes};
use crate::{Result, Site};
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
    scope: OpenScope<'m, Own<K, V>, Unsent<K, V>>,
    operation: PhantomData<(*const (), O)>,
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
        self.open(Opening::writes(NAME))
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
        self.shared.on(&site, |map, cx| {
            let known = map.part.ops.add::<O>(O::apply);
            known.map(drop).map_err(|same| cx.same_number::<O>(same, &site))
        })?;
        self.open(Opening::writes(NAME).with_op::<O>())
    }

    fn open<O>(&self, opening: Opening) -> Result<MapReleaseC<'_, K, V, O>> {
        let (me, size, opened) = (self.shared.me, self.shared.size, opening.site.clone());
        let unsent = Unsent { buffer: Buffer::new(BUFFER.min(FIRST * size)), me, size, opened };
        Ok(MapReleaseC { map: self, scope: self.shared.open_scope(opening, unsent)?, operation: PhantomData })
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
        if self.scope.checks() {
            self.scope.wrote(owner_of(pair.hash, self.map.shared.size), &pair.key);
        }
        let put = self.scope.writes.buffer.put(pair);
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
            together.extend(next.inspect(|(hash, ..)| self.scope.writes.buffer.prefetch(*hash)));
            if together.is_empty() {
                return Ok(());
            }
            let mut guesses = [NOWHERE; TOGETHER];
            for ((hash, ..), guess) in together.iter().zip(&mut guesses) {
                *guess = self.scope.writes.buffer.guess(*hash);
            }
            for ((hash, ..), guess) in together.iter().zip(guesses) {
                self.scope.writes.buffer.prefetch_key(*hash, guess);
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
        if self.scope.checks() {
            self.scope.updated(owner_of(hash, self.map.shared.size), key);
        }
        let mut grows = 0;
        if !code::is_number::<V>() {
            grows = code::len(&operand).map_err(|cause| cannot_travel::<V>(&cause, self.scope.site()))?;
        }
        match self.scope.writes.buffer.combine((hash, key, guess), operand, (O::apply, O::combine)) {
            Some(value) => {
                let pair = Pair::new(key.to_owned(), value);
                match pair.hash == hash && key.is(&pair.key) {
                    true => self.add(pair),
                    false => Err(another_key::<K>(&Site::here())),
                }
            }
            None if grows == 0 => Ok(()),
            None => {
                self.scope.writes.buffer.grows(grows);
                self.keep_room()
            }
        }
    }

    /// An update of a key for which the buffer has no write.
    #[inline(never)]
    fn add(&mut self, pair: Pair<K, V>) -> Result<()> {
        let added = self.scope.writes.buffer.add(Pending { pair, is_put: false });
        added.map_err(|cause| cannot_travel::<(K, V)>(&cause, self.scope.site()))?;
        self.keep_room()
    }

    #[inline]
    fn keep_room(&mut self) -> Result<()> {
        if self.scope.writes.buffer.is_full() { self.make_room() } else { Ok(()) }
    }

    /// Makes room in the buffer: it grows, or its writes are sent.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) -> Result<()> {
        let map = self.map;
        let may_grow = |bytes: usize| {
            // Not under the lock: it may look at the free memory.
            let budget = || map.shared.tidy(|_, cx| cx.budget());
            bytes <= BUFFER && budget().admit(bytes, bytes / 2).is_ok()
        };
        let room = self.scope.writes.buffer.make_room(may_grow);
        if room.map_err(|cause| cannot_travel::<(K, V)>(&cause, self.scope.site()))? {
            return Ok(());
        }
        self.scope.flush()
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
    pub fn finish(self) -> Result<()> {
        self.scope.finish()
    }
}

/// The writes of a rank that are not sent yet.
struct Unsent<K, V> {
    buffer: Buffer<K, V>,
    me: Rank,
    size: usize,
    /// The line of the scope.
    opened: Site,
}

impl<K: MapKey, V: MapValue> Writes<Own<K, V>> for Unsent<K, V> {
    fn flush(&mut self, send: SendBatch<'_, Own<K, V>>) -> Result<()> {
        let me = self.me;
        let (mut batches, mut own) = (vec![Batch::default(); self.size], Vec::with_capacity(OWN_BATCH));
        for write in self.buffer.take() {
            let owner = owner_of(write.pair.hash, batches.len());
            if owner == me {
                if own.len() == OWN_BATCH {
                    let full = std::mem::replace(&mut own, Vec::with_capacity(OWN_BATCH));
                    send(me, MapBatch::own(full), Payload::Empty)?;
                }
                own.push(write);
                continue;
            }
            let batch = &mut batches[owner.index()];
            if batch.bytes.len() >= BATCH {
                std::mem::take(batch).send(owner, send)?;
            }
            batch.hashes = batch.hashes.wrapping_add(write.pair.hash);
            write.write(&mut batch.bytes).map_err(|cause| cannot_travel::<(K, V)>(cause, &self.opened))?;
        }
        for (owner, batch) in batches.into_iter().enumerate().filter(|(_, batch)| !batch.bytes.is_empty()) {
            batch.send(Rank::new(owner), send)?;
        }
        if own.is_empty() { Ok(()) } else { send(me, MapBatch::own(own), Payload::Empty) }
    }
}

/// Encoded writes for one owner.
#[derive(Clone, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The sum of their keys' hashes.
    hashes: u64,
}

impl Batch {
    fn send<K: MapKey, V: MapValue>(self, owner: Rank, send: SendBatch<'_, Own<K, V>>) -> Result<()> {
        let Batch { bytes, hashes } = self;
        send(owner, MapBatch { hashes, done: 0, own: None }, Payload::Bytes(bytes.into()))
    }
}

impl<K: MapKey, V: MapValue, O> std::fmt::Debug for MapReleaseC<'_, K, V, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.scope.fmt(f)
    }
}
