//! The shared map, and one-sided access to single keys.

use super::code::{self, Fault};
use super::key::{Lookup, MapKey, MapValue, hash_of, owner_of};
use super::message::Request;
use super::part::{Map, Own};
use crate::encoding::cannot_travel;
use crate::error::{A_CALL, ObjectName, Result};
use crate::kernel::Core;
use crate::kernel::message::malformed;
use crate::object::{Plan, Shared};
use crate::operation::{TypeKey, short};
use crate::ops::{self, Op, OpId};
use crate::scope::Scoped;
use crate::{Error, Site, World};
use aurora_net::Rank;
use std::marker::PhantomData;

/// A hash map that all ranks share. The hash of a key chooses the rank that owns the key's entry. The owner's daemon
/// serves accesses of other ranks.
///
/// As in a `HashMap`, reads take `&self` and writes `&mut self`. Each call is atomic, synchronous and one round trip
/// to the key's owner. A key is found by a borrowed form of it ([`Lookup`]), such as a `String` by a `str`. Three
/// scopes make loops fast: [`release_c`](GMap::release_c) buffers inserts and updates of all ranks,
/// [`owner_computes`](GMap::owner_computes) and [`owner_computes_mut`](GMap::owner_computes_mut) show each rank the
/// entries that it owns.
///
/// Accesses are ordered as accesses of a [`GVector`](crate::GVector). After a collective scope, the next access of the
/// map sees all writes of all ranks in the scope. An access that is not ordered after a write finds some value of the
/// key.
///
/// A map is neither `Send` nor `Sync`: it belongs to the thread of its rank. The entries that guards show are ordinary
/// data, which other threads may use inside a scope.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let mut capitals = GMap::<String, String>::new(world)?;
///     if world.is_root() {
///         capitals.insert("Austria".into(), "Vienna".into())?;
///     }
///     world.barrier()?;
///     assert_eq!(capitals.get("Austria")?.as_deref(), Some("Vienna"));
///     assert_eq!(capitals.global_len()?, 1);
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
///
/// # Types
/// Keys and values are of any types that serde can encode ([`MapKey`], [`MapValue`]). In batches, primitive numbers
/// travel as their bytes, other types as postcard encodes them. All ranks hash with the same fixed seed: keys that an
/// attacker chooses can be made to collide.
///
/// A panic in a key's `Hash` or `Eq`, in an operation, or in a type's serde code poisons the map on all ranks, also if
/// it happens on the rank that makes the call. [`gather_to`](GMap::gather_to) still ends on all ranks.
pub struct GMap<K: MapKey, V: MapValue> {
    pub(super) shared: Shared<Map<K, V>>,
    /// The map stays on the thread that runs the rank's program.
    types: PhantomData<*const (K, V)>,
}

impl<K: MapKey, V: MapValue> GMap<K, V> {
    /// Collective. Makes an empty map.
    ///
    /// # Errors
    /// `Mismatch` if ranks construct different objects; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let capitals = GMap::<String, String>::new(world)?;
    /// assert_eq!(capitals.get("Austria")?, None);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn new(world: &World) -> Result<Self> {
        let site = Site::here();
        let what = format!("GMap<{}, {}>", short::<K>(), short::<V>());
        let mut plan = Plan::at(what, &("GMap", TypeKey::of::<K>(), TypeKey::of::<V>()), site);
        let part = |core: &Core| Scoped::new(Own::new(), (core.me, core.size), core.modes.check);
        let shared = Shared::construct(world.link().of_next_object(), &mut plan, part)?;
        Ok(GMap { shared, types: PhantomData })
    }

    /// The rank that owns a key. The map need not contain the key. If `key` is a form that is hashed differently from
    /// the key ([`Lookup`]), the result may be another rank.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut codes = GMap::<String, u64>::new(world)?;
    /// if world.rank() == codes.owner("Vienna") {
    ///     codes.insert("Vienna".into(), 1010)?; // on one rank, its own entry
    /// }
    /// assert_eq!(codes.global_len()?, 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn owner(&self, key: &(impl Lookup<K> + ?Sized)) -> Rank {
        owner_of(hash_of(key), self.shared.size)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// `Leaked`, `Poisoned` or `Mismatch` of the map; [`Error::Value`] if serde cannot encode or decode, or if the key
    /// is given in a form that is hashed or encoded in another way ([`Lookup`]); the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut codes = GMap::<String, u64>::new(world)?;
    /// if world.is_root() {
    ///     codes.insert("Vienna".into(), 1010)?;
    /// }
    /// world.barrier()?;
    /// assert_eq!((codes.get("Vienna")?, codes.get("Graz")?), (Some(1010), None));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("rget", "find"))]
    #[track_caller]
    pub fn get(&self, key: &(impl Lookup<K> + ?Sized)) -> Result<Option<V>> {
        let site = Site::here();
        self.call(|| {
            let (owner, answer) = self.request(Request::Get { keys: 1 }, key, None, "get", &site)?;
            self.found(owner, &answer, &site)
        })
    }

    /// Returns true if the map contains a key. Errors as for [`get`](GMap::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut primes = GMap::<u64, ()>::new(world)?;
    /// if world.is_root() {
    ///     primes.insert(7, ())?;
    /// }
    /// world.barrier()?;
    /// assert_eq!((primes.contains(&7)?, primes.contains(&8)?), (true, false));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn contains(&self, key: &(impl Lookup<K> + ?Sized)) -> Result<bool> {
        let site = Site::here();
        self.call(|| {
            let (owner, answer) = self.request(Request::Contains { keys: 1 }, key, None, "contains", &site)?;
            code::read_flag(&mut &answer[..]).map_err(|_| malformed(owner))
        })
    }

    /// Inserts an entry, or replaces the value of its key. Returns the old value. Errors as for [`get`](GMap::get), and
    /// [`Error::OutOfMemory`] if the owner has no memory for the entry.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut codes = GMap::<String, u64>::new(world)?;
    /// if world.is_root() {
    ///     assert_eq!(codes.insert("Vienna".into(), 1010)?, None);
    ///     assert_eq!(codes.insert("Vienna".into(), 1020)?, Some(1010));
    /// }
    /// world.barrier()?;
    /// assert_eq!(codes.get("Vienna")?, Some(1020));
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("put", "set", "rput"))]
    #[track_caller]
    pub fn insert(&mut self, key: K, value: V) -> Result<Option<V>> {
        let site = Site::here();
        self.call(|| {
            let (owner, answer) = self.request(Request::Insert, &key, Some(&value), "insert", &site)?;
            self.found(owner, &answer, &site)
        })
    }

    /// Removes an entry. Returns its value. Errors as for [`get`](GMap::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut codes = GMap::<String, u64>::new(world)?;
    /// if world.is_root() {
    ///     codes.insert("Vienna".into(), 1010)?;
    ///     assert_eq!(codes.remove("Vienna")?, Some(1010));
    ///     assert_eq!(codes.remove("Vienna")?, None);
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn remove(&mut self, key: &(impl Lookup<K> + ?Sized)) -> Result<Option<V>> {
        let site = Site::here();
        self.call(|| {
            let (owner, answer) = self.request(Request::Remove, key, None, "remove", &site)?;
            self.found(owner, &answer, &site)
        })
    }

    /// Applies an operation to the value of a key at its owner, atomically. If the map does not contain the key, it is
    /// inserted with `operand` as its value. The owner knows the operations of [`ops`] on primitive numbers, and the
    /// operation of each [`release_c_with`](GMap::release_c_with) that all ranks have entered.
    ///
    /// # Errors
    /// As for [`insert`](GMap::insert); [`Error::UnknownOp`].
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut votes = GMap::<String, u64>::new(world)?;
    ///     votes.update("yes", Sum, 2)?;
    ///     world.barrier()?;
    ///     assert_eq!(votes.get("yes")?, Some(6));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("rpc", "fetch_update"))]
    #[track_caller]
    pub fn update<O: Op<V>>(&mut self, key: &(impl Lookup<K> + ?Sized), op: O, operand: V) -> Result<()> {
        ops::stateless(op);
        let site = Site::here();
        let request = Request::Update(OpId::of::<O>());
        match self.call(|| self.request(request, key, Some(&operand), "update", &site)) {
            Err(Error::UnknownOp { object, .. }) => Err(Error::UnknownOp { op: short::<O>().into(), object, site }),
            answer => answer.map(drop),
        }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.shared.name
    }

    /// A call in which code of the user's types runs, on this rank too: a panic of that code poisons the map.
    pub(super) fn call<R>(&self, call: impl FnOnce() -> R) -> R {
        self.shared.poisoned_by_panics((A_CALL, None), call)
    }

    /// A request about a key, and its new value. Returns the key's owner, and its answer.
    fn request(
        &self,
        request: Request,
        key: &(impl Lookup<K> + ?Sized),
        value: Option<&V>,
        action: &'static str,
        site: &Site,
    ) -> Result<(Rank, Vec<u8>)> {
        let (owner, mut payload) = self.seek(key, site)?;
        if let Some(value) = value {
            code::write(value, &mut payload).map_err(|cause| cannot_travel::<V>(&cause, site))?;
        }
        Ok((owner, self.shared.request_at(owner, action, request, payload, site)?))
    }

    /// The owner of a key, and the payload that names the key there.
    fn seek(&self, key: &(impl Lookup<K> + ?Sized), site: &Site) -> Result<(Rank, Vec<u8>)> {
        let (hash, mut payload) = (hash_of(key), Vec::new());
        code::write_sought::<K>(hash, key, &mut payload).map_err(|cause| cannot_travel::<K>(cause, site))?;
        Ok((owner_of(hash, self.shared.size), payload))
    }

    /// The value that an owner has found or not: its answer.
    fn found(&self, owner: Rank, answer: &[u8], site: &Site) -> Result<Option<V>> {
        let mut rest = answer;
        let found = self.read_found(&mut rest, owner, site)?;
        if rest.is_empty() { Ok(found) } else { Err(malformed(owner)) }
    }

    /// A value that an owner has found or not, from the front of its answer.
    pub(super) fn read_found(&self, answer: &mut &[u8], owner: Rank, site: &Site) -> Result<Option<V>> {
        let is_there = code::read_flag(answer).map_err(|_| malformed(owner))?;
        is_there.then(|| read::<V>(answer, owner, site)).transpose()
    }
}

/// Takes a key or value from the front of an answer of `owner`.
pub(super) fn read<T: MapValue>(answer: &mut &[u8], owner: Rank, site: &Site) -> Result<T> {
    code::read(answer).map_err(|fault| match fault {
        Fault::Type(cause) => cannot_travel::<T>(cause, site),
        Fault::Malformed => malformed(owner),
    })
}

impl<K: MapKey, V: MapValue> std::fmt::Debug for GMap<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shared.name.what)
    }
}
