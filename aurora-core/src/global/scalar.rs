//! The shared scalar.

use super::construct::{Plan, ScalarPart, short};
use super::plain;
use crate::element::{Add, Max, Min, OpId};
use crate::error::{ObjectName, Result};
use crate::link::Link;
use crate::memory::Array;
use crate::message::{ObjectId, Request, ScalarRequest};
use crate::service::Reason;
use crate::service::asking::Asking;
use crate::service::watch::What;
use crate::{Error, Site, World};
use aurora_net::Rank;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A type whose values may be shared in a [`GScalar`]: anything that serde can take apart and put together.
pub trait ScalarValue: Serialize + DeserializeOwned + 'static {}

impl<T: Serialize + DeserializeOwned + 'static> ScalarValue for T {}

/// A number on which the home of a [`GScalar`] can compute.
pub trait Atomic: ScalarValue + bytemuck::Pod {}

/// A single value that all ranks share (paper section 2.1). It lives on one rank, its *home*, whose daemon serves it.
///
/// Every operation is one round trip, none from home itself, and takes effect at one moment: the numbers' operations
/// ([`fetch_add`](GScalar::fetch_add) and its kin) are also the task counter that users of Global Arrays know.
///
/// Four behaviours change that inside a scope: [`read_cache`](GScalar::read_cache) shows the value as it was on entry,
/// [`release_c`](GScalar::release_c) sets it at its end, [`accumulate`](GScalar::accumulate) merges what all ranks contribute (a reduction),
/// and [`read_mostly`](GScalar::read_mostly) keeps a copy on every rank that is read without a message while anybody may improve it (the
/// bound of a search).
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
    pub(crate) link: Link,
    pub(crate) id: ObjectId,
    home: Rank,
    made_at: Site,
    value: PhantomData<*const T>,
}

impl<T: ScalarValue> GScalar<T> {
    /// Collective. A scalar at home on rank `home`, with the value that rank `home` gives; what the others give is not
    /// looked at.
    ///
    /// # Errors
    /// `Mismatch` where ranks construct different objects; [`Error::NoSuchRank`]; [`Error::Value`] for a value that serde
    /// cannot encode.
    #[track_caller]
    pub fn new(world: &World, home: impl Into<Rank>, value: T) -> Result<Self> {
        let (site, home) = (Site::here(), home.into());
        let initial = if home == world.rank() { Some(encode(&value, &site)) } else { None };
        let mut plan = Plan::scalar::<T>(world, home, site.clone());
        let initial = match initial.transpose() {
            Ok(initial) => initial,
            Err(error) => {
                plan.refuse(error);
                None
            }
        };
        let part = ScalarPart { home, value: initial, ops: plain::ops::<T>() };
        let link = world.link().share();
        let id = link.next_object();
        plan.agree::<u8>((&link, id), Array::default(), None, Some(part))?;
        Ok(GScalar { link, id, home, made_at: site, value: PhantomData })
    }

    /// The rank where the value lives.
    pub fn home(&self) -> Rank {
        self.home
    }

    /// The value.
    ///
    /// # Errors
    /// Whatever ended the job; [`Error::Value`] where serde cannot decode it.
    #[track_caller]
    pub fn get(&self) -> Result<T> {
        let site = Site::here();
        decode(&self.ask(ScalarRequest::Load, Vec::new(), "get", &site)?, &site)
    }

    /// Sets the value.
    ///
    /// # Errors
    /// As [`get`](GScalar::get).
    #[track_caller]
    pub fn set(&self, value: T) -> Result<()> {
        let site = Site::here();
        self.ask(ScalarRequest::Swap, encode(&value, &site)?, "set", &site).map(drop)
    }

    /// Sets the value and returns the old one.
    ///
    /// # Errors
    /// As [`get`](GScalar::get).
    #[track_caller]
    pub fn swap(&self, value: T) -> Result<T> {
        let site = Site::here();
        decode(&self.ask(ScalarRequest::Swap, encode(&value, &site)?, "swap", &site)?, &site)
    }

    /// Sets the value to `new` if it is `expected`, as encoded: `Ok(old)` if it was, else `Err(current)`.
    ///
    /// # Errors
    /// As [`get`](GScalar::get), outside the inner result.
    #[track_caller]
    pub fn compare_exchange(&self, expected: &T, new: &T) -> Result<std::result::Result<T, T>> {
        let site = Site::here();
        let expected = encode(expected, &site)?;
        let old = self.exchange(&expected, &encode(new, &site)?, &site)?;
        let value = decode(&old, &site)?;
        Ok(if old == expected { Ok(value) } else { Err(value) })
    }

    /// Replaces the value by what `update` makes of it, and returns the old one. The closure runs here, again whenever
    /// another rank was faster, so it must not rely on being called once.
    ///
    /// # Errors
    /// As [`get`](GScalar::get).
    #[track_caller]
    pub fn fetch_update(&self, mut update: impl FnMut(T) -> T) -> Result<T> {
        let site = Site::here();
        let mut current = self.ask(ScalarRequest::Load, Vec::new(), "fetch_update", &site)?;
        loop {
            let new = encode(&update(decode(&current, &site)?), &site)?;
            let old = self.exchange(&current, &new, &site)?;
            if old == current {
                return decode(&old, &site);
            }
            current = old;
        }
    }

    fn exchange(&self, expected: &[u8], new: &[u8], site: &Site) -> Result<Vec<u8>> {
        let mut payload = Vec::with_capacity(4 + expected.len() + new.len());
        payload.extend_from_slice(&(expected.len() as u32).to_le_bytes());
        payload.extend_from_slice(expected);
        payload.extend_from_slice(new);
        self.ask(ScalarRequest::CompareExchange, payload, "compare_exchange", site)
    }

    fn ask(&self, request: ScalarRequest, payload: Vec<u8>, action: &'static str, site: &Site) -> Result<Vec<u8>> {
        self.request(Request::Scalar(request), payload, action, site)
    }

    /// Has the home do something, once what this rank has done before is settled there.
    pub(crate) fn request(
        &self,
        request: Request,
        payload: Vec<u8>,
        action: &'static str,
        site: &Site,
    ) -> Result<Vec<u8>> {
        let id = self.id;
        if self.home == self.link.me {
            return self.link.wait(What::Settle { object: id }, site, |service, out| {
                service.serve_own(id, &request, &payload, out)
            });
        }
        let _call = self.link.call(action);
        let reason = Reason { object: Some(id), action, site: Some(site.clone()) };
        let asking = Asking { object: id, to: self.home, reason: &reason };
        let call = self.link.act(site, |service, out| {
            service.usable(id, false, out)?;
            Ok(service.ask(&asking, request, payload, out))
        })?;
        self.link
            .wait(What::Calls { object: id, action }, site, |service, _| service.take_reply(call))
            .inspect_err(|_| self.link.tidy(|service, _| service.give_up(call)))
    }
}

impl<T: Atomic> GScalar<T> {
    /// Adds, wrapping for integers, and returns the old value.
    ///
    /// # Errors
    /// As [`get`](GScalar::get).
    #[track_caller]
    pub fn fetch_add(&self, operand: T) -> Result<T> {
        self.fetch::<Add>(operand, "fetch_add", Site::here())
    }

    /// Sets the value to the smaller of it and `operand`, and returns the old one.
    ///
    /// # Errors
    /// As [`get`](GScalar::get).
    #[track_caller]
    pub fn fetch_min(&self, operand: T) -> Result<T> {
        self.fetch::<Min>(operand, "fetch_min", Site::here())
    }

    /// Sets the value to the larger of it and `operand`, and returns the old one.
    ///
    /// # Errors
    /// As [`get`](GScalar::get).
    #[track_caller]
    pub fn fetch_max(&self, operand: T) -> Result<T> {
        self.fetch::<Max>(operand, "fetch_max", Site::here())
    }

    fn fetch<O: 'static>(&self, operand: T, action: &'static str, site: Site) -> Result<T> {
        let request = ScalarRequest::Fetch(OpId::of::<O>());
        decode(&self.ask(request, encode(&operand, &site)?, action, &site)?, &site)
    }
}

/// A value as it travels.
pub(crate) fn encode<T: ScalarValue>(value: &T, site: &Site) -> Result<Vec<u8>> {
    match plain::encode(value) {
        Some(bytes) => Ok(bytes),
        None => postcard::to_allocvec(value).map_err(|cause| cannot_travel::<T>(cause, site)),
    }
}

/// A value that has travelled.
pub(crate) fn decode<T: ScalarValue>(bytes: &[u8], site: &Site) -> Result<T> {
    if plain::is::<T>() {
        return plain::decode(bytes).ok_or_else(|| cannot_travel::<T>(postcard::Error::DeserializeUnexpectedEnd, site));
    }
    postcard::from_bytes(bytes).map_err(|cause| cannot_travel::<T>(cause, site))
}

fn cannot_travel<T>(cause: postcard::Error, site: &Site) -> Error {
    Error::Value { value: short::<T>().into(), cause: cause.to_string(), site: site.clone() }
}

impl<T: ScalarValue> Drop for GScalar<T> {
    fn drop(&mut self) {
        let (id, panicking) = (self.id, std::thread::panicking());
        self.link.let_go(move |service, out| service.drop_object(id, panicking, out));
    }
}

impl<T: ScalarValue> std::fmt::Debug for GScalar<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name =
            ObjectName { what: format!("GScalar<{}> on {}", short::<T>(), self.home), made_at: self.made_at.clone() };
        write!(f, "{name}")
    }
}
