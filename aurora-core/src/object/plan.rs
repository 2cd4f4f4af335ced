//! Collective construction: every rank makes its part, and all check that they construct the same object.

use super::SharedObject;
use crate::collective::Proposal;
use crate::error::{ObjectName, Result, clip};
use crate::ids::ObjectId;
use crate::link::Link;
use crate::operation::TypeKey;
use crate::{Error, Site, digest};
use std::any::type_name;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The name and the arguments of an object that a rank constructs. Ranks compare their plans: see
/// [`World::share`](crate::World::share).
#[derive(Debug)]
pub struct Plan {
    what: String,
    /// The type of a program's own object.
    of: Option<&'static str>,
    key: u64,
    /// The words that the parts on a node share.
    pub(super) words: usize,
    pub(crate) refusal: Option<Error>,
    pub(crate) site: Site,
}

impl Plan {
    /// `what` names the object in words, such as `queue of u64 on rank 0`. `what` and `alike` must be equal on all
    /// ranks. Errors quote the line that makes the plan.
    #[track_caller]
    pub fn new(what: impl Into<String>, alike: &impl Hash) -> Self {
        Self::at(what.into(), alike, Site::here())
    }

    pub(crate) fn at(what: String, alike: &impl Hash, site: Site) -> Self {
        let mut hasher = DefaultHasher::new();
        alike.hash(&mut hasher);
        Plan { what, of: None, key: hasher.finish(), words: 0, refusal: None, site }
    }

    /// The parts of the object on each node share this number of words:
    /// [`Making::node_words`](super::Making::node_words). Ranks that share no memory have words of their own. The
    /// number must be equal on all ranks.
    pub fn with_node_words(self, words: usize) -> Self {
        Plan { words, key: digest::add(self.key, words as u64), ..self }
    }

    /// The object has this type, and one name, on all ranks.
    pub(crate) fn of_type<O: SharedObject>(&mut self) {
        self.of = Some(type_name::<O>());
        let alike = [digest::of(self.what.as_bytes()), TypeKey::of::<O>().number()];
        self.key = alike.into_iter().fold(self.key, digest::add);
    }

    /// The key that ranks compare. It includes the number of the object: a rank on which a construction has panicked
    /// has counted that object.
    pub(crate) fn key_of(&self, id: ObjectId) -> u64 {
        digest::add(self.key, id.0)
    }

    pub(crate) fn refuse(&mut self, error: Error) {
        self.refusal.get_or_insert(error);
    }

    pub(crate) fn name(&self) -> ObjectName {
        ObjectName { what: clip(&self.what).into_owned(), made_at: self.site.clone().clipped() }
    }

    pub(crate) fn action(&self) -> String {
        let of = self.of.map_or(String::new(), |of| format!(", of type {of}"));
        format!("is in the construction of a {}{of}", self.what)
    }

    /// Collective. All ranks agree on the object that they construct, if none refuses. Either all ranks check accesses
    /// to an object, or none.
    pub(crate) fn propose(&mut self, link: &Link) -> Result<()> {
        let (mut action, mut key) = (self.action(), self.key_of(link.id()));
        if link.modes.check {
            action += ", with AURORA_CHECK=1,";
            key = digest::add(key, 1);
        }
        let proposal = Proposal { refusal: self.refusal.take(), ..Proposal::new("a construction", &action, key) };
        link.propose(proposal, &self.site).map(drop)
    }
}
