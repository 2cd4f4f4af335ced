//! The messages and requests about a vector: headers of transfers.

use crate::behaviour::halo::message::HaloMessage;
use crate::behaviour::paged::message::PagesMessage;
use crate::behaviour::read_cache::message::LoadMessage;
use crate::behaviour::release::message::Written;
use crate::distribution::Distribution;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::{Cx, How};
use crate::ops::OpId;
use crate::scope::ScopeMessage;
use crate::stats::Kind;
use crate::vector::check::Stamp;
use crate::window::Window;
use aurora_net::{Payload, Rank};
use serde::{Deserialize, Serialize};

/// A message: its protocol, in one byte of the header, and the message of that protocol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    Load(LoadMessage),
    Flush(ScopeMessage<Written>),
    Halo(HaloMessage),
    Pages(PagesMessage),
}

impl Message {
    /// Decodes a header; `None` if it cannot be about a vector of this distribution.
    pub(crate) fn decode(header: &[u8], dist: &Distribution) -> Option<Self> {
        let message: Message = postcard::from_bytes(header).ok()?;
        let opening = match &message {
            Message::Load(load) => load.opening(),
            // Checked when it is delivered.
            Message::Flush(_) => None,
            Message::Halo(halo) => halo.entry.as_ref().map(|(opening, _)| opening),
            Message::Pages(_) => None,
        };
        opening.is_none_or(|opening| opening.window.is_of(dist.len())).then_some(message)
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Message::Load(_) => Kind::Load,
            Message::Flush(flush) => flush.kind(),
            Message::Halo(_) => Kind::Halo,
            Message::Pages(_) => Kind::Page,
        }
    }

    /// True if the message wakes a rank only if the rank waits. An edge is needed only once the rank is in the same
    /// exchange, and changes of pages once it is in the same sync.
    fn is_lazy(&self) -> bool {
        match self {
            Message::Load(_) | Message::Flush(_) => false,
            Message::Halo(_) | Message::Pages(_) => true,
        }
    }

    /// Sends the message, counted for the program's line that `reason` names.
    pub(crate) fn send(&self, reason: &Reason, to: Rank, payload: Payload, cx: &mut Cx<'_>) {
        cx.send(to, self, payload, How { lazy: self.is_lazy(), ..How::default().on(reason) });
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
    /// Pages, for a rank that has departed from `after` syncs of its scope; payload: their numbers in the block.
    Pages { after: u64 },
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
        matches!(self, Request::Read { .. } | Request::ReadMany { .. } | Request::Pages { .. })
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
