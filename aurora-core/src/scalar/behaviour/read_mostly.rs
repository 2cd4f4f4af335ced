//! `ReadMostly`: a replica on every rank that follows the value, read without a message; writes go through the home.

use super::{ReadMostly, ScalarBehaviour, ScalarScope, encoded, sealed};
use crate::encoding::{self, ScalarValue, decode, encode};
use crate::kernel::message::malformed;
use crate::ops::{self, Max, Min, Op, OpId, Sum};
use crate::polls::Level;
use crate::scalar::machine::ScalarWait;
use crate::scalar::message::ScalarRequest;
use crate::scalar::protocol::{Protocol, READ_MOSTLY};
use crate::scalar::{Atomic, GScalar, NumberedReply, Offered, Replica, plain};
use crate::scope::{Entered, Opening};
use crate::{Error, Result, Site, digest};
use std::marker::PhantomData;
use std::sync::Arc;

/// Holds the replica.
pub struct Mostly<T, O> {
    replica: Arc<Replica>,
    of: PhantomData<(*const T, O)>,
}

impl<T, O> sealed::Sealed for Mostly<T, O> {}

impl<T: ScalarValue, O> ScalarBehaviour for Mostly<T, O> {
    type Value = T;
    const NAME: &'static str = READ_MOSTLY;
}

impl<T: ScalarValue> GScalar<T> {
    /// Collective, also at its end. Opens a `ReadMostly`: every rank has a replica, which it [reads](ReadMostly::get)
    /// without a message. A value that any rank sets goes to the home, which numbers the values and sends them to every
    /// rank at once, so that all ranks see a value within one round trip. No rank ever sees an older value after a
    /// newer value.
    ///
    /// Entering waits for all ranks, as for a ReadCache. Operations on the scalar itself stay allowed, and ask the
    /// home. Another collective scope of the scalar may be opened only after this scope has ended.
    ///
    /// Entry and end cost one message from each rank to the home and one back. A change costs one message from the
    /// home to each rank. A rank that is slower than the changes gets only the newest value.
    ///
    /// # Errors
    /// As [`read_cache`](GScalar::read_cache).
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let stop = GScalar::new(world, 0, false)?;
    ///     let stop = stop.read_mostly()?;
    ///     if world.rank() == 2 {
    ///         stop.set(true)?;
    ///     }
    ///     while !stop.get()? {
    ///         // Something useful.
    ///         std::thread::yield_now();
    ///     }
    ///     stop.finish()
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_mostly(&self) -> Result<ReadMostly<'_, T>> {
        let site = Site::here();
        self.open_mostly(None, Protocol::ReadMostly.opening(&site), site)
    }

    /// Collective, also at its end. Opens a [`ReadMostly`](GScalar::read_mostly) with an associative and commutative
    /// operation. Operands can be [offered](ReadMostly::offer) without waiting; this rank sees its own offers at once.
    /// For the bound of a search, [`Min`] or [`Max`].
    ///
    /// # Errors
    /// As [`read_mostly`](GScalar::read_mostly); `Mismatch` also for another operation.
    ///
    /// ```
    /// use aurora_core::ops::Min;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let bound = GScalar::new(world, 0, u64::MAX)?;
    ///     let search = bound.read_mostly_with(Min)?;
    ///     for candidate in (0..1000).map(|i| 700 + i * 37 % 1000 + u64::from(world.is_root())) {
    ///         if candidate < search.get()? {
    ///             search.offer(candidate)?;
    ///         }
    ///     }
    ///     drop(search);
    ///     assert_eq!(bound.get()?, 700);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_mostly_with<O: Op<T>>(&self, op: O) -> Result<ReadMostly<'_, T, O>> {
        ops::stateless(op);
        let (site, [apply, combine]) = (Site::here(), encoded::<T, O>());
        let offered = Offered { op: OpId::of::<O>(), apply, combine };
        self.shared.on(&site, |object, cx| object.know_scalar_op::<O>(apply, &site, cx))?;
        self.open_mostly(Some(offered), Protocol::ReadMostly.opening(&site).with_op::<O>(), site)
    }

    fn open_mostly<O>(&self, offered: Option<Offered>, opening: Opening, site: Site) -> Result<ReadMostly<'_, T, O>> {
        let entered = self.shared.enter((READ_MOSTLY, opening), false, &site)?;
        let replica = self.shared.on(&site, |object, cx| {
            let replica = object.replicate(entered.epoch, offered);
            object.come_to_scalar(&entered, cx);
            Ok(replica)
        })?;
        let epoch = entered.epoch;
        let shown = self.shared.wait_on(ScalarWait::Load(epoch), &site, |object, cx| object.is_replicated(cx));
        shown.inspect_err(|_| self.shared.tidy(|object, _| object.abandon_scalar()))?;
        Ok(ScalarScope::open(self, site, entered, Mostly { replica, of: PhantomData }, false))
    }
}

impl<T: ScalarValue, O> ReadMostly<'_, T, O> {
    /// Returns the value of this rank's replica, without a message. For a number of up to 8 bytes it is one atomic
    /// load.
    ///
    /// # Errors
    /// `Poisoned`, or another fault of the scalar; [`Error::Value`] if serde cannot decode the value.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let bound = GScalar::new(world, 0, 9u64)?;
    /// let search = bound.read_mostly()?;
    /// assert_eq!(search.get()?, 9); // no message, however often
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Result<T> {
        let shown = if plain::fits_a_word::<T>() {
            self.state.replica.word().and_then(|word| encoding::plain::decode(&word[..size_of::<T>()]))
        } else {
            None
        };
        match shown {
            Some(value) => Ok(value),
            None => self.look(&Site::here()),
        }
    }

    /// The slow path of `get`: the value is no word, or looks are watched.
    fn look(&self, site: &Site) -> Result<T> {
        let (scalar, replica) = (self.scalar, &self.state.replica);
        if scalar.shared.watched() != Level::All {
            replica.wake();
            // Poisoned once the replica is unlocked: the daemon may hold the kernel and wait for the replica.
            let shown = || replica.read(|value| decode(value, site));
            let shown = scalar.shared.poisoned_by_panics((READ_MOSTLY, Some(&self.site)), shown);
            return shown.unwrap_or_else(|| Err(self.why(site)));
        }
        let look = || replica.read(<[u8]>::to_vec).ok_or_else(|| self.why(site));
        let value =
            scalar.shared.look_at((scalar.shared.id(), "get", site), || 0, look, |value| Some(digest::of(value)))?;
        scalar.decoded(&value, site)
    }

    /// Sets the value, in one round trip.
    ///
    /// # Errors
    /// As [`get`](ReadMostly::get); [`Error::Value`] for a value that serde cannot encode.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let bound = GScalar::new(world, 0, 9u64)?;
    /// let search = bound.read_mostly()?;
    /// if world.rank() == 1 {
    ///     search.set(5)?;
    ///     assert_eq!(search.get()?, 5); // at once; on other ranks soon
    /// }
    /// search.finish()?;
    /// assert_eq!(bound.get()?, 5);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn set(&self, value: T) -> Result<()> {
        self.ask(ScalarRequest::Swap, &value, "set", Site::here()).map(drop)
    }

    /// Sets the value and returns the old value, in one round trip. Errors as for [`set`](ReadMostly::set).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let bound = GScalar::new(world, 0, 9u64)?;
    /// let search = bound.read_mostly()?;
    /// if world.rank() == 1 {
    ///     assert_eq!(search.swap(5)?, 9);
    ///     assert_eq!(search.get()?, 5);
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn swap(&self, value: T) -> Result<T> {
        self.ask(ScalarRequest::Swap, &value, "swap", Site::here())
    }

    /// Sends a request to the home, which serves it after all offers of this rank. Returns the old value.
    fn ask(&self, request: ScalarRequest, operand: &T, action: &'static str, site: Site) -> Result<T> {
        let (scalar, Entered { epoch, reason, .. }) = (self.scalar, &self.entered);
        let operand = encode(operand, &site)?;
        let after = scalar.shared.on(&site, |object, cx| Ok(object.send_offers(reason, true, cx)))?;
        let reply = scalar.request((request, Some(after)), operand, action, &site)?;
        let NumberedReply { number, old, new } =
            NumberedReply::parse(&reply).ok_or_else(|| malformed(scalar.home()))?;
        scalar.shared.tidy(|object, _| object.learn(*epoch, (number, after), new));
        scalar.decoded(old, &site)
    }

    #[cold]
    fn why(&self, site: &Site) -> Error {
        let sound = self.scalar.shared.on(site, |_, cx| cx.sound());
        sound.map_or_else(|fault| fault, |()| malformed(self.scalar.home()))
    }
}

impl<T: Atomic, O> ReadMostly<'_, T, O> {
    /// Adds `operand`, wrapping for integers, and returns the old value, in one round trip. Errors as for
    /// [`get`](ReadMostly::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let done = GScalar::new(world, 0, 0u64)?;
    /// let seen = done.read_mostly()?;
    /// let before = seen.fetch_add(1)?;
    /// assert!(seen.get()? > before);
    /// seen.finish()?;
    /// assert_eq!(done.get()?, 2); // by 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn fetch_add(&self, operand: T) -> Result<T> {
        self.ask(ScalarRequest::Fetch(OpId::of::<Sum>()), &operand, "fetch_add", Site::here())
    }

    /// Sets the value to the minimum of the value and `operand`, and returns the old value, in one round trip. This
    /// rank then sees the result. Errors as for [`get`](ReadMostly::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let bound = GScalar::new(world, 0, 9u64)?;
    /// let search = bound.read_mostly()?;
    /// let mine = 5 + world.rank().index() as u64;
    /// search.fetch_min(mine)?;
    /// assert!(search.get()? <= mine);
    /// search.finish()?;
    /// assert_eq!(bound.get()?, 5);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn fetch_min(&self, operand: T) -> Result<T> {
        self.ask(ScalarRequest::Fetch(OpId::of::<Min>()), &operand, "fetch_min", Site::here())
    }

    /// Sets the value to the maximum of the value and `operand`, and returns the old value, in one round trip. This
    /// rank then sees the result. Errors as for [`get`](ReadMostly::get).
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let newest = GScalar::new(world, 0, 0u64)?;
    /// let seen = newest.read_mostly()?;
    /// let mine = 5 + world.rank().index() as u64;
    /// seen.fetch_max(mine)?;
    /// assert!(seen.get()? >= mine);
    /// seen.finish()?;
    /// assert_eq!(newest.get()?, 6); // by 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn fetch_max(&self, operand: T) -> Result<T> {
        self.ask(ScalarRequest::Fetch(OpId::of::<Max>()), &operand, "fetch_max", Site::here())
    }
}

impl<T: ScalarValue, O: Op<T>> ReadMostly<'_, T, O> {
    /// Applies the operation at the home and does not wait for it. This rank sees the result at once. Other ranks see
    /// it when the home's update reaches them, at the latest after the end of the scope. Offers that are made while one
    /// is under way are combined into one. An offer that changes nothing is sent, too: if that happens often, compare
    /// with [`get`](ReadMostly::get) first. Errors as for [`set`](ReadMostly::set).
    ///
    /// ```
    /// use aurora_core::ops::Min;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let bound = GScalar::new(world, 0, 9u64)?;
    /// let search = bound.read_mostly_with(Min)?;
    /// let mine = 5 + world.rank().index() as u64;
    /// search.offer(mine)?; // waits for no answer
    /// assert!(search.get()? <= mine);
    /// search.finish()?;
    /// assert_eq!(bound.get()?, 5);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn offer(&self, operand: T) -> Result<()> {
        let (scalar, site) = (self.scalar, Site::here());
        let operand = encode(&operand, &site)?;
        scalar.shared.on(&site, |object, cx| object.offer(operand, &self.entered.reason, cx))
    }
}
