//! User operations on a scalar that panic. In this rank's own call the panic continues. In work that ranks have sent
//! it is caught, because any call, or the daemon, may do that work. In either case the scalar is poisoned.

use super::Scalar;
use crate::Site;
use crate::object::Cx;
use aurora_net::bootstrap::capture;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The scope of an action on a scalar, and the line that has opened it on this rank.
pub(super) type Within = (&'static str, Option<Site>);

impl Scalar {
    /// Does work that ranks have sent. `None`: an operation has panicked, and all ranks get the error.
    pub(super) fn contain<R>(
        &mut self,
        within: Within,
        cx: &mut Cx<'_>,
        act: impl FnOnce(&mut Self, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        let outcome = capture(cx.me(), || act(self, cx)).inspect_err(|failure| {
            let error = cx.poison(within.0, within.1);
            crate::notice::operation_panicked(failure, &error);
            cx.defer(error);
        });
        outcome.ok()
    }

    /// Does work of this rank's own call. A panic of an operation poisons the scalar and continues.
    pub(super) fn do_own<R>(
        &mut self,
        within: Within,
        cx: &mut Cx<'_>,
        act: impl FnOnce(&mut Self, &mut Cx<'_>) -> R,
    ) -> R {
        catch_unwind(AssertUnwindSafe(|| act(self, cx))).unwrap_or_else(|panic| {
            cx.poison(within.0, within.1);
            resume_unwind(panic)
        })
    }
}
