//! What a rank opens, and how the others quote it.

use crate::Site;
use crate::error::{Claim, ObjectName};
use crate::halo::Halo;
use crate::operation::{OpId, short};
use crate::window::Window;
use aurora_net::Rank;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The behaviours that all ranks enter together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Collective {
    ReadCache,
    /// The load of a ReadCache and ReleaseC in one; its writes are the next scope.
    Combined,
    ReleaseC,
    Fill,
    Accumulate,
    /// What ranks have for an owner is applied there in the order of their numbers.
    AccumulateInOrder,
    HaloCache {
        halo: Halo,
        writes: bool,
    },
    /// Of a scalar.
    ReadMostly,
}

impl Collective {
    /// Whether its end sends what was written in it.
    pub(crate) fn has_writes(self) -> bool {
        use Collective::{Accumulate, AccumulateInOrder, ReadMostly, ReleaseC};
        matches!(self, ReleaseC | Accumulate | AccumulateInOrder | ReadMostly)
    }

    /// What its messages are accounted to.
    pub(crate) fn action(self) -> &'static str {
        match self {
            Collective::ReadCache => "ReadCache",
            Collective::Combined => "ReadCache + ReleaseC",
            Collective::ReleaseC => "ReleaseC",
            Collective::Fill => "a fill",
            Collective::Accumulate | Collective::AccumulateInOrder => "Accumulate",
            Collective::HaloCache { .. } => "HaloCache",
            Collective::ReadMostly => "ReadMostly",
        }
    }
}

/// A rank's side of a collective scope: what must be the same everywhere, and the line that quotes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    pub(crate) behaviour: Collective,
    pub(crate) op: Option<OpId>,
    /// The operation as messages call it; empty without one.
    pub(crate) op_name: Cow<'static, str>,
    pub(crate) window: Window,
    pub(crate) site: Site,
}

impl Opening {
    /// Of the whole vector, without an operation.
    pub(crate) fn new(behaviour: Collective, site: &Site) -> Self {
        Opening { behaviour, op: None, op_name: Cow::Borrowed(""), window: Window::WHOLE, site: site.clone().clipped() }
    }

    /// Of a part of it.
    pub(crate) fn of(self, window: Window) -> Self {
        Opening { window, ..self }
    }

    /// With operation `O`. Its name travels in headers, whose length is limited.
    pub(crate) fn with_op<O: 'static>(self) -> Self {
        const LONGEST_NAME: usize = 40;
        let name = short::<O>();
        let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(at, _)| at);
        Opening { op: Some(OpId::of::<O>()), op_name: Cow::Borrowed(&name[..end]), ..self }
    }

    /// A number that is the same of all that agree.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.behaviour, self.op, self.window).hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn agrees_with(&self, other: &Opening) -> bool {
        (self.behaviour, self.op, self.window) == (other.behaviour, other.op, other.window)
    }
}

impl Opening {
    /// Whether it is a load, which its rank waits for.
    pub(crate) fn is_load(&self) -> bool {
        matches!(self.behaviour, Collective::ReadCache | Collective::Combined)
    }

    /// The opening as another rank quotes it.
    pub(crate) fn claim(&self, rank: Rank, object: &ObjectName) -> Claim {
        let part = self.window;
        let action = match self.behaviour {
            Collective::ReadCache => format!("opened a ReadCache of {part}{object}"),
            Collective::Combined => format!("opened a ReadCache + ReleaseC of {part}{object}"),
            Collective::ReleaseC if self.op.is_some() => {
                format!("opened a ReleaseC with operation {} of {part}{object}", self.op_name)
            }
            Collective::ReleaseC => format!("opened a ReleaseC of {part}{object}"),
            Collective::Fill => format!("filled {object}"),
            Collective::Accumulate => format!("opened an Accumulate with operation {} of {object}", self.op_name),
            Collective::AccumulateInOrder => {
                format!("opened an Accumulate in order with operation {} of {object}", self.op_name)
            }
            Collective::HaloCache { halo, writes } => {
                let writes = if writes { ", for writing" } else { "" };
                format!("opened a HaloCache ({halo}{writes}) of {object}")
            }
            Collective::ReadMostly if self.op.is_some() => {
                format!("opened a ReadMostly with operation {} of {object}", self.op_name)
            }
            Collective::ReadMostly => format!("opened a ReadMostly of {object}"),
        };
        Claim { rank, action, site: self.site.clone() }
    }
}
