//! What ranks say to each other of a vector: the headers of transfers.

use crate::Site;
use crate::distribution::Distribution;
use crate::element::OpId;
use crate::epoch::Opening;
use crate::halo::Halo;
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::object::{Cx, How};
use crate::stats::Kind;
use crate::window::Window;
use aurora_net::{Payload, Rank};
use serde::{Deserialize, Serialize};

/// A message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// "I have entered a ReadCache": the announcement, with my block as payload if it has changed since the last one.
    Enter {
        epoch: Epoch,
        opening: Opening,
        version: u64,
        /// My block lies where all of this node have mapped it.
        at_home: bool,
        writes: u64,
        marks: Vec<(u32, u64)>,
        list_follows: bool,
    },
    /// The writes that an announcement had no room for; payload: pairs of owner and number.
    Made { epoch: Epoch },
    /// What late writes changed in a block that had already been pushed; payload: a batch.
    Correct { epoch: Epoch, version: u64, writes: u64 },
    /// "These blocks of other nodes, which I receive for ours, stand in their places for this load." Payload: pairs of
    /// owner and version.
    Installed { epoch: Epoch },
    /// A block of another node that I receive for ours, for who loads into a copy of its own; payload: the block.
    Forward { epoch: Epoch, owner: Rank, version: u64 },
    /// Buffered writes of a ReleaseC scope, to be applied in the order of `seq`; payload: a batch.
    Batch { epoch: Epoch, seq: u64, opening: Opening, op: Option<OpId> },
    /// A batch has been applied: there is room for another.
    BatchDone,
    /// "My ReleaseC scope has ended, and I sent you so many batches in it." Payload: the last of them, with operation
    /// `op`, or nothing.
    End { epoch: Epoch, opening: Opening, batches: u64, op: Option<OpId> },
    /// My edge for exchange `number` of a HaloCache, 0 at its entry, which alone has an opening, and perhaps a mailbox
    /// behind its payload, the edge.
    Edge { epoch: Epoch, number: u64, entry: Option<(Opening, Halo)>, mailbox: bool },
    /// "I have come as far as this scope."
    Come { epoch: Epoch },
}

impl Message {
    /// What a header says, if that can be of a vector that lies like this.
    pub(crate) fn decode(header: &[u8], dist: &Distribution) -> Option<Self> {
        let message: Message = postcard::from_bytes(header).ok()?;
        let opening = match &message {
            Message::Enter { opening, .. }
            | Message::Batch { opening, .. }
            | Message::End { opening, .. }
            | Message::Edge { entry: Some((opening, _)), .. } => Some(opening),
            _ => None,
        };
        opening.is_none_or(|opening| opening.window.is_of(dist.len())).then_some(message)
    }

    /// What it is for.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Message::Enter { .. }
            | Message::Made { .. }
            | Message::Correct { .. }
            | Message::Installed { .. }
            | Message::Forward { .. } => Kind::Load,
            Message::Batch { opening, .. } | Message::End { opening, .. } => opening.kind,
            Message::BatchDone | Message::Come { .. } => Kind::Flush,
            Message::Edge { .. } => Kind::Halo,
        }
    }

    /// Whether nobody is to be woken for it who does not wait: a batch, before its sender waits for room; the word that
    /// there is some; an edge, which its receiver needs when it comes to the same exchange.
    fn is_lazy(&self) -> bool {
        matches!(self, Message::Batch { .. } | Message::BatchDone | Message::Edge { .. })
    }

    /// Sends it, on the account of a line of the program.
    pub(crate) fn send(&self, reason: &Reason, to: Rank, payload: Payload, cx: &mut Cx<'_>) {
        cx.send(to, self, payload, How { kind: self.kind(), lazy: self.is_lazy(), reason: Some(reason) });
    }
}

/// What a one-sided request asks of a block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Elements from local index `start` on, by a call that reads from so many `owners` at once.
    Read { start: u64, len: u64, owners: u32 },
    /// Scattered elements, for a scope of a part that holds them; payload: their local indices, of `width` bytes each.
    ReadMany { width: u8, window: Window },
    /// Writes or operations on elements of a window; payload: a batch.
    Write { op: Option<OpId>, window: Window },
    /// Consecutive elements from local index `start` on; payload: their values.
    WriteAt { start: u64 },
    /// Checking mode: "I have written so many elements from local index `start` on, at this line, in the ReleaseC alone
    /// opened at that one, and you will have the values later." Payload: nothing.
    Announce { start: u64, len: u64, update: bool, line: Site, opened: Site, window: Window },
    /// Checking mode: "you have them, and that scope has ended."
    Flushed { window: Window },
}

impl Request {
    /// The part of the vector that it is about, which decides on the scopes that it comes behind.
    pub(crate) fn window(&self) -> Window {
        match self {
            Request::Write { window, .. }
            | Request::ReadMany { window, .. }
            | Request::Announce { window, .. }
            | Request::Flushed { window } => *window,
            _ => Window::WHOLE,
        }
    }
}

/// A request, of a rank that has entered `epoch` scopes of the vector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) epoch: Epoch,
    pub(crate) request: Request,
}

impl Request {
    /// What a header asks for, if that can be of a vector that lies like this.
    pub(crate) fn decode(header: &[u8], dist: &Distribution) -> Option<Asked> {
        let asked: Asked = postcard::from_bytes(header).ok()?;
        asked.request.window().is_of(dist.len()).then_some(asked)
    }

    /// Whether it does nothing but read.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self, Request::Read { .. } | Request::ReadMany { .. })
    }

    /// Whether it changes elements.
    pub(crate) fn writes(&self) -> bool {
        matches!(self, Request::Write { .. } | Request::WriteAt { .. })
    }
}
