//! Transfers in both directions between this rank and one node peer, through their two rings.
//!
//! A ring holds a sequence of records. Each becomes visible as a whole and starts at a multiple of 16 bytes:
//!
//! | bytes | content |
//! |---|---|
//! | 2 | kind: 1 whole transfer, 2 first fragment, 3 next fragment, 4 withdrawn, 5 payload in a pool buffer |
//! | 2 | length of the header |
//! | 4 | length of the payload part in this record |
//! | 8 | length of the whole payload |
//! | | header, padded to a multiple of 16; payload part (kind 5: index of the sender's buffer, 8 bytes), padded too |
//!
//! A long transfer is sent in fragments as the ring empties, one such transfer at a time. Short transfers overtake it.

use super::buffer_pool::BufferPool;
use super::control::{NodeRank, Ring, RingEnds};
use super::ring::{Corrupt, Reader, Writer};
use crate::handler::Destination;
use crate::{Handler, MAX_HEADER, Outbox, Outgoing, Payload, Placement, Rank, Received, Token, Traffic};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;

const UNIT: usize = 16;

const NUMBER: usize = size_of::<u64>();

/// The maximum number of records received before the lock is released.
const BATCH: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Whole = 1,
    Begin = 2,
    More = 3,
    Withdrawn = 4,
    Handed = 5,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    kind: Kind,
    header: usize,
    part: usize,
    total: usize,
}

impl Record {
    fn encode(self) -> [u8; UNIT] {
        let mut bytes = [0; UNIT];
        bytes[0..2].copy_from_slice(&(self.kind as u16).to_ne_bytes());
        bytes[2..4].copy_from_slice(&(self.header as u16).to_ne_bytes());
        bytes[4..8].copy_from_slice(&(self.part as u32).to_ne_bytes());
        bytes[8..16].copy_from_slice(&(self.total as u64).to_ne_bytes());
        bytes
    }

    fn decode(bytes: [u8; UNIT]) -> Result<Self, Corrupt> {
        let [a, b, c, d, e, f, g, h, total @ ..] = bytes;
        let kind = match u16::from_ne_bytes([a, b]) {
            1 => Kind::Whole,
            2 => Kind::Begin,
            3 => Kind::More,
            4 => Kind::Withdrawn,
            5 => Kind::Handed,
            _ => return Err(Corrupt),
        };
        let total = usize::try_from(u64::from_ne_bytes(total)).map_err(|_| Corrupt)?;
        let header = usize::from(u16::from_ne_bytes([c, d]));
        Ok(Record { kind, header, part: u32::from_ne_bytes([e, f, g, h]) as usize, total })
    }

    fn len(self) -> usize {
        UNIT + self.header.next_multiple_of(UNIT) + self.part.next_multiple_of(UNIT)
    }
}

/// A long transfer to the node peer.
#[derive(Debug)]
struct Long {
    outgoing: Outgoing,
    sent: usize,
}

/// A long transfer from the node peer.
#[derive(Debug)]
struct Incoming {
    header: Vec<u8>,
    destination: Destination,
    total: usize,
    arrived: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Sent {
    Nothing,
    /// Lazy transfers only: the node peer need not be woken.
    Lazily,
    /// Transfers for which the node peer has to be woken, or a full ring.
    Waking,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Done,
    Full,
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TakenIn {
    pub handled: bool,
    pub more: bool,
    /// The node peer waits for room. There is room now, and the node peer has to be woken.
    pub nudge: bool,
}

#[derive(Debug)]
pub(crate) struct Duplex {
    peer: NodeRank,
    writer: Writer<Ring>,
    reader: Reader<Ring>,
    pool: Arc<BufferPool>,
    short: VecDeque<Outgoing>,
    long: VecDeque<Long>,
    incoming: Option<Incoming>,
    /// Lent payloads that have been copied or withdrawn.
    released: Vec<Token>,
}

impl Duplex {
    pub fn new(RingEnds { peer, writer, reader }: RingEnds, pool: Arc<BufferPool>) -> Self {
        let (short, long) = (VecDeque::new(), VecDeque::new());
        Duplex { peer, writer, reader, pool, short, long, incoming: None, released: Vec::new() }
    }

    /// The longest payload part of a record. Several fit into the ring, so that both sides work at the same time.
    fn fragment_len(&self) -> usize {
        self.writer.capacity() / 4
    }

    pub fn send(&mut self, outgoing: Outgoing) {
        if outgoing.payload.len() <= self.fragment_len() || matches!(outgoing.payload, Payload::Shared(_)) {
            self.short.push_back(outgoing);
        } else {
            self.long.push_back(Long { outgoing, sent: 0 });
        }
    }

    /// True if a transfer waits for room in the ring.
    pub fn is_waiting(&self) -> bool {
        !(self.short.is_empty() && self.long.is_empty())
    }

    /// True if nothing has arrived and nothing waits for room: [`Duplex::receive`] need not be called.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        !self.reader.has_more() && !self.is_waiting()
    }

    /// True if a long transfer is arriving, or a transfer waits for room.
    pub fn is_moving(&self) -> bool {
        self.incoming.is_some() || self.is_waiting()
    }

    pub fn unread(&self) -> Option<u64> {
        self.writer.unread()
    }

    /// Writes queued transfers into the ring, as far as there is room.
    pub fn transmit(&mut self, handler: &mut impl Handler) -> Result<Sent, Corrupt> {
        let mut sent = Sent::Nothing;
        while let Some(next) = self.short.front().or(self.long.front().map(|long| &long.outgoing)) {
            let manner = if next.lazy { Sent::Lazily } else { Sent::Waking };
            let step = if self.short.is_empty() { self.put_fragment(handler)? } else { self.put_whole(handler)? };
            match step {
                Step::Done => sent = sent.max(manner),
                Step::Full if self.writer.want_room()? => {}
                // Even lazy transfers wake the node peer if they fill the ring.
                Step::Full => return Ok(Sent::Waking),
            }
        }
        Ok(sent)
    }

    fn put_whole(&mut self, handler: &mut impl Handler) -> Result<Step, Corrupt> {
        let Some(Outgoing { header, payload, .. }) = self.short.front() else {
            return Ok(Step::Done);
        };
        let (total, header_len) = (payload.len(), header.len());
        let (kind, part) = match payload {
            Payload::Shared(_) => (Kind::Handed, NUMBER),
            _ => (Kind::Whole, total),
        };
        let record = Record { kind, header: header_len, part, total };
        if self.writer.room(record.len())? < record.len() {
            return Ok(Step::Full);
        }
        if kind == Kind::Handed {
            self.hand_over(record);
            return Ok(Step::Done);
        }
        // Withdrawn: nothing is written.
        put(&mut self.writer, record, header, payload, 0, handler);
        self.released.extend(self.short.pop_front().and_then(|done| done.payload.token()));
        Ok(Step::Done)
    }

    fn hand_over(&mut self, record: Record) {
        if let Some(Outgoing { header, payload: Payload::Shared(buffer), .. }) = self.short.pop_front() {
            let number = buffer.hand_to(self.peer) as u64;
            self.writer.write(&record.encode());
            self.writer.write(&header);
            self.writer.pad(UNIT);
            self.writer.write(&number.to_ne_bytes());
            self.writer.pad(UNIT);
            self.writer.show();
        }
    }

    fn put_fragment(&mut self, handler: &mut impl Handler) -> Result<Step, Corrupt> {
        let fragment_len = self.fragment_len();
        let Some(Long { outgoing, sent }) = self.long.front_mut() else {
            return Ok(Step::Done);
        };
        let total = outgoing.payload.len();
        let part = fragment_len.min(total - *sent);
        let (kind, header) = match sent {
            0 => (Kind::Begin, outgoing.header.clone()),
            _ => (Kind::More, Bytes::new()),
        };
        let record = Record { kind, header: header.len(), part, total };
        if self.writer.room(record.len())? < record.len() {
            return Ok(Step::Full);
        }
        if put(&mut self.writer, record, &header, &outgoing.payload, *sent, handler) {
            *sent += part;
            if *sent < total {
                return Ok(Step::Done);
            }
        } else if *sent > 0 {
            let record = Record { kind: Kind::Withdrawn, header: 0, part: 0, total };
            self.writer.write(&record.encode());
            self.writer.show();
        }
        self.released.extend(self.long.pop_front().and_then(|done| done.outgoing.payload.token()));
        Ok(Step::Done)
    }

    pub fn released(&mut self) -> std::vec::Drain<'_, Token> {
        self.released.drain(..)
    }

    pub fn give_up(&mut self) {
        let queued = self.short.drain(..).chain(self.long.drain(..).map(|long| long.outgoing));
        self.released.extend(queued.filter_map(|outgoing| outgoing.payload.token()));
        self.incoming = None;
    }

    /// Receives arrived records, at most [`BATCH`].
    pub fn receive(
        &mut self,
        from: Rank,
        handler: &mut impl Handler,
        out: &mut Outbox,
        traffic: &mut Traffic,
    ) -> Result<TakenIn, Corrupt> {
        let mut taken = TakenIn::default();
        let mut unreleased = 0;
        for _ in 0..BATCH {
            if self.reader.available()? == 0 {
                break;
            }
            let record = self.next(from, handler, out, traffic)?;
            taken.handled = true;
            if record.kind == Kind::Handed {
                // A handed buffer may be large: release the lock, and let its sender get a reply.
                break;
            }
            unreleased += record.len();
            if unreleased >= self.fragment_len() {
                unreleased = 0;
                taken.nudge |= self.reader.release();
            }
        }
        taken.nudge |= self.reader.release();
        taken.more = self.reader.available()? > 0;
        Ok(taken)
    }

    fn next(
        &mut self,
        from: Rank,
        handler: &mut impl Handler,
        out: &mut Outbox,
        traffic: &mut Traffic,
    ) -> Result<Record, Corrupt> {
        let mut bytes = [0; UNIT];
        self.reader.read(&mut bytes)?;
        let record = Record::decode(bytes)?;
        let mut space = [0; MAX_HEADER];
        let header = space.get_mut(..record.header).ok_or(Corrupt)?;
        self.reader.read(header)?;
        self.reader.skip_padding(UNIT)?;
        let mut incoming = match record.kind {
            Kind::Whole if record.part != record.total => return Err(Corrupt),
            Kind::Begin if self.incoming.is_some() || record.part >= record.total => return Err(Corrupt),
            Kind::Handed => {
                let received = self.handed(from, header, record, handler)?;
                traffic.transfers_in += 1;
                traffic.bytes_in += (header.len() + record.total) as u64;
                handler.deliver(from, header, received, out);
                return Ok(record);
            }
            Kind::Whole | Kind::Begin => Incoming {
                header: Vec::new(),
                destination: destination(from, header, record.total, handler)?,
                total: record.total,
                arrived: 0,
            },
            Kind::More | Kind::Withdrawn => self.incoming.take().ok_or(Corrupt)?,
        };
        if record.part > incoming.total - incoming.arrived {
            return Err(Corrupt);
        }
        incoming.take(&mut self.reader, record.part, handler)?;
        self.reader.skip_padding(UNIT)?;
        let deliver = |incoming: Incoming, header: &[u8], handler: &mut _, out: &mut _, traffic: &mut Traffic| {
            traffic.transfers_in += 1;
            traffic.bytes_in += (header.len() + incoming.total) as u64;
            Handler::deliver(handler, from, header, incoming.destination.into_received(), out);
        };
        match record.kind {
            Kind::Withdrawn => {}
            Kind::Whole => deliver(incoming, header, handler, out, traffic),
            _ if incoming.arrived == incoming.total => {
                let header = std::mem::take(&mut incoming.header);
                deliver(incoming, &header, handler, out, traffic);
            }
            _ => {
                if record.kind == Kind::Begin {
                    incoming.header = header.to_vec();
                }
                self.incoming = Some(incoming);
            }
        }
        Ok(record)
    }

    /// Receives a payload in a buffer of the node peer.
    fn handed(
        &mut self,
        from: Rank,
        header: &[u8],
        record: Record,
        handler: &mut impl Handler,
    ) -> Result<Received, Corrupt> {
        let mut number = [0; NUMBER];
        if record.part != NUMBER {
            return Err(Corrupt);
        }
        self.reader.read(&mut number)?;
        self.reader.skip_padding(UNIT)?;
        let number = usize::try_from(u64::from_ne_bytes(number)).map_err(|_| Corrupt)?;
        let view = self.pool.open(self.peer, number, record.total)?;
        Ok(match handler.place(from, header, record.total) {
            Placement::Buffer => Received::Shared(view),
            Placement::At(token) => {
                handler.write(token, 0, &view);
                Received::Placed(token)
            }
        })
    }
}

/// Writes a record; the ring has room for it. False: the payload has been withdrawn, and nothing is written.
fn put(
    writer: &mut Writer<Ring>,
    record: Record,
    header: &[u8],
    payload: &Payload,
    from: usize,
    handler: &mut impl Handler,
) -> bool {
    writer.write(&record.encode());
    writer.write(header);
    writer.pad(UNIT);
    let whole = writer.write_with(record.part, |at, part| match payload.contents() {
        Ok(bytes) => {
            part.copy_from_slice(&bytes[from + at..from + at + part.len()]);
            true
        }
        Err(token) => handler.read(token, from + at, part),
    });
    if whole {
        writer.pad(UNIT);
        writer.show();
    } else {
        writer.take_back();
    }
    whole
}

fn destination(from: Rank, header: &[u8], total: usize, handler: &mut impl Handler) -> Result<Destination, Corrupt> {
    let placement = if total == 0 { Placement::Buffer } else { handler.place(from, header, total) };
    match placement {
        Placement::At(token) => Ok(Destination::At(token)),
        Placement::Buffer => {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(total).map_err(|_| Corrupt)?;
            Ok(Destination::Buffer(bytes))
        }
    }
}

impl Incoming {
    fn take(&mut self, reader: &mut Reader<Ring>, len: usize, handler: &mut impl Handler) -> Result<(), Corrupt> {
        let (destination, arrived) = (&mut self.destination, self.arrived);
        reader.read_with(len, |at, part| match destination {
            Destination::Buffer(bytes) => bytes.extend_from_slice(part),
            Destination::At(token) => handler.write(*token, arrived + at, part),
        })?;
        self.arrived += len;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
