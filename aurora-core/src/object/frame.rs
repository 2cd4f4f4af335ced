//! The data that a kernel keeps for every object.

use crate::ids::ObjectId;
use crate::window::Window;
use crate::{Error, ObjectName, Site};
use aurora_net::Rank;

#[derive(Clone, Debug)]
pub(crate) struct OpenGuard {
    pub(crate) id: u64,
    pub(crate) behaviour: &'static str,
    pub(crate) site: Site,
    pub(crate) mutable: bool,
    /// All ranks await its end.
    pub(crate) awaited: bool,
    /// The part of the object that the guard uses.
    pub(crate) window: Window,
    pub(crate) _span: Option<Box<tracing::Span>>,
}

impl OpenGuard {
    /// True if this guard forbids the use of a part of the object, for writing if `mutable`.
    pub(crate) fn forbids(&self, mutable: bool, window: Window) -> bool {
        (mutable || self.mutable) && self.window.overlaps(window)
    }
}

pub(crate) struct Frame {
    pub(crate) id: ObjectId,
    pub(crate) name: ObjectName,
    pub(crate) fault: Option<Error>,
    /// The fault is new: the kernel has not called the object for it.
    pub(crate) is_failing: bool,
    /// The object has panicked where nothing could be sent: it is poisoned at the next call.
    pub(crate) is_broken: bool,
    /// A call of the object has panicked: its timers do not call it any more.
    pub(crate) has_panicked: bool,
    pub(crate) open: Vec<OpenGuard>,
    /// By rank: true if the rank has dropped its handle.
    pub(crate) dropped: Vec<bool>,
}

impl Frame {
    pub(crate) fn new(id: ObjectId, name: ObjectName, ranks: usize) -> Self {
        Frame {
            id,
            name,
            fault: None,
            is_failing: false,
            is_broken: false,
            has_panicked: false,
            open: Vec::new(),
            dropped: vec![false; ranks],
        }
    }

    pub(crate) fn sound(&self) -> Result<(), Error> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// The error of a guard of rank `me` that should be closed.
    pub(crate) fn leak(&self, me: Rank, guard: &OpenGuard) -> Error {
        let (object, opened) = (Box::new(self.name.clone()), guard.site.clone());
        Error::Leaked { rank: me, behaviour: guard.behaviour.into(), object, opened, waiting: None }
    }
}
