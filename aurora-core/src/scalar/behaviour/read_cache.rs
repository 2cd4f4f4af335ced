//! `ReadCache` of a scalar: its value on every rank, by reference.

use super::{ScalarBehaviour, ScalarReadCache, ScalarScope, sealed};
use crate::encoding::ScalarValue;
use crate::scalar::GScalar;
use crate::scalar::machine::ScalarWait;
use crate::scalar::protocol::{Protocol, READ_CACHE};
use crate::{Result, Site};
use std::ops::Deref;

/// Holds the value.
pub struct Shown<T> {
    value: T,
}

impl<T> sealed::Sealed for Shown<T> {}

impl<T: ScalarValue> ScalarBehaviour for Shown<T> {
    type Value = T;
    const NAME: &'static str = READ_CACHE;
    const AWAITED: bool = false;
}

impl<T: ScalarValue> GScalar<T> {
    /// Collective. Opens a `ReadCache`: the guard gives a reference to the value as it is when all ranks have entered.
    /// The value in the guard does not change. One message goes from each rank to the home, and one back.
    ///
    /// # Errors
    /// `Mismatch` if ranks open different scopes; `Leaked` if a guard was forgotten or a
    /// [`ReadMostly`](super::ReadMostly) is still open; [`Error::Value`](crate::Error::Value) if serde cannot decode
    /// the value; the error that ended the job.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let title = GScalar::new(world, 0, String::new())?;
    ///     if world.rank() == 1 {
    ///         title.set("found by rank 1".into())?;
    ///     }
    ///     let title = title.read_cache()?;
    ///     assert!(title.starts_with("found"));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn read_cache(&self) -> Result<ScalarReadCache<'_, T>> {
        let site = Site::here();
        let entered = self.shared.enter((READ_CACHE, Protocol::ReadCache.opening(&site)), false, &site)?;
        let epoch = entered.epoch;
        self.shared.on(&site, |object, cx| {
            object.come_to_scalar(&entered, cx);
            Ok(())
        })?;
        let value = self.shared.wait_on(ScalarWait::Load(epoch), &site, |object, cx| object.take_shown(epoch, cx))?;
        let value = self.decoded(&value, &site)?;
        Ok(ScalarScope::open(self, site, entered, Shown { value }, false))
    }
}

impl<T: ScalarValue> Deref for ScalarReadCache<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.state.value
    }
}
