//! Collective construction: every rank makes its part, and all check that they mean the same object.

use super::{Frame, SharedObject};
use crate::collective::Came;
use crate::error::{ObjectName, Result};
use crate::ids::ObjectId;
use crate::kernel::{Core, Entry};
use crate::link::Link;
use crate::{Error, Site};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a rank knows of an object that it constructs. What is wrong with it is kept: the other ranks have to hear of it
/// too.
pub(crate) struct Plan {
    what: String,
    pub(crate) key: u64,
    pub(crate) refusal: Option<Error>,
    pub(crate) site: Site,
}

impl Plan {
    /// `what` it is, and what must be equal on all ranks.
    pub(crate) fn new(what: String, alike: &impl Hash, site: Site) -> Self {
        let mut hasher = DefaultHasher::new();
        alike.hash(&mut hasher);
        Plan { what, key: hasher.finish(), refusal: None, site }
    }

    /// This rank cannot make its part.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.refusal.get_or_insert(error);
    }

    pub(crate) fn name(&self) -> ObjectName {
        ObjectName { what: self.what.clone(), made_at: self.site.clone().clipped() }
    }

    /// What a rank does that constructs it, in words.
    pub(crate) fn action(&self) -> String {
        format!("is in the construction of a {}", self.what)
    }

    /// Collective. Registers the object and returns once all ranks have agreed on it: nothing comes for an object that
    /// is not there.
    pub(crate) fn agree<O: SharedObject>(
        &mut self,
        (link, id): (&Link, ObjectId),
        make: impl FnOnce(&Core) -> O,
    ) -> Result<()> {
        let (name, action) = (self.name(), self.action());
        link.tidy(|kernel, _| {
            let machine = Box::new(make(&kernel.core));
            kernel.objects.insert(id, Entry { frame: Frame::new(id, name, kernel.core.size), machine });
        });
        let came = Came { refusal: self.refusal.take(), ..Came::new("a construction", &action, self.key) };
        let agreed = link.come(came, &self.site).map(drop);
        agreed.inspect_err(|_| link.tidy(|kernel, _| drop(kernel.objects.remove(&id))))
    }
}
