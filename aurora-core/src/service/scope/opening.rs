//! What a rank opens, and how the others quote it.

use crate::error::{Claim, ObjectName};
use crate::message::{Collective, Opening};
use aurora_net::Rank;

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
