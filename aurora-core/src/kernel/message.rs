//! What ranks say to each other: the headers of transfers. Payloads follow beside them.

use crate::element::OpId;
use crate::epoch::{Collective, Opening};
use crate::ids::{CallId, Epoch, ObjectId};
use crate::stats::Kind;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Rank;
use serde::{Deserialize, Serialize};

/// A header.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// One round of a rendezvous; payload: the summary so far.
    Round { seq: u64, round: u32 },
    /// What its sender gives to us in a step of the collective call that begins with this rendezvous.
    Piece { seq: u64, step: u32 },
    /// A one-sided request by a rank that has entered `epoch` scopes of the object.
    Call { id: CallId, object: ObjectId, epoch: Epoch, request: Request },
    /// Its answer; payload: what was asked for, or an [`Error`] if refused.
    Reply { id: CallId, refused: bool },
    /// "I have entered a ReadCache": the announcement, with my block as payload if it has changed since the last one.
    Enter {
        object: ObjectId,
        epoch: Epoch,
        opening: Opening,
        version: u64,
        /// My block lies where all of this node have mapped it.
        at_home: bool,
        contains: u64,
        made: Vec<(u32, u64)>,
        list_follows: bool,
    },
    /// The writes that an announcement had no room for; payload: pairs of owner and number.
    Made { object: ObjectId, epoch: Epoch },
    /// What late writes changed in a block that had already been pushed; payload: a batch.
    Correct { object: ObjectId, epoch: Epoch, version: u64, contains: u64 },
    /// "These blocks of other nodes, which I receive for ours, stand in their places for this load." Payload: pairs of owner
    /// and version.
    Stand { object: ObjectId, epoch: Epoch },
    /// A block of another node that I receive for ours, for who loads into a copy of its own; payload: the block.
    Forward { object: ObjectId, epoch: Epoch, owner: Rank, version: u64 },
    /// Buffered writes of a ReleaseC scope, to be applied in the order of `seq`; payload: a batch.
    Batch { object: ObjectId, epoch: Epoch, seq: u64, opening: Opening, op: Option<OpId> },
    /// A batch has been applied: there is room for another.
    BatchDone { object: ObjectId },
    /// "My ReleaseC scope has ended, and I sent you so many batches in it." Payload: the last of them, with operation
    /// `op`, or nothing.
    End { object: ObjectId, epoch: Epoch, opening: Opening, batches: u64, op: Option<OpId> },
    /// My edge for exchange `number` of a HaloCache, 0 at its entry, which alone has an opening, and perhaps a mailbox behind its
    /// payload, the edge.
    Edge { object: ObjectId, epoch: Epoch, number: u64, opening: Option<Opening>, mailbox: bool },
    /// "I have dropped this object, having entered so many of its scopes, the last like this."
    Dropped {
        object: ObjectId,
        /// `None` where that means nothing: the object is faulty.
        scopes: Option<(Epoch, Option<Opening>)>,
    },
    /// "I have left the closure, having dropped so many objects."
    Left { dropped: u64 },
    /// Something is wrong with an object, or with the job; payload: the [`Error`].
    Fault { object: Option<ObjectId> },
    /// "What are you doing?", asked along the edges of who waits for whom.
    Ask { look: u64 },
    /// The answer; payload: a [`RankState`](crate::kernel::watch::RankState).
    State { look: u64 },
    /// To a scalar's home: "I have come to this scope", one that shows something.
    Come { object: ObjectId, epoch: Epoch, opening: Opening },
    /// To a scalar's home: "My part of this scope has ended, and I made so many offers in it." Payload: what it contributes,
    /// if it does.
    Part { object: ObjectId, epoch: Epoch, opening: Opening, offers: u64, contributes: bool },
    /// From a scalar's home: "All have ended this scope."
    Over { object: ObjectId, epoch: Epoch },
    /// From a scalar's home: all have come to this scope, and this is the value, numbered in a ReadMostly; in it are so many of
    /// your offers.
    Spread { object: ObjectId, epoch: Epoch, number: u64, answered: u64 },
    /// To a scalar's home: so many values of this ReadMostly have come.
    Seen { object: ObjectId, epoch: Epoch, seen: u64 },
    /// To a scalar's home, in a ReadMostly: an operand that nobody waits for, applied in the order of `seq`.
    Offer { object: ObjectId, epoch: Epoch, seq: u64, op: OpId },
    /// To rank 0: "My clock said `sent`, in nanoseconds. What does yours say?"
    AskTime { sent: u64 },
    /// The answer: the clock, in nanoseconds, and the number of the machine whose clock it is.
    Time { sent: u64, here: u64, machine: u64 },
    /// To rank 0, at the end of `run`; payload: this rank's [`Stats`](crate::Stats).
    Report,
}

/// What a one-sided request asks of a block or a scalar.
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
    /// On a scalar; payload: operands.
    Scalar(ScalarRequest),
    /// Checking mode: "I have written so many elements from local index `start` on, at this line, in the ReleaseC alone opened at that one, and
    /// you will have the values later." Payload: nothing.
    Announce { start: u64, len: u64, update: bool, line: Site, opened: Site, window: Window },
    /// Checking mode: "you have them, and that scope has ended."
    Flushed { window: Window },
    /// The same as `Scalar` inside a ReadMostly, after so many offers of the same rank.
    Numbered { request: ScalarRequest, after: u64 },
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

/// What can be done to a scalar at its home.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum ScalarRequest {
    /// Reply: the value.
    Load,
    /// Payload: the new value. Reply: the old one.
    Swap,
    /// Payload: the operand. Reply: the old value.
    Fetch(OpId),
    /// Payload: length of the expected value as u32, the expected and the new value. Reply: the old value, changed if
    /// it was the expected one.
    CompareExchange,
}

impl Message {
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("headers are plain data")
    }

    pub(crate) fn decode(header: &[u8]) -> Option<Message> {
        postcard::from_bytes(header).ok()
    }

    /// The part of an object that it is about, where it names one.
    pub(crate) fn window(&self) -> Option<(ObjectId, Window)> {
        match self {
            Message::Call { object, request, .. } => Some((*object, request.window())),
            Message::Enter { object, opening, .. }
            | Message::Batch { object, opening, .. }
            | Message::End { object, opening, .. }
            | Message::Come { object, opening, .. }
            | Message::Part { object, opening, .. }
            | Message::Edge { object, opening: Some(opening), .. }
            | Message::Dropped { object, scopes: Some((_, Some(opening))) } => Some((*object, opening.window)),
            _ => None,
        }
    }

    /// The object that it is about, where it names one.
    pub(crate) fn object(&self) -> Option<ObjectId> {
        match self {
            Message::Call { object, .. }
            | Message::Enter { object, .. }
            | Message::Made { object, .. }
            | Message::Correct { object, .. }
            | Message::Stand { object, .. }
            | Message::Forward { object, .. }
            | Message::Batch { object, .. }
            | Message::BatchDone { object }
            | Message::End { object, .. }
            | Message::Edge { object, .. }
            | Message::Dropped { object, .. }
            | Message::Come { object, .. }
            | Message::Part { object, .. }
            | Message::Over { object, .. }
            | Message::Spread { object, .. }
            | Message::Seen { object, .. }
            | Message::Offer { object, .. } => Some(*object),
            Message::Fault { object } => *object,
            Message::Round { .. }
            | Message::Piece { .. }
            | Message::Reply { .. }
            | Message::Left { .. }
            | Message::Ask { .. }
            | Message::State { .. }
            | Message::AskTime { .. }
            | Message::Time { .. }
            | Message::Report => None,
        }
    }

    /// What it is, in a word, for traces.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Message::Call { request: Request::Write { .. } | Request::WriteAt { .. }, .. } => "write",
            Message::Call { request: Request::Read { .. } | Request::ReadMany { .. }, .. } => "read",
            other => other.kind("").name(),
        }
    }

    /// What it is for, sent on account of a call of this name.
    pub(crate) fn kind(&self, action: &str) -> Kind {
        match self {
            Message::Round { .. } => Kind::Barrier,
            Message::Piece { .. } => Kind::Exchange,
            Message::Call { request: Request::Scalar(_) | Request::Numbered { .. }, .. } => Kind::Scalar,
            Message::Call { .. } => Kind::of_action(action),
            Message::Reply { .. } => Kind::Answer,
            Message::Enter { .. }
            | Message::Made { .. }
            | Message::Correct { .. }
            | Message::Stand { .. }
            | Message::Forward { .. } => Kind::Load,
            Message::Batch { opening, .. } | Message::End { opening, .. } => match opening.behaviour {
                Collective::Accumulate | Collective::AccumulateInOrder => Kind::Merge,
                _ => Kind::Flush,
            },
            Message::BatchDone { .. } => Kind::Flush,
            Message::Edge { .. } => Kind::Halo,
            Message::Come { .. }
            | Message::Part { .. }
            | Message::Over { .. }
            | Message::Spread { .. }
            | Message::Seen { .. }
            | Message::Offer { .. } => Kind::Scalar,
            Message::Dropped { .. }
            | Message::Fault { .. }
            | Message::Ask { .. }
            | Message::State { .. }
            | Message::AskTime { .. }
            | Message::Time { .. } => Kind::Control,
            Message::Left { .. } | Message::Report => Kind::End,
        }
    }

    /// Whether nobody is to be woken for it who does not wait: a batch, before its sender waits for room; the word that there is some;
    /// an answer; an edge, which its receiver needs when it comes to the same exchange.
    pub(crate) fn is_in_no_hurry(&self) -> bool {
        matches!(self, Message::Batch { .. } | Message::BatchDone { .. } | Message::Reply { .. } | Message::Edge { .. })
    }

    /// Whether the watch over waiting ranks counts it, to see that no message is under way. Not its own, which must not
    /// disturb what it watches; nor a write, whose sender waits for its answer or has withdrawn it: then it never comes.
    pub(crate) fn is_counted(&self) -> bool {
        let write = matches!(self, Message::Call { request: Request::WriteAt { .. }, .. });
        !write && !matches!(self, Message::Ask { .. } | Message::State { .. })
    }
}

/// An [`Error`] as payload.
pub(crate) fn encode_error(error: &Error) -> Vec<u8> {
    postcard::to_allocvec(error).expect("errors are plain data")
}

/// An [`Error`] from a payload; what cannot be read is reported as such, never swallowed.
pub(crate) fn decode_error(from: Rank, payload: &[u8]) -> Error {
    postcard::from_bytes(payload).unwrap_or_else(|_| malformed(from))
}

/// A rank speaks another protocol: it runs another build of the program.
pub(crate) fn malformed(from: Rank) -> Error {
    Error::Start(format!("{from} sent a message that makes no sense: do all ranks run the same build of the program?"))
}
