//! The headers of transfers to objects, and the messages of kernels.
//!
//! A header begins with a number: the object times four, plus the kind of the transfer. Only that object can read
//! the rest of the header. 0 stands for a message of kernels, 1 for an answer.

use crate::ids::{CallId, ObjectId};
use crate::{Error, Kind};
use aurora_net::{MAX_HEADER, Rank};
use serde::{Deserialize, Serialize};

/// A header, as far as kernels understand it.
pub(crate) enum Header<'h> {
    /// A message of kernels, and the bytes that follow it.
    Kernel(Message, &'h [u8]),
    /// The answer to a request; payload: the requested data, or an [`Error`] if refused.
    Reply { id: CallId, refused: bool },
    /// A message to an object.
    Object { object: ObjectId, header: &'h [u8] },
    /// A request to an object. If `lent`, the asker may withdraw its payload: then the request never arrives.
    Request { object: ObjectId, id: CallId, lent: bool, header: &'h [u8] },
}

const KERNEL: u64 = 0;
const REPLY: u64 = 1;
/// The kinds of transfers to an object.
const OBJECT: u64 = 0;
const REQUEST: u64 = 1;
const LENT: u64 = 2;

impl<'h> Header<'h> {
    pub(crate) fn decode(bytes: &'h [u8]) -> Option<Self> {
        let (first, rest) = postcard::take_from_bytes::<u64>(bytes).ok()?;
        let object = ObjectId(first >> 2);
        Some(match (first, first & 3) {
            (KERNEL, _) => {
                let (message, rest) = postcard::take_from_bytes(rest).ok()?;
                Header::Kernel(message, rest)
            }
            (REPLY, _) => {
                let (id, refused) = postcard::from_bytes(rest).ok()?;
                Header::Reply { id, refused }
            }
            (_, OBJECT) => Header::Object { object, header: rest },
            (_, how @ (REQUEST | LENT)) => {
                let (id, header) = postcard::take_from_bytes(rest).ok()?;
                Header::Request { object, id, lent: how == LENT, header }
            }
            _ => return None,
        })
    }

    pub(crate) fn object(&self) -> Option<ObjectId> {
        match *self {
            Header::Object { object, .. } | Header::Request { object, .. } => Some(object),
            Header::Kernel(Message::Dropped { object }, _) => Some(object),
            Header::Kernel(Message::Fault { object }, _) => object,
            Header::Kernel(..) | Header::Reply { .. } => None,
        }
    }

    /// True if the watch over waiting ranks counts the transfer, to know that no message is under way. It does not
    /// count its own messages, because they must not change its result, nor a request whose payload may be withdrawn.
    pub(crate) fn is_counted(&self) -> bool {
        match self {
            Header::Kernel(message, _) => message.is_counted(),
            Header::Request { lent, .. } => !lent,
            Header::Reply { .. } | Header::Object { .. } => true,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadHeader {
    /// The length of the header in bytes, with the numbers that the kernel adds.
    #[error("a header of {0} bytes: 1000 bytes are allowed, so put long data into the payload")]
    TooLong(usize),
    #[error("a header cannot be encoded: {0}")]
    NotData(#[from] postcard::Error),
}

pub(crate) fn to_object(object: ObjectId, message: &impl Serialize) -> Result<Vec<u8>, BadHeader> {
    checked(&(object.0 << 2 | OBJECT, message))
}

pub(crate) fn request(
    object: ObjectId,
    id: CallId,
    lent: bool,
    request: &impl Serialize,
) -> Result<Vec<u8>, BadHeader> {
    checked(&(object.0 << 2 | if lent { LENT } else { REQUEST }, id, request))
}

fn checked(header: &impl Serialize) -> Result<Vec<u8>, BadHeader> {
    let header = postcard::to_allocvec(header)?;
    if header.len() > MAX_HEADER { Err(BadHeader::TooLong(header.len())) } else { Ok(header) }
}

pub(crate) fn reply(id: CallId, refused: bool) -> Vec<u8> {
    encode(&(REPLY, id, refused))
}

fn encode(header: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(header).expect("headers are plain data")
}

/// A message between kernels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// One round of a barrier; payload: the summary so far.
    Round { seq: u64, round: u32 },
    /// The sender's bytes for this rank in a step of the collective call that begins with barrier `seq`.
    Piece { seq: u64, step: u32 },
    /// "I have dropped this object." The bytes that follow are for the object, if it has no fault there.
    Dropped { object: ObjectId },
    /// "I have left the closure, having dropped this many objects."
    Left { dropped: u64 },
    /// A fault of an object, or of the job; payload: the [`Error`].
    Fault { object: Option<ObjectId> },
    /// A request for the receiver's state, sent along the edges of waits.
    Ask { look: u64 },
    /// The answer; payload: a [`RankState`](crate::kernel::watch::RankState).
    State { look: u64 },
    /// To rank 0: a request for the time of its clock. `sent`: the sender's time, in nanoseconds.
    AskTime { sent: u64 },
    /// The answer: the clock, in nanoseconds, and the number of the machine whose clock it is.
    Time { sent: u64, here: u64, machine: u64 },
    /// To rank 0, at the end of `run`; payload: this rank's [`Stats`](crate::Stats).
    Report,
}

impl Message {
    pub(crate) fn encode(&self, rest: &[u8]) -> Vec<u8> {
        let mut header = encode(&(KERNEL, self));
        header.extend_from_slice(rest);
        header
    }

    /// See [`Header::is_counted`].
    pub(crate) fn is_counted(&self) -> bool {
        !matches!(self, Message::Ask { .. } | Message::State { .. })
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Message::Round { .. } => Kind::Barrier,
            Message::Piece { .. } => Kind::Exchange,
            Message::Left { .. } | Message::Report => Kind::End,
            _ => Kind::Control,
        }
    }
}

pub(crate) fn encode_error(error: &Error) -> Vec<u8> {
    postcard::to_allocvec(error).expect("errors are plain data")
}

/// An [`Error`] from a payload. If it cannot be read, the result is [`malformed`].
pub(crate) fn decode_error(from: Rank, payload: &[u8]) -> Error {
    postcard::from_bytes(payload).unwrap_or_else(|_| malformed(from))
}

/// The error of a message that cannot be read: its sender runs another build of the program.
pub(crate) fn malformed(from: Rank) -> Error {
    Error::Start(format!("{from} sent a message that makes no sense: do all ranks run the same build of the program?"))
}
