//! `Accumulate` of a scalar: every rank updates a partial value of its own; one merge at home.

use super::{ScalarAccumulate, ScalarBehaviour, ScalarScope, encoded, sealed};
use crate::encoding::{ScalarValue, encode};
use crate::ops::{self, Op};
use crate::scalar::GScalar;
use crate::scalar::protocol::{ACCUMULATE, Protocol};
use crate::{Result, Site};
use std::marker::PhantomData;

/// Holds the partial value of this rank.
pub struct Partial<T, O> {
    value: Option<T>,
    operation: PhantomData<O>,
}

impl<T, O> sealed::Sealed for Partial<T, O> {}

impl<T: ScalarValue, O> ScalarBehaviour for Partial<T, O> {
    type Value = T;
    const NAME: &'static str = ACCUMULATE;

    fn take_part(&mut self, site: &Site) -> Result<Option<Vec<u8>>> {
        self.value.take().map(|value| encode(&value, site)).transpose()
    }
}

impl<T: ScalarValue> GScalar<T> {
    /// Collective. Opens an `Accumulate`: every rank [updates](ScalarAccumulate::update) a partial value of its own
    /// with operation `O`, which must be associative. At the end the home merges the partial values into the old value
    /// **in the order of the ranks**. So a sum of floats is the same in every run in which each rank accumulates the
    /// same operands, but may differ on another number of ranks. Entering does not wait. The end costs one message from
    /// each rank to the home and one back.
    ///
    /// # Errors
    /// `Leaked` if a guard was forgotten; `Mismatch` if other ranks are known to have opened another scope, or a scope
    /// with another operation.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// use aurora_core::prelude::*;
    ///
    /// Config::threads(3).run(|world| {
    ///     let v = GVector::<u64>::from_fn(world, 100, |i| i as u64)?;
    ///     let mut sum = GScalar::new(world, 0, 0u64)?;
    ///     let mut partial = sum.accumulate(Sum)?;
    ///     for x in v.owner_computes()?.local() {
    ///         partial.update(*x);
    ///     }
    ///     partial.finish()?;
    ///     assert_eq!(sum.get()?, 4950);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn accumulate<O: Op<T>>(&mut self, op: O) -> Result<ScalarAccumulate<'_, T, O>> {
        ops::stateless(op);
        let site = Site::here();
        let [apply, _] = encoded::<T, O>();
        self.shared.on(&site, |object, cx| object.know_scalar_op::<O>(apply, &site, cx))?;
        let entered =
            self.shared.enter((ACCUMULATE, Protocol::Accumulate.opening(&site).with_op::<O>()), true, &site)?;
        Ok(ScalarScope::open(self, site, entered, Partial { value: None, operation: PhantomData }, true))
    }
}

impl<T: ScalarValue, O: Op<T>> ScalarAccumulate<'_, T, O> {
    /// Combines an operand with this rank's partial value. The first operand becomes the partial value. This sends
    /// nothing and cannot fail; errors are returned at the end of the scope.
    ///
    /// ```
    /// use aurora_core::ops::Sum;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut sum = GScalar::new(world, 0, 100u64)?;
    /// let mut mine = sum.accumulate(Sum)?;
    /// mine.update(1);
    /// mine.update(world.rank().index() as u64);
    /// mine.finish()?;
    /// assert_eq!(sum.get()?, 100 + (1 + 0) + (1 + 1)); // of 2 ranks
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn update(&mut self, operand: T) {
        let partial = &mut self.state.value;
        *partial = Some(match partial.take() {
            Some(value) => O::combine(value, operand),
            None => operand,
        });
    }

    /// Returns this rank's partial value so far; `None` before the first update.
    ///
    /// ```
    /// use aurora_core::ops::Max;
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut most = GScalar::new(world, 0, 100u64)?;
    /// let mut mine = most.accumulate(Max)?;
    /// assert_eq!(mine.partial(), None);
    /// mine.update(7);
    /// assert_eq!(mine.partial(), Some(&7)); // not yet merged with the 100
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn partial(&self) -> Option<&T> {
        self.state.value.as_ref()
    }
}
