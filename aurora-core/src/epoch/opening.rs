//! What a rank opens, and how the others quote it.

use crate::Site;
use crate::error::{Claim, ObjectName};
use crate::operation::{OpId, short};
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// When a collective scope is settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Rule {
    /// A load: when all ranks have announced it. Loads are settled in their order, also those of different parts.
    Announced,
    /// A scope of writes: when all ranks have ended it and all that they have sent is applied.
    Ended,
    /// The same; what ranks have for an owner is applied there in the order of their numbers.
    EndedInOrder,
    /// When the neighbours have announced it. The other ranks say nothing.
    Neighbours,
    /// All ranks have met before: when this rank's part is done.
    Met,
}

/// A rank's side of a collective scope: what must be the same everywhere, and the words and the line that quote it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// What is opened, in a word. Under [`Rule::Met`]: what is done.
    pub(crate) name: Cow<'static, str>,
    /// What must be equal besides, in words that follow the name.
    detail: Cow<'static, str>,
    pub(crate) op: Option<OpId>,
    pub(crate) rule: Rule,
    /// What its messages and waits are counted under.
    pub(crate) kind: Kind,
    pub(crate) window: Window,
    pub(crate) site: Site,
}

impl Opening {
    /// Of the whole object, without an operation.
    pub(crate) fn new(name: &'static str, kind: Kind, rule: Rule, site: &Site) -> Self {
        let (name, detail, site) = (Cow::Borrowed(name), Cow::Borrowed(""), site.clone().clipped());
        Opening { name, detail, op: None, rule, kind, window: Window::WHOLE, site }
    }

    /// Of a part of it.
    pub(crate) fn of(self, window: Window) -> Self {
        Opening { window, ..self }
    }

    /// With words that must be equal on all ranks.
    pub(crate) fn with(self, detail: impl Into<Cow<'static, str>>) -> Self {
        Opening { detail: detail.into(), ..self }
    }

    /// With operation `O`. Its name travels in headers, whose length is limited.
    pub(crate) fn with_op<O: 'static>(self) -> Self {
        const LONGEST_NAME: usize = 40;
        let name = short::<O>();
        let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(at, _)| at);
        let detail = format!("{} with operation {}", self.detail, &name[..end]);
        Opening { op: Some(OpId::of::<O>()), detail: detail.into(), ..self }
    }

    /// What all ranks must agree on.
    fn key(&self) -> impl Hash + PartialEq + '_ {
        (&self.name, &self.detail, self.op, self.window)
    }

    /// A number that is the same of all that agree.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.key().hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn agrees_with(&self, other: &Opening) -> bool {
        self.key() == other.key()
    }

    /// Whether it is a load, which its rank waits for.
    pub(crate) fn is_load(&self) -> bool {
        self.rule == Rule::Announced
    }

    /// Whether its end sends what was written in it.
    pub(crate) fn has_writes(&self) -> bool {
        matches!(self.rule, Rule::Ended | Rule::EndedInOrder)
    }

    /// The opening as another rank quotes it.
    pub(crate) fn claim(&self, rank: Rank, object: &ObjectName) -> Claim {
        let Opening { name, detail, window, .. } = self;
        let article = if name.starts_with('A') { "an" } else { "a" };
        let action = match self.rule {
            Rule::Met => format!("{name} {window}{object}"),
            _ => format!("opened {article} {name}{detail} of {window}{object}"),
        };
        Claim { rank, action, site: self.site.clone() }
    }
}
