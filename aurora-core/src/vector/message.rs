//! The headers about a vector: requests, and batches of scopes. Protocols have headers of their own.

use crate::distribution::Distribution;
use crate::ids::Epoch;
use crate::ops::OpId;
use crate::vector::check::Stamp;
use crate::window::Window;
use serde::{Deserialize, Serialize};

/// The first byte of a header about scopes. Headers of protocols begin with the protocol's number.
pub(crate) const SCOPES: u8 = 0;

/// A batch of a scope of writes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Written {
    /// Values that replace the old ones.
    Values,
    /// Operands of this operation.
    Operands(OpId),
    /// A batch of the protocol of this number.
    Of(u8),
}

impl From<Option<OpId>> for Written {
    fn from(op: Option<OpId>) -> Self {
        op.map_or(Written::Values, Written::Operands)
    }
}

/// A one-sided request about a block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Elements from local index `start` on, by a call that reads from `owners` owners at once.
    Read { start: u64, len: u64, owners: u32 },
    /// Scattered elements, for a scope of a part that holds them; payload: their local indices, of `width` bytes each.
    ReadMany { width: u8, window: Window },
    /// Writes or operations on elements of a window; payload: a batch.
    Write { op: Option<OpId>, window: Window },
    /// Consecutive elements from local index `start` on; payload: their values.
    WriteAt { start: u64 },
    /// Checking mode: the sender's ReleaseC alone of this number has ended; its values were sent before.
    Ended { number: u64, window: Window },
    /// A request of the protocol of this number, which gives the second number its meaning.
    Of { protocol: u8, number: u64 },
}

impl Request {
    /// The part of the vector that the request is about: the request is served after earlier scopes of this part.
    pub(crate) fn window(&self) -> Window {
        match self {
            Request::Write { window, .. } | Request::ReadMany { window, .. } | Request::Ended { window, .. } => *window,
            _ => Window::WHOLE,
        }
    }

    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Request::Read { .. } | Request::ReadMany { .. } | Request::Of { .. })
    }

    pub(crate) fn writes(&self) -> bool {
        matches!(self, Request::Write { .. } | Request::WriteAt { .. })
    }
}

/// A request, of a rank that has entered `epoch` scopes of the vector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) epoch: Epoch,
    pub(crate) request: Request,
    /// Checking mode: the origin of the request.
    pub(crate) stamp: Option<Box<Stamp>>,
}

impl Asked {
    /// Decodes a header; `None` if it cannot be about a vector of this distribution.
    pub(crate) fn decode(header: &[u8], dist: &Distribution) -> Option<Self> {
        let asked: Asked = postcard::from_bytes(header).ok()?;
        asked.request.window().is_of(dist.len()).then_some(asked)
    }
}
