//! The scope that a rank opens, and its words in messages.

use crate::operation::{OpId, short};
use crate::race::Opened;
use crate::window::Window;
use crate::{Claim, Kind, ObjectName, Site};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The rule by which a collective scope is `settled`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Rule {
    /// A load: when all ranks have announced it. Loads are `settled` in their order, also loads of different parts.
    Announced,
    /// A scope of writes: when all ranks have ended it and all their batches are applied.
    Ended,
    /// As `Ended`, but an owner applies the batches in the order of the ranks.
    EndedInOrder,
    /// When the neighbours have announced it. Other ranks send nothing.
    Neighbours,
    /// The ranks have met before: when this rank's part is done.
    Met,
    /// As `Ended`. Inside the scope all ranks come to the same steps; the words behind the name tell the step.
    EndedInSteps,
}

/// A rank's side of a collective scope: the data that must be equal on all ranks, and its words and line in errors.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// The name of the scope. Under [`Rule::Met`]: the action, in words.
    pub(crate) name: Cow<'static, str>,
    /// Words behind the name, which must be equal on all ranks too.
    detail: Cow<'static, str>,
    pub(crate) op: Option<OpId>,
    pub(crate) rule: Rule,
    /// The protocol of the scope, if its object has several: a number of the object's own.
    pub(crate) protocol: u8,
    pub(crate) kind: Kind,
    pub(crate) window: Window,
    pub(crate) site: Site,
}

/// The article in front of the name of a scope.
pub(super) fn article(name: &str) -> &'static str {
    if name.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" }
}

impl From<&Opening> for Opened {
    fn from(opening: &Opening) -> Self {
        Opened { name: opening.name.clone(), line: opening.site.clone() }
    }
}

impl Opening {
    /// A scope of writes of this name, such as `ReleaseC`, opened at the calling line.
    #[track_caller]
    pub fn writes(name: &'static str) -> Self {
        Opening::new(name, Kind::Flush, Rule::Ended, &Site::here())
    }

    /// The same, but each part applies the batches in the order of the ranks.
    pub fn in_order(self) -> Self {
        Opening { rule: Rule::EndedInOrder, ..self }.with_words(" in the order of the ranks")
    }

    /// The name of a scope that this rank opens.
    pub(super) fn behaviour(&self) -> &'static str {
        if let Cow::Borrowed(name) = self.name { name } else { "a scope" }
    }

    /// An opening of the whole object, without an operation.
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, kind: Kind, rule: Rule, site: &Site) -> Self {
        let (name, detail, site) = (name.into(), Cow::Borrowed(""), site.clone().clipped());
        Opening { name, detail, op: None, rule, protocol: 0, kind, window: Window::WHOLE, site }
    }

    pub(crate) fn by(self, protocol: u8) -> Self {
        Opening { protocol, ..self }
    }

    pub(crate) fn of(self, window: Window) -> Self {
        Opening { window, ..self }
    }

    /// Adds words behind the name, such as ` of counts`, which must be equal on all ranks, too.
    pub fn with_words(self, words: &str) -> Self {
        let detail = format!("{}{words}", self.detail);
        self.with(detail)
    }

    /// Has these words behind its name, which must be equal on all ranks, too.
    pub(crate) fn with(self, detail: impl Into<Cow<'static, str>>) -> Self {
        Opening { detail: detail.into(), ..self }
    }

    /// Adds operation `O`, which must be the same on all ranks. Its name travels in headers, whose length is limited.
    pub fn with_op<O: 'static>(self) -> Self {
        const LONGEST_NAME: usize = 40;
        let name = short::<O>();
        let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(at, _)| at);
        let detail = format!("{} with operation {}", self.detail, &name[..end]);
        Opening { op: Some(OpId::of::<O>()), detail: detail.into(), ..self }
    }

    /// The data on which all ranks must agree.
    fn key(&self) -> impl Hash + PartialEq + '_ {
        (&self.name, &self.detail, self.op, self.window)
    }

    /// Equal on all ranks that agree.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.key().hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn agrees_with(&self, other: &Opening) -> bool {
        self.key() == other.key()
    }

    pub(crate) fn is_load(&self) -> bool {
        self.rule == Rule::Announced
    }

    pub(crate) fn has_writes(&self) -> bool {
        matches!(self.rule, Rule::Ended | Rule::EndedInOrder | Rule::EndedInSteps)
    }

    pub(crate) fn claim(&self, rank: Rank, object: &ObjectName) -> Claim {
        let Opening { name, detail, window, .. } = self;
        let article = article(name);
        let action = match self.rule {
            Rule::Met => format!("{name} {window}{object}"),
            Rule::EndedInSteps if !detail.is_empty() => {
                format!("is in {detail} of its {name} of {window}{object}")
            }
            _ => format!("opened {article} {name}{detail} of {window}{object}"),
        };
        Claim { rank, action, site: self.site.clone() }
    }
}
