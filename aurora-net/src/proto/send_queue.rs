//! Outgoing transfers, and their order.

use super::outgoing::{MIN_PART, Outgoing};
use super::round_robin::RoundRobin;
use super::slots::Slots;
use super::space::{Part, Put, SentFrame, Space};
use super::{Event, Payloads};
use crate::Payload;
use crate::wire::{self, RESET_LEN};
use bytes::Bytes;
use std::collections::VecDeque;

/// After this many packets without bulk data, one begins with bulk data if there is any.
const MOST_WITHOUT_BULK: u32 = 16;

/// Completed transfers, for the connection.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) events: VecDeque<Event>,
    /// Transfers acknowledged whole.
    pub(super) transfers: u64,
    pub(super) bytes: u64,
    pub(super) withdrawn: u64,
}

/// All transfers that are not yet acknowledged. Small ones (at most one packet) go first; bulk ones go round-robin. In
/// both lanes lost data precedes new data.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    /// Bytes of frames in a packet of the base length: a transfer that fits is small and never split.
    capacity: usize,
    slots: Slots,
    /// The next transfer's number, assigned when it is opened: so the receiver's set of delivered ones has few gaps.
    next_number: u64,
    small_new: VecDeque<u32>,
    small_lost: VecDeque<Part>,
    bulk_new: RoundRobin,
    bulk_lost: VecDeque<Part>,
    resets: VecDeque<u64>,
    without_bulk: u32,
    pub(super) settled: Settled,
}

impl SendQueue {
    pub(super) fn new(capacity: usize) -> Self {
        SendQueue { capacity, ..SendQueue::default() }
    }

    /// Queues a transfer. True: it is a bulk transfer.
    pub(super) fn push(&mut self, header: Bytes, payload: Payload) -> bool {
        let transfer = Outgoing::new(header, payload, self.capacity);
        let small = transfer.small;
        let slot = self.slots.insert(transfer);
        if small {
            self.small_new.push_back(slot);
        } else {
            self.bulk_new.push(slot);
        }
        !small
    }

    /// True if a small transfer or a RESET is to be sent.
    pub(super) fn has_small(&self) -> bool {
        !(self.resets.is_empty() && self.small_lost.is_empty() && self.small_new.is_empty())
    }

    pub(super) fn has_bulk(&self) -> bool {
        !self.bulk_lost.is_empty() || self.bulk_new.front().is_some()
    }

    /// True if bulk data has waited for so many small packets that the next packet begins with it.
    pub(super) fn is_bulks_turn(&self) -> bool {
        self.without_bulk >= MOST_WITHOUT_BULK && self.has_bulk()
    }

    pub(super) fn has_lost(&self) -> bool {
        !(self.resets.is_empty() && self.small_lost.is_empty() && self.bulk_lost.is_empty())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.resets.is_empty()
    }

    /// Fills a packet. `bulk`: the window has room for bulk data too.
    pub(super) fn fill(&mut self, space: &mut Space<'_>, bulk: bool, io: &mut impl Payloads) {
        let (wanted, turn) = (self.has_bulk(), self.is_bulks_turn());
        let mut bulk_bytes = 0;
        if bulk && turn {
            bulk_bytes = self.fill_bulk(space, io);
        }
        self.fill_small(space, io);
        if bulk && !turn && space.room() >= MIN_PART {
            bulk_bytes = self.fill_bulk(space, io);
        }
        self.without_bulk = if wanted && bulk_bytes == 0 { self.without_bulk + 1 } else { 0 };
        // RESETs of payloads just found withdrawn.
        self.fill_resets(space);
    }

    /// Makes the next packets carry another bulk transfer.
    pub(super) fn rotate(&mut self) {
        self.bulk_new.rotate();
    }

    fn fill_resets(&mut self, space: &mut Space<'_>) {
        while space.room() >= RESET_LEN
            && let Some(transfer) = self.resets.pop_front()
        {
            wire::put_reset(space.buf, transfer);
            space.content.push(SentFrame::Reset { transfer });
        }
    }

    fn fill_small(&mut self, space: &mut Space<'_>, io: &mut impl Payloads) {
        self.fill_resets(space);
        while let Some(part) = self.small_lost.pop_front() {
            if self.put_again(&part, space, io) == Put::Full {
                self.small_lost.push_front(part);
                return;
            }
        }
        while let Some(&slot) = self.small_new.front()
            && self.put_new(slot, space, io) != Put::Full
        {
            self.small_new.pop_front();
        }
    }

    /// Returns the number of bytes written.
    fn fill_bulk(&mut self, space: &mut Space<'_>, io: &mut impl Payloads) -> usize {
        let before = space.buf.len();
        while let Some(part) = self.bulk_lost.pop_front() {
            if self.put_again(&part, space, io) == Put::Full {
                self.bulk_lost.push_front(part);
                return space.buf.len() - before;
            }
        }
        while let Some(slot) = self.bulk_new.front() {
            if self.put_new(slot, space, io) == Put::Full {
                break;
            }
            let transfer = self.slots.get(slot);
            if transfer.is_some_and(|sent| sent.next < sent.len()) {
                // The packet is full.
                break;
            }
            self.bulk_new.retire(slot);
        }
        space.buf.len() - before
    }

    /// Writes unsent data: the header and as much payload as fits, or more of the payload.
    fn put_new(&mut self, slot: u32, space: &mut Space<'_>, io: &mut impl Payloads) -> Put {
        let Some(transfer) = self.slots.get_mut(slot) else {
            return Put::Gone;
        };
        let left = transfer.len() - transfer.next;
        let part = Part {
            slot,
            transfer: transfer.number.unwrap_or(self.next_number),
            offset: transfer.next,
            len: u32::try_from(left).unwrap_or(u32::MAX),
            opens: transfer.number.is_none(),
        };
        let put = transfer.put(&part, space, io);
        match put {
            Put::Full => {}
            Put::Gone => self.abandon(slot),
            Put::Done(len) => {
                if part.opens {
                    transfer.number = Some(self.next_number);
                    self.next_number += 1;
                }
                transfer.next += u64::from(len);
                space.content.push(SentFrame::Part(Part { len, ..part }));
            }
        }
        put
    }

    /// Writes lost data again. Data that does not fit stays lost.
    fn put_again(&mut self, part: &Part, space: &mut Space<'_>, io: &mut impl Payloads) -> Put {
        let Some(transfer) = self.slots.opened(part.slot, part.transfer) else {
            return Put::Gone;
        };
        let put = transfer.put(part, space, io);
        match put {
            Put::Full => {}
            Put::Gone => self.abandon(part.slot),
            Put::Done(len) => {
                space.resent = true;
                let sent = Part { len, ..part.clone() };
                space.content.push(SentFrame::Part(sent));
                if len < part.len {
                    self.bulk_lost.push_front(Part {
                        offset: part.offset + u64::from(len),
                        len: part.len - len,
                        opens: false,
                        ..*part
                    });
                }
            }
        }
        put
    }

    pub(super) fn on_acked(&mut self, frame: &SentFrame) {
        let SentFrame::Part(part) = frame else { return };
        if let Some(transfer) = self.slots.opened(part.slot, part.transfer)
            && transfer.settle(u64::from(part.len) + u64::from(part.opens))
        {
            self.settled.transfers += 1;
            self.settled.bytes += transfer.size();
            self.remove(part.slot);
        }
    }

    pub(super) fn on_lost(&mut self, frame: &SentFrame) {
        let part = match frame {
            SentFrame::Part(part) => part,
            SentFrame::Reset { transfer } => return self.resets.push_back(*transfer),
        };
        match self.slots.opened(part.slot, part.transfer) {
            Some(transfer) if transfer.small => self.small_lost.push_back(part.clone()),
            Some(_) => self.bulk_lost.push_back(part.clone()),
            None => {}
        }
    }

    pub(super) fn clear(&mut self) {
        let mut settled = std::mem::take(&mut self.settled);
        let tokens = self.slots.drain().filter_map(|transfer| transfer.token());
        settled.events.extend(tokens.map(Event::Released));
        *self = SendQueue::new(self.capacity);
        self.settled = settled;
    }

    /// The payload has been withdrawn: a RESET tells the peer not to wait for the rest.
    fn abandon(&mut self, slot: u32) {
        self.settled.withdrawn += 1;
        let transfer = self.slots.get(slot);
        (self.resets).extend(transfer.and_then(|transfer| transfer.number));
        self.bulk_new.retire(slot);
        self.remove(slot);
    }

    fn remove(&mut self, slot: u32) {
        let token = self.slots.remove(slot).and_then(|transfer| transfer.token());
        self.settled.events.extend(token.map(Event::Released));
    }
}

#[cfg(test)]
mod tests {
    use super::super::round_robin::MAX_ACTIVE;
    use super::super::sent::Content;
    use super::*;
    use crate::sim::Memory;
    use crate::wire::{Frame, Frames};

    const CAPACITY: usize = 1400;

    /// Transfer, offset and length; the offset of an OPEN frame is 0.
    type Pieces = Vec<(u64, u64, usize)>;

    fn queue(lengths: &[usize]) -> SendQueue {
        let mut queue = SendQueue::new(CAPACITY);
        for &len in lengths {
            queue.push(Bytes::from_static(b"h"), Payload::Bytes(vec![1; len].into()));
        }
        queue
    }

    fn packet(queue: &mut SendQueue, bulk: bool) -> (Pieces, Content) {
        let mut buf = Vec::new();
        let mut space = Space::new(&mut buf, CAPACITY);
        queue.fill(&mut space, bulk, &mut Memory::default());
        let content = space.content;
        assert!(buf.len() <= CAPACITY);
        let pieces = Frames::new(&buf)
            .map(|frame| match frame.unwrap() {
                Frame::Open { transfer, bytes, .. } => (transfer, 0, bytes.len()),
                Frame::Data { transfer, offset, bytes } => (transfer, offset, bytes.len()),
                other => panic!("{other:?}"),
            })
            .collect();
        (pieces, content)
    }

    #[test]
    fn small_ones_first_then_bulk_fills_the_packet() {
        let mut queue = queue(&[5000, 10, 20]);
        let (pieces, _) = packet(&mut queue, true);
        assert_eq!(pieces[..2], [(0, 0, 10), (1, 0, 20)]);
        let (transfer, offset, len) = pieces[2];
        assert_eq!((transfer, offset), (2, 0));
        let (pieces, _) = packet(&mut queue, true);
        assert_eq!(pieces[0], (2, len as u64, CAPACITY - wire::DATA_LEN));
    }

    #[test]
    fn small_ones_are_never_cut() {
        let mut queue = queue(&[800, 800]);
        assert_eq!(packet(&mut queue, true).0, [(0, 0, 800)]);
        assert_eq!(packet(&mut queue, true).0, [(1, 0, 800)]);
        assert!(!queue.has_small() && !queue.is_empty());
    }

    #[test]
    fn without_room_for_bulk_only_small_ones_leave() {
        let mut queue = queue(&[5000, 10]);
        assert_eq!(packet(&mut queue, false).0, [(0, 0, 10)]);
        assert_eq!(packet(&mut queue, false).0, []);
    }

    #[test]
    fn what_was_lost_comes_first_and_completes() {
        let mut queue = queue(&[3000]);
        let (first, lost) = packet(&mut queue, true);
        let (_, arrived) = packet(&mut queue, true);
        lost.frames().iter().for_each(|frame| queue.on_lost(frame));
        arrived.frames().iter().for_each(|frame| queue.on_acked(frame));
        let (again, arrived) = packet(&mut queue, true);
        assert_eq!(again, first);
        let (_, rest) = packet(&mut queue, true);
        for content in [arrived, rest] {
            assert_eq!(queue.settled.transfers, 0);
            content.frames().iter().for_each(|frame| queue.on_acked(frame));
        }
        assert!(queue.is_empty());
        assert_eq!((queue.settled.transfers, queue.settled.bytes), (1, 3001));
    }

    #[test]
    fn a_bounded_number_of_bulk_transfers_goes_round_robin() {
        let mut queue = queue(&[3000; MAX_ACTIVE + 10]);
        let mut turns = Vec::new();
        for _ in 0..2 * MAX_ACTIVE {
            turns.push(packet(&mut queue, true).0[0].0);
            queue.rotate();
        }
        let once: Vec<_> = (0..MAX_ACTIVE as u64).collect();
        assert_eq!(turns[..MAX_ACTIVE], once);
        assert_eq!(turns[MAX_ACTIVE..], once);
    }

    #[test]
    fn slots_are_used_again_and_late_news_of_the_former_is_ignored() {
        let mut queue = queue(&[10]);
        let (_, first) = packet(&mut queue, true);
        first.frames().iter().for_each(|frame| queue.on_acked(frame));
        queue.push(Bytes::new(), Payload::Bytes(vec![1; 10].into()));
        packet(&mut queue, true);
        for frame in first.frames() {
            queue.on_acked(frame);
            queue.on_lost(frame);
        }
        assert_eq!(queue.settled.transfers, 1);
        assert!(!queue.has_lost());
    }
}
