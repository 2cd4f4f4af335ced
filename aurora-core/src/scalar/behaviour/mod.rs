//! Scoped behaviours of a [`GScalar`], with the rules of a vector's [`Scope`](crate::behaviour::Scope). Every scope
//! is collective and goes through the home: an entry that shows a value, and an end that changes the value, cost one
//! message from each rank to the home and one back.

mod accumulate;
mod read_cache;
mod read_mostly;
mod release;

pub use accumulate::Partial;
pub use read_cache::Shown;
pub use read_mostly::Mostly;
pub use release::Last;

use crate::behaviour::{PutOnly, sealed};
use crate::encoding::{ScalarValue, decode, encode};
use crate::object::GuardId;
use crate::ops::Op;
use crate::scalar::{GScalar, ScalarFn};
use crate::scope::{Entered, ScopeWait};
use crate::window::Window;
use crate::{Result, Site};
use std::marker::PhantomData;

/// A scope that shows the value: [`GScalar::read_cache`].
pub type ScalarReadCache<'s, T> = ScalarScope<'s, Shown<T>>;
/// A scope that sets the value at its end: [`GScalar::release_c`].
pub type ScalarReleaseC<'s, T> = ScalarScope<'s, Last<T>>;
/// A scope with a partial value on each rank: [`GScalar::accumulate`].
pub type ScalarAccumulate<'s, T, O> = ScalarScope<'s, Partial<T, O>>;
/// A scope with a replica on every rank that follows the value: [`GScalar::read_mostly`].
pub type ReadMostly<'s, T, O = PutOnly> = ScalarScope<'s, Mostly<T, O>>;

/// A kind of scope of a scalar: its contents while it is open, and its end. Not for users to implement.
pub trait ScalarBehaviour: sealed::Sealed + Sized {
    /// The type of the scalar's value.
    type Value: ScalarValue;

    /// The public name of the behaviour.
    #[doc(hidden)]
    const NAME: &'static str;

    /// True if all ranks wait for the end.
    #[doc(hidden)]
    const AWAITED: bool = true;

    /// The contribution of this rank at the end, encoded.
    #[doc(hidden)]
    fn take_part(&mut self, _: &Site) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// An open scoped behaviour of a scalar: a guard whose `Drop` ends the scope.
///
/// Dropping the guard sends the end to the home and does not wait. The next use of the scalar waits until all ranks
/// have ended the scope. [`ScalarScope::finish`] is the checked end. A guard belongs to its thread, and must not be
/// forgotten.
#[must_use = "a scope ends when its guard is dropped: keep it, as in `let _guard = ...` (`let _ = ...` drops it at once)"]
pub struct ScalarScope<'s, B: ScalarBehaviour> {
    scalar: &'s GScalar<B::Value>,
    site: Site,
    entered: Entered,
    state: B,
    /// `None`: it has ended.
    guard: Option<GuardId>,
    not_send: PhantomData<*const B>,
}

impl<'s, B: ScalarBehaviour> ScalarScope<'s, B> {
    fn open(scalar: &'s GScalar<B::Value>, site: Site, entered: Entered, state: B, mutable: bool) -> Self {
        let how = (mutable, B::AWAITED);
        let guard = scalar.shared.tidy(|_, cx| cx.open_guard((B::NAME, &site), how, Window::WHOLE));
        ScalarScope { scalar, site, entered, state, guard: Some(guard), not_send: PhantomData }
    }

    /// Ends the scope and returns its errors: the checked form of dropping the guard. It returns when every rank has
    /// ended the scope and the scalar has its value. For a [`ScalarReadCache`] it returns at once.
    ///
    /// # Errors
    /// `Mismatch`, `Leaked` or `Poisoned` of the scalar; the error that ended the job.
    ///
    /// ```
    /// # use aurora_core::prelude::*;
    /// # Config::threads(2).run(|world| {
    /// let mut s = GScalar::new(world, 0, 1u64)?;
    /// let mut scope = s.release_c()?;
    /// scope.set(2)?;
    /// scope.finish()?; // an error of the end is returned here; after a `drop`, by the next use
    /// assert_eq!(s.get()?, 2);
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn finish(mut self) -> Result<()> {
        self.end(true)
    }

    fn end(&mut self, checked: bool) -> Result<()> {
        let (scalar, guard) = (self.scalar, self.guard.take());
        let close = |broken_off, (): &mut ()| {
            if broken_off {
                scalar.shared.let_go(|object, _| object.abandon_scalar());
                return Ok(());
            }
            self.close(checked)
        };
        scalar.shared.end_guard(guard, close, |_, ()| ())
    }

    fn close(&mut self, checked: bool) -> Result<()> {
        if !B::AWAITED {
            return Ok(());
        }
        let (scalar, epoch) = (self.scalar, self.entered.epoch);
        let _call = scalar.shared.call(B::NAME);
        let part = self.state.take_part(&self.site).inspect_err(|error| {
            // Otherwise the other ranks would wait for this one.
            scalar.shared.tidy(|_, cx| cx.fail(error.clone()));
        })?;
        scalar.shared.on(&self.site, |object, cx| {
            let lost = if part.is_some() { cx.sound() } else { Ok(()) };
            object.end_scalar(&self.entered, part, cx);
            lost
        })?;
        if !checked {
            return Ok(());
        }
        scalar.shared.wait_on(ScopeWait::Settle, &self.site, |object, cx| {
            let settled = object.scopes.poll_settled((Window::WHOLE, epoch), cx)?;
            object.acquire(cx);
            Some(settled)
        })
    }
}

impl<B: ScalarBehaviour> Drop for ScalarScope<'_, B> {
    fn drop(&mut self) {
        self.scalar.shared.end_dropped(|| self.end(false));
    }
}

impl<B: ScalarBehaviour> std::fmt::Debug for ScalarScope<'_, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {:?}, opened at {}", B::NAME, self.scalar, self.site)
    }
}

/// The operation `O` on encoded values: to apply it, and to combine operands.
fn encoded<T: ScalarValue, O: Op<T>>() -> [ScalarFn; 2] {
    fn on_encoded<T: ScalarValue>(f: fn(T, T) -> T, first: &[u8], second: &[u8]) -> Option<Vec<u8>> {
        let site = Site::here();
        encode(&f(decode(first, &site).ok()?, decode(second, &site).ok()?), &site).ok()
    }
    [|current, operand| on_encoded(O::apply, current, operand), |first, second| on_encoded(O::combine, first, second)]
}
