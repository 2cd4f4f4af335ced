//! Actions of the library on its objects, and waits at them.
//!
//! A program acts on its objects by closures, hundreds of them. The methods of [`Shared`] only put them behind a
//! pointer. The code around the closures, below as methods of [`Link`], knows no type of the program: it is compiled
//! once, with this crate.

use super::{Cx, Shared, SharedObject, Wait};
use crate::Site;
use crate::error::{Done, Result};
use crate::kernel::Kernel;
use crate::kernel::watch::Blocked;
use crate::link::Link;
use crate::once::Once;
use aurora_net::Outbox;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

const THERE: &str = "an object lives as long as its handle";

impl<O: SharedObject> Shared<O> {
    /// Acts on the object, at once, unless the job has ended.
    pub(crate) fn on<R>(&self, site: &Site, action: impl FnOnce(&mut O, &mut Cx<'_>) -> Result<R>) -> Result<R> {
        let mut once = Once::new(action);
        let acted = self.act_on(site, &mut |object, cx| Ok(once.try_run(|action| action(object.of_kind(), cx))?));
        acted.map_err(|error| *error)?;
        Ok(once.expect())
    }

    /// Acts on the object when a guard or handle goes out of scope. Inside a call of this rank, as in an operation of
    /// the user, it acts when that call has ended, if the object still exists. During a panic it does not panic again.
    pub(crate) fn let_go(&self, action: impl FnOnce(&mut O, &mut Cx<'_>) + Send + 'static) {
        let id = self.id();
        self.let_go_of(move |kernel, out| {
            kernel.call(id, out, |object, cx| action(object.of_kind(), cx));
        });
    }

    /// Waits until `condition` returns `Some` or the job has ended.
    pub(crate) fn wait_on<R>(
        &self,
        wait: impl Into<Wait>,
        site: &Site,
        condition: impl FnMut(&mut O, &mut Cx<'_>) -> Option<Result<R>>,
    ) -> Result<R> {
        self.wait_on_since(None, wait, site, condition)
    }

    /// Waits as [`wait_on`](Self::wait_on), in a wait that has lasted since `began`.
    pub(crate) fn wait_on_since<R>(
        &self,
        began: Option<Instant>,
        wait: impl Into<Wait>,
        site: &Site,
        mut condition: impl FnMut(&mut O, &mut Cx<'_>) -> Option<Result<R>>,
    ) -> Result<R> {
        let mut outcome = None;
        let waited = self.wait_at(began, wait.into(), site, &mut |object, cx| {
            let met = condition(object.of_kind(), cx)?;
            Some(met.map(|met| outcome = Some(met)).map_err(Box::new))
        });
        waited.map_err(|error| *error)?;
        Ok(outcome.expect("a wait ends when its condition is met"))
    }

    /// Runs an action that calls code of the user's types. If it panics, the object is poisoned, as inside
    /// `behaviour`, opened at this line.
    pub(crate) fn poisoned_by_panics<R>(
        &self,
        (behaviour, opened): (&str, Option<&Site>),
        action: impl FnOnce() -> R,
    ) -> R {
        catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|panic| {
            self.tidy(|_, cx| cx.poison(behaviour, opened.cloned()));
            resume_unwind(panic)
        })
    }

    /// Ends the scope of a guard that is dropped. Its error is kept for the end of `run`, and ends the object.
    pub(crate) fn end_dropped(&self, end: impl FnOnce() -> Result<()>) {
        if let Err(error) = self.quietly(end) {
            self.let_go(move |_, cx| {
                cx.defer(error.clone());
                cx.fail(error);
            });
        }
    }
}

/// An action on an object.
type Action<'a, R> = &'a mut dyn FnMut(&mut dyn SharedObject, &mut Cx<'_>) -> R;

impl Link {
    fn act_on(&self, site: &Site, action: Action<'_, Done>) -> Done {
        let id = self.id();
        self.act_once(site, &mut |kernel, out| kernel.call(id, out, &mut *action).expect(THERE))
    }

    pub(super) fn tidy_on(&self, action: Action<'_, ()>) {
        let id = self.id();
        self.tidy_kernel(|kernel, out| kernel.call(id, out, action).expect(THERE));
    }

    fn wait_at(&self, began: Option<Instant>, wait: Wait, site: &Site, condition: Action<'_, Option<Done>>) -> Done {
        let id = self.id();
        let on = &mut |kernel: &mut Kernel, out: &mut Outbox| kernel.call(id, out, &mut *condition).expect(THERE);
        self.wait_once(began, Blocked::Object(id, wait), site, on)
    }
}
