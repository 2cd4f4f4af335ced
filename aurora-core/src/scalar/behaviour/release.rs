//! `ReleaseC` of a scalar: the last value that each rank sets travels at the end.

use super::{ScalarBehaviour, ScalarReleaseC, ScalarScope, sealed};
use crate::encoding::{ScalarValue, encode};
use crate::scalar::GScalar;
use crate::scalar::protocol::{Protocol, RELEASE};
use crate::{Result, Site};
use std::marker::PhantomData;

/// Holds the last value that was set, encoded.
pub struct Last<T> {
    value: Option<Vec<u8>>,
    of: PhantomData<*const T>,
}

impl<T> sealed::Sealed for Last<T> {}

impl<T: ScalarValue> ScalarBehaviour for Last<T> {
    type Value = T;
    const NAME: &'static str = RELEASE;

    fn take_part(&mut self, _: &Site) -> Result<Option<Vec<u8>>> {
        Ok(self.value.take())
    }
}

impl<T: ScalarValue> GScalar<T> {
    /// Collective. Opens a `ReleaseC`: [`set`](ScalarReleaseC::set) sends nothing. The last value that this rank has
    /// set travels at the end, and is seen after the scope. If several ranks set the value, **the highest rank wins**.
    /// If no rank sets it, the value stays. Entering does not wait. The end costs one message from each rank to the
    /// home and one back.
    ///
    /// # Errors
    /// `Leaked` if a guard was forgotten; `Mismatch` if other ranks are known to have opened another scope.
    ///
    /// ```
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let mut residual = GScalar::new(world, 0, f64::INFINITY)?;
    ///     let mut scope = residual.release_c()?;
    ///     for step in 1..=10 {
    ///         if world.rank() == 1 {
    ///             scope.set(1.0 / f64::from(step))?;
    ///         }
    ///     }
    ///     drop(scope);
    ///     assert_eq!(residual.get()?, 0.1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn release_c(&mut self) -> Result<ScalarReleaseC<'_, T>> {
        let site = Site::here();
        let entered = self.shared.enter((RELEASE, Protocol::ReleaseC.opening(&site)), true, &site)?;
        Ok(ScalarScope::open(self, site, entered, Last { value: None, of: PhantomData }, true))
    }
}

impl<T: ScalarValue> ScalarReleaseC<'_, T> {
    /// Sets the value that the scalar has after the scope.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) for a value that serde cannot encode.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut s = GScalar::new(world, 0, 0)?;
    /// let mut scope = s.release_c()?;
    /// scope.set(10)?;
    /// scope.set(20 + world.rank().index())?; // the last one counts
    /// scope.finish()?;
    /// assert_eq!(s.get()?, 21); // the value of the highest of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn set(&mut self, value: T) -> Result<()> {
        self.state.value = Some(encode(&value, &Site::here())?);
        Ok(())
    }
}
