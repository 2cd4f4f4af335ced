//! What stands above the transport: the contract between an [`Endpoint`](crate::Endpoint) and the library that uses it.
//!
//! The transport moves *transfers*: a short header that only the handler understands, and a payload of any length.
//! Transfers arrive whole, exactly once and intact, **in no particular order**. Payload bytes stay outside the
//! transport: it asks the handler for them when a packet is built and hands them over when one arrives, so that they
//! are copied once on each side.
//!
//! Every method is called under the endpoint's one lock, by whichever thread drives it at that moment; none may block.

use crate::shm::{BUFFER, BufferPool, NodeRank};
use crate::{Buffer, MailboxSender, Rank, SharedBuffer, SharedView};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The handler's own name for a piece of memory that it lends to the transport.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token(pub u64);

/// What a transfer carries beside its header.
#[derive(Debug)]
pub enum Payload {
    /// Nothing.
    Empty,
    /// Bytes that the transport holds until they are acknowledged.
    Bytes(Bytes),
    /// A [`Buffer`] that the receiver can read where it lies.
    Shared(SharedBuffer),
    /// `len` bytes that the handler lends: read through [`Handler::read`] whenever a packet is built, given back
    /// by [`Handler::released`].
    Lent {
        /// Which memory.
        token: Token,
        /// How many bytes.
        len: usize,
    },
}

impl Payload {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Payload::Empty => 0,
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Shared(bytes) => bytes.len(),
            Payload::Lent { len, .. } => *len,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where an arriving payload goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Into memory of the transport, delivered as [`Received::Bytes`].
    Buffer,
    /// Straight to its final place, through [`Handler::write`].
    At(Token),
}

/// The payload of a transfer that has arrived whole.
#[derive(Debug)]
pub enum Received {
    /// Buffered by the transport (empty where the transfer carried none).
    Bytes(Vec<u8>),
    /// Still where its sender has put it, who has the memory back when this is dropped. To be dropped soon.
    Shared(SharedView),
    /// Already written where [`Handler::place`] said.
    Placed(Token),
}

impl Received {
    /// The bytes, where they have not been placed.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Received::Bytes(bytes) => bytes,
            Received::Shared(view) => view,
            Received::Placed(_) => &[],
        }
    }

    /// The same in memory of our own.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Received::Bytes(bytes) => bytes,
            Received::Shared(view) => view.to_vec(),
            Received::Placed(_) => Vec::new(),
        }
    }

    /// Gives the sender its memory back, at the cost of a copy.
    pub fn detach(&mut self) {
        if let Received::Shared(view) = self {
            *self = Received::Bytes(view.to_vec());
        }
    }
}

/// The library above the transport.
pub trait Handler: Send + 'static {
    /// The header of a transfer from `from` is here; its payload has `len > 0` bytes. Where do they go?
    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement;

    /// Bytes `offset..offset + bytes.len()` of a placed payload have arrived. A token that has been withdrawn in the
    /// meantime is ignored.
    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]);

    /// Fills `into` with the lent payload's bytes from `offset` on. False: withdrawn, the transfer is abandoned.
    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool;

    /// A transfer has arrived whole.
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, out: &mut Outbox);

    /// A lent payload is not needed any more: acknowledged, abandoned, or its peer is lost.
    fn released(&mut self, token: Token, out: &mut Outbox);

    /// What the header of a transfer says, in a few words, for those who trace.
    fn describe(&self, header: &[u8]) -> String {
        let _ = header;
        String::new()
    }

    /// `rank` has not been heard of for `silent_for` although something of ours waits for its acknowledgement; or it is
    /// known to have died, and `silent_for` is zero. Said once for a rank; what was queued for it has been dropped.
    fn peer_lost(&mut self, rank: Rank, silent_for: Duration, out: &mut Outbox);

    /// Whether the job has failed, so that what is still under way need not arrive, and nobody is to wait for it.
    fn has_failed(&self) -> bool {
        false
    }

    /// When [`Handler::handle_timeout`] is to be called, if at all.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The time asked for has come.
    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox);
}

/// Transfers on their way out, collected while a handler works and sent when it returns.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: Vec<Outgoing>,
    recycled: Vec<Vec<u8>>,
    nudges: Vec<Rank>,
    lender: Option<Lender>,
}

/// Where shared buffers come from, and which ranks can be handed them.
#[derive(Debug)]
pub(crate) struct Lender {
    pub pool: Arc<BufferPool>,
    /// By ranks: their numbers on the node.
    pub node_ranks: Vec<Option<NodeRank>>,
}

/// One transfer on its way out.
#[derive(Debug)]
pub struct Outgoing {
    /// To whom; never to the sender itself.
    pub to: Rank,
    /// What the handler there will understand: 1 to [`MAX_HEADER`] bytes. (Endpoints tell each other without.)
    pub header: Bytes,
    /// What travels with it.
    pub payload: Payload,
    /// Nobody is to be woken for it but a thread that waits.
    pub lazy: bool,
}

/// The longest header of a transfer, in bytes. What is longer belongs into the payload.
pub const MAX_HEADER: usize = 1024;

impl Outbox {
    /// Queues a transfer.
    pub fn send(&mut self, to: Rank, header: impl Into<Bytes>, payload: Payload) {
        self.push(Outgoing { to, header: header.into(), payload, lazy: false });
    }

    /// As [`Outbox::send`], for what is in no hurry: where the receiver shares our memory, none of its threads is woken
    /// for it unless one waits. It is taken in when the receiver looks again by itself, after a second or so, or after
    /// [`Outbox::nudge`].
    pub fn send_lazily(&mut self, to: Rank, header: impl Into<Bytes>, payload: Payload) {
        self.push(Outgoing { to, header: header.into(), payload, lazy: true });
    }

    /// For the condition of [`Endpoint::wait`](crate::Endpoint::wait): before the waiting thread sleeps, has a rank
    /// look at what was sent to it lazily.
    pub fn nudge(&mut self, to: Rank) {
        self.nudges.push(to);
    }

    fn push(&mut self, outgoing: Outgoing) {
        // One without a header is what endpoints tell each other.
        assert!((1..=MAX_HEADER).contains(&outgoing.header.len()), "a header of {} bytes", outgoing.header.len());
        self.queue.push(outgoing);
    }

    /// Memory of `len` bytes, of any content, for a payload to be made in: one that `to` can read where it lies, if
    /// there is such.
    pub fn buffer(&self, to: Rank, len: usize) -> Buffer {
        let lender = self.lender.as_ref().filter(|lender| len <= BUFFER && lender.node_ranks[to.index()].is_some());
        match lender.and_then(|lender| lender.pool.take()) {
            Some(shared) => {
                let mut buffer = Buffer::shared(shared);
                buffer.truncate(len);
                buffer
            }
            None => Buffer::own(vec![0; len]),
        }
    }

    /// The same with a mailbox behind it, for more that is as long, where `to` shares our memory and there is room. The
    /// receiver has the other end by [`SharedView::into_mailbox`], and has to know that there is one.
    pub fn mailbox(&self, to: Rank, len: usize) -> Option<(Buffer, MailboxSender)> {
        let lender = self.lender.as_ref()?;
        let peer = lender.node_ranks[to.index()]?;
        let mut shared = lender.pool.take()?;
        shared.truncate(len);
        let sender = shared.mailbox(peer)?;
        Some((Buffer::shared(shared), sender))
    }

    pub(crate) fn set_lender(&mut self, lender: Lender) {
        self.lender = Some(lender);
    }

    /// Takes all that is queued.
    pub(crate) fn take(&mut self) -> Outbox {
        let lender = self.lender.take();
        let queued = std::mem::take(self);
        self.lender = lender;
        queued
    }

    /// Takes what has been queued, oldest first.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Outgoing> {
        self.queue.drain(..)
    }

    /// Gives back the buffer of a payload that came as [`Received::Bytes`], for another one. Nobody has to; it saves
    /// the system the making of fresh memory where large ones come one after the other.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.recycled.push(buffer);
    }

    /// Takes what has been given back.
    pub(crate) fn recycled(&mut self) -> std::vec::Drain<'_, Vec<u8>> {
        self.recycled.drain(..)
    }

    /// Takes whom to call.
    pub(crate) fn nudges(&mut self) -> std::vec::Drain<'_, Rank> {
        self.nudges.drain(..)
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.recycled.is_empty() && self.nudges.is_empty()
    }
}
