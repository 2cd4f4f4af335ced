//! The shared scalar.

use super::plain;
use crate::encoding::{LEFT_OVER, ScalarValue, cannot_travel, decode, encode};
use crate::error::{A_CALL, Result};
use crate::kernel::message::malformed;
use crate::kernel::{Core, Reason};
use crate::memory::{InPlace, Word};
use crate::object::{Plan, Shared};
use crate::operation::{TypeKey, short};
use crate::ops::{Max, Min, OpId, Sum};
use crate::polls::Level;
use crate::scalar::machine::Unfit;
use crate::scalar::message::ScalarRequest;
use crate::scalar::{Scalar, Value, change_word, requested};
use crate::scope::ScopeWait;
use crate::window::Window;
use crate::{Error, Kind, Site, World, digest};
use aurora_net::Rank;
use std::marker::PhantomData;
use std::sync::Arc;

/// A number on which the home of a [`GScalar`] can compute.
pub trait Atomic: ScalarValue + bytemuck::Pod {}

/// A single value that all ranks share (paper section 2.1). It lives on one rank, its *home*, whose daemon serves it.
///
/// Every operation is atomic. [`fetch_add`](GScalar::fetch_add) makes a task counter, as in Global Arrays. On the home
/// and on ranks that share memory with it, an operation on a number of up to 8 bytes is one atomic operation in memory.
/// Any other operation is one round trip to the home; [`fetch_update`](GScalar::fetch_update) takes at least two.
///
/// Four behaviours change the access inside a scope. [`read_cache`](GScalar::read_cache) shows the value as it was on
/// entry. [`release_c`](GScalar::release_c) sets the value at the end of the scope. [`accumulate`](GScalar::accumulate)
/// merges contributions of all ranks (a reduction). [`read_mostly`](GScalar::read_mostly) keeps a copy on every rank,
/// which is read without a message while any rank may change the value (the bound of a search).
///
/// A panic of an operation, or of the type's `Deserialize`, poisons the scalar on all ranks.
///
/// Neither `Send` nor `Sync`: a scalar belongs to the thread of its rank. Other threads may use copies of its value.
///
/// ```
/// use aurora_core::prelude::*;
///
/// Config::threads(3).run(|world| {
///     let next_task = GScalar::new(world, 0, 0u64)?;
///     let mut mine = 0;
///     while next_task.fetch_add(1)? < 10 {
///         mine += 1;
///     }
///     world.barrier()?;
///     assert_eq!(next_task.get()?, 13);
///     Ok(mine)
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub struct GScalar<T: ScalarValue> {
    pub(crate) shared: Shared<Scalar>,
    home: Rank,
    /// The value in memory, on ranks that share it.
    in_place: Option<InPlace>,
    value: PhantomData<*const T>,
}

impl<T: ScalarValue> GScalar<T> {
    /// Collective. Makes a scalar whose home is rank `home`, with the value of that rank. Other values are ignored.
    ///
    /// # Errors
    /// `Mismatch` if ranks construct different objects; [`Error::NoSuchRank`]; [`Error::Value`] if encoding fails.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let answer = GScalar::new(world, 0, 42 + world.rank().index())?;
    /// assert_eq!(answer.get()?, 42); // the value that rank 0 gives
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn new(world: &World, home: impl Into<Rank>, value: T) -> Result<Self> {
        let (site, home) = (Site::here(), home.into());
        let what = format!("GScalar<{}> on {home}", short::<T>());
        let mut plan = Plan::at(what, &("GScalar", TypeKey::of::<T>(), home), site.clone());
        if home.index() >= world.size() {
            plan.refuse(Error::NoSuchRank { rank: home, size: world.size(), site: site.clone() });
        }
        let initial = (home == world.rank()).then(|| encode(&value, &site)).transpose();
        let initial = initial.unwrap_or_else(|error| {
            plan.refuse(error);
            None
        });
        let is_word = plain::fits_a_word::<T>();
        let value = initial.map(|initial| Value::new(initial, is_word));
        let unfit: Unfit = |site| cannot_travel::<T>(LEFT_OVER, site);
        let scalar = |core: &Core| Scalar::new(core, home, value, (plain::ops::<T>(), unfit));
        let shared = Shared::construct(world.link().of_next_object(), &mut plan, scalar)?;
        let in_place = if is_word { find_word(&shared, home) } else { None };
        Ok(GScalar { shared, home, in_place, value: PhantomData })
    }

    /// Returns the home: the rank on which the value lives.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let s = GScalar::new(world, 1, 0u64)?;
    /// assert_eq!(s.home(), 1);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn home(&self) -> Rank {
        self.home
    }

    /// Returns the value.
    ///
    /// # Errors
    /// The error that ended the job; [`Error::Value`] if serde cannot decode the value.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let name = GScalar::new(world, 0, String::from("Aurora"))?;
    /// assert_eq!(name.get()?, "Aurora"); // on every rank
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("load", "at"))]
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Result<T> {
        match self.in_place.as_ref().and_then(InPlace::to_read).and_then(|word| plain::from_word(word.get())) {
            Some(value) => Ok(value),
            None => self.get_by_home(&Site::here()),
        }
    }

    #[cold]
    fn get_by_home(&self, site: &Site) -> Result<T> {
        self.decoded(&self.ask(ScalarRequest::Load, Vec::new(), "get", site)?, site)
    }

    /// Sets the value. Errors as for [`get`](GScalar::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let step = GScalar::new(world, 0, 1u64)?;
    /// if world.rank() == 1 {
    ///     step.set(2)?; // `step` need not be `mut`: each operation is atomic
    /// }
    /// world.barrier()?;
    /// assert_eq!(step.get()?, 2);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("store", "put"))]
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<()> {
        self.replace(&value, "set").map(drop)
    }

    /// Sets the value and returns the old value. Errors as for [`get`](GScalar::get).
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let prize = GScalar::new(world, 0, 100u64)?;
    /// let won = prize.swap(0)?; // one rank gets 100, the others 0
    /// assert_eq!(world.all_reduce(Sum, won)?, 100);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn swap(&self, value: T) -> Result<T> {
        self.replace(&value, "swap")
    }

    #[inline]
    #[track_caller]
    fn replace(&self, value: &T, action: &'static str) -> Result<T> {
        let in_place = self.word().zip(plain::to_word(value));
        match in_place.and_then(|(word, value)| plain::from_word(word.change(|_| Some(value))?)) {
            Some(old) => Ok(old),
            None => self.replace_by_home(value, action, &Site::here()),
        }
    }

    #[cold]
    fn replace_by_home(&self, value: &T, action: &'static str, site: &Site) -> Result<T> {
        self.decoded(&self.ask(ScalarRequest::Swap, encode(value, site)?, action, site)?, site)
    }

    /// Sets the value to `new` if its encoding is that of `expected`. The inner result is `Ok(old)` if so, else
    /// `Err(current)`. The outer result has the errors of [`get`](GScalar::get).
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let taken = GScalar::new(world, 0, false)?;
    /// let first = taken.compare_exchange(&false, &true)?.is_ok();
    /// assert_eq!(world.all_reduce(Sum, u64::from(first))?, 1); // true on one rank
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("compare_and_swap", "MPI_Compare_and_swap"))]
    #[inline]
    #[track_caller]
    pub fn compare_exchange(&self, expected: &T, new: &T) -> Result<std::result::Result<T, T>> {
        if let Some(word) = self.word()
            && let Some((expected, new)) = plain::to_word(expected).zip(plain::to_word(new))
        {
            let old = word.exchange(expected, new);
            if let Some(value) = plain::from_word(old) {
                return Ok(if old == expected { Ok(value) } else { Err(value) });
            }
        }
        self.compare_exchange_by_home(expected, new, &Site::here())
    }

    #[cold]
    fn compare_exchange_by_home(&self, expected: &T, new: &T, site: &Site) -> Result<std::result::Result<T, T>> {
        let expected = encode(expected, site)?;
        let old = self.exchange(&expected, &encode(new, site)?, "compare_exchange", site)?;
        let value = self.decoded(&old, site)?;
        Ok(if old == expected { Ok(value) } else { Err(value) })
    }

    /// Replaces the value by `update(value)` and returns the old value. The closure runs on this rank, again each time
    /// another rank has changed the value meanwhile. Errors as for [`get`](GScalar::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let names = GScalar::new(world, 0, String::new())?;
    /// names.fetch_update(|names| names + "x")?; // on each of 2 ranks: none is lost
    /// world.barrier()?;
    /// assert_eq!(names.get()?, "xx");
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn fetch_update(&self, mut update: impl FnMut(T) -> T) -> Result<T> {
        let site = Site::here();
        let mut current = self.ask(ScalarRequest::Load, Vec::new(), "fetch_update", &site)?;
        loop {
            let new = update(self.decoded(&current, &site)?);
            let old = match self.word().zip(plain::word(&current)).zip(plain::to_word(&new)) {
                Some(((word, expected), new)) => word.exchange(expected, new).to_le_bytes()[..current.len()].to_vec(),
                None => self.exchange(&current, &encode(&new, &site)?, "fetch_update", &site)?,
            };
            if old == current {
                return self.decoded(&old, &site);
            }
            current = old;
        }
    }

    /// Decodes a value of this scalar.
    pub(crate) fn decoded(&self, bytes: &[u8], site: &Site) -> Result<T> {
        self.shared.poisoned_by_panics((A_CALL, None), || decode(bytes, site))
    }

    fn exchange(&self, expected: &[u8], new: &[u8], action: &'static str, site: &Site) -> Result<Vec<u8>> {
        let payload = [&(expected.len() as u32).to_le_bytes()[..], expected, new].concat();
        self.ask(ScalarRequest::CompareExchange, payload, action, site)
    }

    /// The value in memory, if this rank may change it without its kernel at this moment.
    #[inline]
    fn word(&self) -> Option<&Word> {
        self.in_place.as_ref()?.to_change()
    }

    /// The slow path of an operation: it cannot be done in memory, or looks are watched.
    fn ask(&self, request: ScalarRequest, payload: Vec<u8>, action: &'static str, site: &Site) -> Result<Vec<u8>> {
        let level = self.shared.watched();
        if level != Level::Nothing {
            return self.look(request, &payload, action, site);
        }
        match self.in_place.as_ref().filter(|in_place| in_place.wake(level)).and_then(InPlace::to_change) {
            Some(word) => self.change(word, request, &payload).ok_or_else(|| malformed(self.home)),
            None => self.request((request, None), payload, action, site),
        }
    }

    /// Does the same as `ask` while looks are watched. An operation that changes nothing is a look.
    fn look(&self, request: ScalarRequest, payload: &[u8], action: &'static str, site: &Site) -> Result<Vec<u8>> {
        self.in_place.as_ref().map(|in_place| in_place.wake(self.shared.watched()));
        let look = || match self.in_place.as_ref().and_then(InPlace::to_change_watched) {
            Some(word) => self.change(word, request, payload).ok_or_else(|| malformed(self.home)),
            None => self.request((request, None), payload.to_vec(), action, site),
        };
        let found = |old: &Vec<u8>| {
            let new = requested(request, payload, old, plain::find::<T>);
            (new.as_ref() == Some(old)).then(|| digest::of(old))
        };
        self.shared.look_at((self.shared.id(), action, site), || digest::of(payload), look, found)
    }

    fn change(&self, word: &Word, request: ScalarRequest, payload: &[u8]) -> Option<Vec<u8>> {
        let make = |current: &[u8]| requested(request, payload, current, plain::find::<T>);
        change_word(word, size_of::<T>(), make).map(|(old, _)| old)
    }

    /// Sends a request to the home, which serves it after the earlier scopes of this rank.
    pub(crate) fn request(
        &self,
        request: (ScalarRequest, Option<u64>),
        payload: Vec<u8>,
        action: &'static str,
        site: &Site,
    ) -> Result<Vec<u8>> {
        if self.home == self.shared.me {
            return self.shared.wait_on(ScopeWait::Settle, site, |object, cx| object.serve_own(request, &payload, cx));
        }
        let _call = self.shared.call(action);
        let reason = Reason::new(action, Kind::Scalar, site);
        let call = self.shared.on(site, |object, cx| {
            cx.usable_in(false, Window::WHOLE)?;
            Ok(object.ask(&reason, request, payload, cx))
        })?;
        self.shared.answer(call, (action, Kind::Scalar), site).and_then(|answer| match self.shared.modes.check {
            true => self.shared.tidy(|object, cx| object.learn_time(answer, cx)).ok_or_else(|| malformed(self.home)),
            false => Ok(answer),
        })
    }
}

impl<T: Atomic> GScalar<T> {
    /// Adds `operand`, wrapping for integers, and returns the old value. Errors as for [`get`](GScalar::get).
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let next_task = GScalar::new(world, 0, 0u64)?;
    /// let mine = next_task.fetch_add(1)?; // another task on each rank
    /// assert_eq!(world.all_reduce(Sum, mine)?, 0 + 1); // of 2 ranks
    /// assert_eq!(next_task.get()?, 2);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[doc(alias("fetch_and_add", "MPI_Fetch_and_op", "NGA_Read_inc", "shmem_atomic_fetch_add"))]
    #[inline]
    #[track_caller]
    pub fn fetch_add(&self, operand: T) -> Result<T> {
        self.fetch::<Sum>(operand, "fetch_add")
    }

    /// Sets the value to the minimum of it and `operand`; returns the old value. Errors as for [`get`](GScalar::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let least = GScalar::new(world, 0, 10i64)?;
    /// least.fetch_min(7 - world.rank().index() as i64)?;
    /// world.barrier()?;
    /// assert_eq!(least.get()?, 6); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn fetch_min(&self, operand: T) -> Result<T> {
        self.fetch::<Min>(operand, "fetch_min")
    }

    /// Sets the value to the maximum of it and `operand`; returns the old value. Errors as for [`get`](GScalar::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let most = GScalar::new(world, 0, 0u64)?;
    /// most.fetch_max(7 + world.rank().index() as u64)?;
    /// world.barrier()?;
    /// assert_eq!(most.get()?, 8); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn fetch_max(&self, operand: T) -> Result<T> {
        self.fetch::<Max>(operand, "fetch_max")
    }

    #[inline]
    #[track_caller]
    fn fetch<O: 'static>(&self, operand: T, action: &'static str) -> Result<T> {
        if let Some(word) = self.word()
            && let Some((apply, operand)) = plain::on_words::<T, O>().zip(plain::to_word(&operand))
            && let Some(old) = word.change(|current| Some(apply(current, operand))).and_then(plain::from_word)
        {
            return Ok(old);
        }
        self.fetch_by_home(OpId::of::<O>(), operand, action, &Site::here())
    }

    #[cold]
    fn fetch_by_home(&self, op: OpId, operand: T, action: &'static str, site: &Site) -> Result<T> {
        self.decoded(&self.ask(ScalarRequest::Fetch(op), encode(&operand, site)?, action, site)?, site)
    }
}

/// Collective over the ranks of the home's node. Finds the shared word of a scalar that is one; all ranks have agreed
/// on the scalar before. A rank that has no memory for the word asks the home by messages.
fn find_word(shared: &Shared<Scalar>, home: Rank) -> Option<InPlace> {
    let node = shared.node().filter(|_| shared.nodes.same_node(home, shared.me));
    let segment = node.and_then(|node| node.share(shared.id().0, Word::LEN).ok());
    shared.tidy(|object, cx| {
        let permit = object.permit.clone();
        if home != cx.me() {
            return segment.map(|segment| InPlace::new(permit, Arc::new(Word::shared(segment))));
        }
        let value = object.value.as_mut()?;
        if let Some(segment) = segment {
            value.move_to(Word::shared(segment));
        }
        value.word().map(|word| InPlace::new(permit, word.clone()))
    })
}

impl<T: ScalarValue> std::fmt::Debug for GScalar<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shared.fmt(f)
    }
}
