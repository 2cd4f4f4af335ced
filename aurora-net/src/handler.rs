//! The contract between an [`Endpoint`](crate::Endpoint) and the library above it.
//!
//! The transport moves *transfers*: a short header that only the handler understands, and a payload of any length.
//! Transfers arrive whole, exactly once and intact, **in no particular order**. Payloads stay outside the transport: it
//! asks the handler for bytes when it builds a packet, and passes bytes on when a packet arrives. So they are copied
//! once on each side.
//!
//! The endpoint calls the handler's methods under its lock, on the thread that drives it. No method may block.

use crate::poller::Poller;
use crate::shm::{BUFFER, BufferPool, NodeRank};
use crate::source::Sources;
use crate::{Buffer, Doorbell, Error, Loss, MailboxSender, Rank, SharedBuffer, SharedView, Source};
use bytes::Bytes;
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

/// The handler's identifier of memory that it lends to the transport.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Token(pub u64);

/// The payload of an outgoing transfer.
#[derive(Debug)]
pub enum Payload {
    /// No payload.
    Empty,
    /// Bytes that the transport keeps until they are acknowledged.
    Bytes(Bytes),
    /// A [`Buffer`] that the receiver reads in place.
    Shared(SharedBuffer),
    /// `len` bytes lent by the handler: read by [`Handler::read`], released by [`Handler::released`].
    Lent {
        /// Identifies the memory.
        token: Token,
        /// The length in bytes.
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

    /// Returns true if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, or the token by which the handler reads them.
    pub(crate) fn contents(&self) -> Result<&[u8], Token> {
        match self {
            Payload::Empty => Ok(&[]),
            Payload::Bytes(bytes) => Ok(bytes),
            Payload::Shared(bytes) => Ok(bytes),
            Payload::Lent { token, .. } => Err(*token),
        }
    }

    /// The token of a lent payload.
    pub(crate) fn token(&self) -> Option<Token> {
        self.contents().err()
    }
}

/// The destination of an incoming payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// A buffer of the transport, delivered as [`Received::Bytes`].
    Buffer,
    /// Its final place, written by [`Handler::write`].
    At(Token),
}

/// The destination of a payload that arrives in parts. A buffer grows with the bytes that arrive, not with the
/// announced length.
#[derive(Debug)]
pub(crate) enum Destination {
    Buffer(Vec<u8>),
    At(Token),
}

impl Destination {
    pub fn into_received(self) -> Received {
        match self {
            Destination::Buffer(bytes) => Received::Bytes(bytes),
            Destination::At(token) => Received::Placed(token),
        }
    }
}

/// The payload of a delivered transfer.
#[derive(Debug)]
pub enum Received {
    /// Bytes in a buffer of the transport; empty if the transfer has no payload.
    Bytes(Vec<u8>),
    /// A view of the sender's buffer. Dropping the view gives the buffer back to the sender: drop it soon.
    Shared(SharedView),
    /// The bytes are already at the place that [`Handler::place`] has returned.
    Placed(Token),
}

impl Received {
    /// The bytes; empty if they were placed.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Received::Bytes(bytes) => bytes,
            Received::Shared(view) => view,
            Received::Placed(_) => &[],
        }
    }

    /// The bytes in private memory; empty if they were placed.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Received::Bytes(bytes) => bytes,
            Received::Shared(view) => view.to_vec(),
            Received::Placed(_) => Vec::new(),
        }
    }

    /// Copies the bytes, so that the sender gets its buffer back.
    pub fn detach(&mut self) {
        if let Received::Shared(view) = self {
            *self = Received::Bytes(view.to_vec());
        }
    }
}

/// The library above the transport. The methods with a default suffice for a handler that lends and places no memory,
/// has no timers, ignores lost peers and watches no sources.
pub trait Handler: Send + 'static {
    /// The header of a transfer from `from` has arrived; its payload has `len > 0` bytes. Returns their place.
    fn place(&mut self, from: Rank, header: &[u8], len: usize) -> Placement;

    /// Bytes of a placed payload from `offset` on have arrived. Ignore them if the token is no longer valid.
    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        let _ = (token, offset, bytes);
    }

    /// Fills `into` with the lent payload's bytes from `offset` on. False: withdrawn, the transfer is abandoned.
    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        let _ = (token, offset, into);
        false
    }

    /// A transfer has arrived.
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, out: &mut Outbox);

    /// A lent payload is no longer needed: it is acknowledged or abandoned, or its peer is lost.
    fn released(&mut self, token: Token, out: &mut Outbox) {
        let _ = (token, out);
    }

    /// The meaning of a header in a few words, for traces.
    fn describe(&self, header: &[u8]) -> String {
        let _ = header;
        String::new()
    }

    /// `rank` is lost. Called once per rank. Transfers queued for it have been dropped.
    fn peer_lost(&mut self, rank: Rank, loss: Loss, out: &mut Outbox) {
        let _ = (rank, loss, out);
    }

    /// Returns true if the job has failed: transfers in progress need not complete then.
    fn has_failed(&self) -> bool {
        false
    }

    /// Returns true if a waiting thread may poll for up to 220 us before it sleeps, where each rank of the node has a
    /// core. False: other threads of this rank need the core.
    fn may_poll(&self) -> bool {
        true
    }

    /// The time at which to call [`Handler::handle_timeout`]; `None`: never.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The time that [`Handler::poll_timeout`] has returned is reached.
    fn handle_timeout(&mut self, now: Instant, out: &mut Outbox) {
        let _ = (now, out);
    }

    /// A source from [`Outbox::watch`] is readable or at its end, or one from [`Outbox::doorbell`] has been rung.
    /// Reads the descriptor, or calls [`Outbox::unwatch`]; a descriptor that is still readable is reported again.
    fn ready(&mut self, source: Source, out: &mut Outbox) {
        out.unwatch(source);
    }
}

/// Outgoing transfers, collected during a call of the handler and sent after it.
#[derive(Debug, Default)]
pub struct Outbox {
    queued: Queued,
    lender: Option<Lender>,
    sources: Sources,
}

/// The content of an [`Outbox`], which the endpoint takes out after a call of the handler.
#[derive(Debug, Default)]
pub(crate) struct Queued {
    /// Oldest first.
    pub transfers: Vec<Outgoing>,
    pub recycled: Vec<Vec<u8>>,
    pub nudges: Vec<Rank>,
}

/// The buffer pool, and the ranks to which its buffers can be handed.
#[derive(Debug)]
pub(crate) struct Lender {
    pub pool: Arc<BufferPool>,
    /// By rank: the node rank, if it is a node peer.
    pub node_ranks: Vec<Option<NodeRank>>,
}

/// An outgoing transfer.
#[derive(Debug)]
pub struct Outgoing {
    /// The receiver; never the sender itself.
    pub to: Rank,
    /// The header, for the receiver's handler: 1 to [`MAX_HEADER`] bytes. (Messages between endpoints have none.)
    pub header: Bytes,
    /// The payload.
    pub payload: Payload,
    /// True: the transfer wakes only a waiting thread.
    pub lazy: bool,
}

/// The maximal length of a header in bytes. Longer information belongs in the payload.
pub const MAX_HEADER: usize = 1024;

impl Outbox {
    /// Queues a transfer.
    pub fn send(&mut self, to: Rank, header: impl Into<Bytes>, payload: Payload) {
        self.push(Outgoing { to, header: header.into(), payload, lazy: false });
    }

    /// Queues a transfer lazily: a receiver that shares memory with this rank is woken only if one of its
    /// threads waits. Otherwise it receives the transfer when it next looks, after about a second, or after
    /// [`Outbox::nudge`].
    pub fn send_lazily(&mut self, to: Rank, header: impl Into<Bytes>, payload: Payload) {
        self.push(Outgoing { to, header: header.into(), payload, lazy: true });
    }

    /// Makes rank `to` look for lazy transfers before the waiting thread sleeps. Call this in the condition of
    /// [`Endpoint::wait`](crate::Endpoint::wait).
    pub fn nudge(&mut self, to: Rank) {
        self.queued.nudges.push(to);
    }

    fn push(&mut self, outgoing: Outgoing) {
        // Transfers without a header are messages between endpoints.
        assert!((1..=MAX_HEADER).contains(&outgoing.header.len()), "a header of {} bytes", outgoing.header.len());
        self.queued.transfers.push(outgoing);
    }

    /// Returns a buffer of `len` bytes with arbitrary content for a payload to `to`: in shared memory if possible.
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

    /// Returns a buffer like that of [`Outbox::buffer`], in shared memory, with a mailbox behind it for further
    /// payloads of this length. `None` if `to` shares no memory with this rank, or there is no room. The receiver must
    /// know of the mailbox and call [`SharedView::into_mailbox`].
    pub fn mailbox(&self, to: Rank, len: usize) -> Option<(Buffer, MailboxSender)> {
        let lender = self.lender.as_ref()?;
        let peer = lender.node_ranks[to.index()]?;
        let mut shared = lender.pool.take()?;
        shared.truncate(len);
        let sender = shared.mailbox(peer)?;
        Some((Buffer::shared(shared), sender))
    }

    /// Watches a descriptor, which should be non-blocking: while it is readable, [`Handler::ready`] is called. The
    /// descriptor stays open until [`Outbox::unwatch`] or the end of the endpoint. If nothing more will be written to
    /// it, or Linux reports an error for it, its end is reported after the last byte is read, and it is not watched
    /// any more. An `Outbox` without an endpoint watches nothing: a simulation calls [`Handler::ready`] itself.
    ///
    /// # Errors
    /// [`Error::System`] or [`Error::OpenFiles`]: Linux cannot watch it (a plain file is always readable), watches it
    /// already, or has reached a limit.
    pub fn watch(&mut self, descriptor: impl Into<Arc<OwnedFd>>) -> Result<Source, Error> {
        self.sources.watch(descriptor.into(), false)
    }

    /// Makes a source that the threads of this process can make ready without a descriptor of their own.
    ///
    /// # Errors
    /// [`Error::System`] or [`Error::OpenFiles`]: Linux has reached a limit.
    pub fn doorbell(&mut self) -> Result<(Source, Doorbell), Error> {
        self.sources.doorbell()
    }

    /// Stops watching `source`: [`Handler::ready`] is not called for it again. Does nothing if it is not watched.
    pub fn unwatch(&mut self, source: Source) {
        self.sources.unwatch(source);
    }

    pub(crate) fn sources(&mut self) -> &mut Sources {
        &mut self.sources
    }

    pub(crate) fn of(poller: Arc<Poller>, lender: Option<Lender>) -> Self {
        Outbox { lender, sources: Sources::of(poller), ..Outbox::default() }
    }

    pub(crate) fn take(&mut self) -> Queued {
        mem::take(&mut self.queued)
    }

    /// Takes the queued transfers, oldest first.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Outgoing> {
        self.queued.transfers.drain(..)
    }

    /// Gives a buffer from [`Received::Bytes`] back for reuse. Optional: it saves allocations of large payloads.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.queued.recycled.push(buffer);
    }

    /// Returns true if nothing is queued.
    pub fn is_empty(&self) -> bool {
        let Queued { transfers, recycled, nudges } = &self.queued;
        transfers.is_empty() && recycled.is_empty() && nudges.is_empty()
    }
}
