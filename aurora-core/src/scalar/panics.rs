//! Operations of the user's on a scalar that panic: amid this rank's own call the panic goes on from there; in what
//! ranks have sent it ends here, because that is done amid any call, or by the daemon. In either case the scalar is
//! poisoned.

use super::Scalar;
use crate::object::Cx;
use crate::{Error, Site};
use aurora_net::bootstrap::capture;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The scope in which something is done to a scalar, and the line that has opened it here.
pub(super) type Within = (&'static str, Option<Site>);

impl Scalar {
    /// Does what ranks have sent. `None`: an operation has panicked, and all are told.
    pub(super) fn contain<R>(
        &mut self,
        within: Within,
        cx: &mut Cx<'_>,
        act: impl FnOnce(&mut Self, &mut Cx<'_>) -> R,
    ) -> Option<R> {
        match capture(cx.me(), || act(self, cx)) {
            Ok(outcome) => Some(outcome),
            Err(failure) => {
                let error = poison(within, cx);
                crate::notice::operation_panicked(&failure, &error);
                cx.defer(error);
                None
            }
        }
    }

    /// Does something of this rank's own, amid its call.
    ///
    /// # Panics
    /// If an operation does; the scalar is poisoned by then.
    pub(super) fn do_own<R>(
        &mut self,
        within: Within,
        cx: &mut Cx<'_>,
        act: impl FnOnce(&mut Self, &mut Cx<'_>) -> R,
    ) -> R {
        catch_unwind(AssertUnwindSafe(|| act(self, cx))).unwrap_or_else(|panic| {
            poison(within, cx);
            resume_unwind(panic)
        })
    }
}

fn poison((behaviour, opened): Within, cx: &mut Cx<'_>) -> Error {
    cx.poison(behaviour, opened)
}
