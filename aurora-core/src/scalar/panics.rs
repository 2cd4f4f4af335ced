//! Operations of the user's on a scalar that panic: amid this rank's own call the panic goes on from there; in what ranks have sent it ends
//! here, because that is done amid any call, or by the daemon. In either case the scalar is poisoned.

use crate::epoch::Collective;
use crate::ids::ObjectId;
use crate::kernel::Service;
use crate::vector::object::Object;
use crate::{Error, Site};
use aurora_net::Outbox;
use aurora_net::bootstrap::capture;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The scope in which something is done to a scalar, and the line that has opened it here.
pub(super) type Within = (Collective, Option<Site>);

impl Service {
    /// Does what ranks have sent. `None`: an operation has panicked, and all are told; or there is no such scalar.
    pub(super) fn contain<R>(
        &mut self,
        id: ObjectId,
        within: Within,
        out: &mut Outbox,
        act: impl FnOnce(&mut Object) -> R,
    ) -> Option<R> {
        let object = self.objects.get_mut(&id)?;
        match capture(self.me, || act(object)) {
            Ok(outcome) => Some(outcome),
            Err(failure) => {
                let error = self.poison(id, within, out)?;
                crate::notice::operation_panicked(&failure, &error);
                self.defer(id, error);
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
        id: ObjectId,
        within: Within,
        out: &mut Outbox,
        act: impl FnOnce(&mut Object) -> R,
    ) -> Option<R> {
        let object = self.objects.get_mut(&id)?;
        match catch_unwind(AssertUnwindSafe(|| act(object))) {
            Ok(outcome) => Some(outcome),
            Err(panic) => {
                self.poison(id, within, out);
                resume_unwind(panic)
            }
        }
    }

    fn poison(&mut self, id: ObjectId, (behaviour, opened): Within, out: &mut Outbox) -> Option<Error> {
        let name = &self.objects.get(&id)?.name;
        let error = Error::Poisoned {
            rank: self.me,
            behaviour: behaviour.action().into(),
            object: name.clone(),
            opened: opened.unwrap_or_else(|| name.made_at.clone()),
        };
        self.fail(Some(id), error.clone(), out);
        Some(error)
    }
}
