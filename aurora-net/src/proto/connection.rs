//! One end of the path to one peer, composed of the other modules.

use super::acks::ReceivedPackets;
use super::assembler::Progress;
use super::receive::{Held, ReceiveState};
use super::recovery::Recovery;
use super::send_queue::SendQueue;
use super::silence::Silence;
use super::space::Space;
use super::{Config, Counters, Crowd, DatagramError, Event, Instant, Payloads, TransferId, Transmit, earlier};
use crate::Payload;
use crate::wire::{self, Frame, Frames, Packet};
use bytes::Bytes;
use std::time::Duration;

/// A packet longer than this is acknowledged without delay.
const LARGE: usize = 4096;

/// One end of the path to one peer. It decides which datagrams to send and when, without I/O.
///
/// The caller (the shell) has to:
/// - after any call that takes `now` or queues something, call [`poll`](Self::poll) until `None` and queue the replies
///   to its events, so that they carry acknowledgements; then [`poll_transmit`](Self::poll_transmit) until `None` or
///   until the socket is full; then ask for [`poll_timeout`](Self::poll_timeout) again;
/// - call [`handle_timeout`](Self::handle_timeout) at that time;
/// - forget datagrams that it could not send: they count as lost.
///
/// There is no handshake and no end. An idle connection sends nothing.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    next_id: u64,
    queue: SendQueue,
    recovery: Recovery,
    received: ReceivedPackets,
    incoming: ReceiveState,
    silence: Silence,
    crowd: Crowd,
    lost: bool,
    verdict: Option<Event>,
    counters: Counters,
}

impl Connection {
    /// Creates a connection that has not sent anything.
    ///
    /// # Panics
    /// If the configured MTU is below [`Config::MIN_MTU`].
    pub fn new(config: Config, now: Instant) -> Self {
        assert!(config.mtu >= Config::MIN_MTU, "an MTU of {} bytes is below {}", config.mtu, Config::MIN_MTU);
        Connection {
            next_id: 0,
            queue: SendQueue::new(config.mtu - wire::OVERHEAD),
            recovery: Recovery::new(&config),
            received: ReceivedPackets::default(),
            incoming: ReceiveState::new(&config),
            silence: Silence::new(config.silence, now),
            crowd: Crowd { destinations: 1, sources: 0 },
            lost: false,
            verdict: None,
            counters: Counters::default(),
            config,
        }
    }

    /// Queues a transfer. If the peer is lost, nothing is sent, and a lent payload is released at once.
    ///
    /// # Panics
    /// If the header is longer than [`MAX_HEADER`](crate::MAX_HEADER).
    pub fn send(&mut self, header: Bytes, payload: Payload) -> TransferId {
        assert!(header.len() <= crate::MAX_HEADER, "a header of {} bytes", header.len());
        let id = TransferId(self.next_id);
        self.next_id += 1;
        let len = payload.len();
        let bulk = self.queue.push(header, payload);
        if bulk {
            self.recovery.path.want(len);
        }
        if self.lost {
            self.queue.clear();
        }
        id
    }

    /// Handles a datagram.
    ///
    /// # Errors
    /// The reason why the datagram was dropped. The connection is not affected.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: &[u8],
        io: &mut impl Payloads,
    ) -> Result<(), DatagramError> {
        let packet = wire::open(self.config.key, self.config.peer, self.config.me, datagram)?;
        if self.lost {
            return Err(DatagramError::Lost);
        }
        self.advance(now);
        if !self.received.is_new(packet.number) {
            self.counters.duplicates += 1;
            return Ok(());
        }
        self.silence.heard();
        let (eliciting, urgent) = self.handle_frames(now, &packet, io)?;
        // A sender with a share of only a packet or two waits for each acknowledgement.
        let urgent = urgent || self.crowd.sources > 1 || datagram.len() > LARGE;
        if self.is_idle() {
            self.recovery.window.rest();
        }
        self.received.record(now, &packet, eliciting, urgent);
        self.counters.packets_in += 1;
        Ok(())
    }

    /// Handles the time of [`poll_timeout`](Self::poll_timeout). Earlier and later calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.lost {
            return;
        }
        self.advance(now);
        if self.lost {
            return;
        }
        self.received.handle_timeout(now);
        (self.recovery).handle_timeout(now, &mut self.queue, &mut self.counters);
    }

    /// Appends datagrams for the peer to `buf`: at most `max_segments` (at least 1), all of one length except the last,
    /// which may be shorter. The caller observes the limits of GSO (64 KiB, 64 segments).
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        max_segments: usize,
        io: &mut impl Payloads,
    ) -> Option<Transmit> {
        if self.lost {
            return None;
        }
        self.advance(now);
        if self.lost {
            return None;
        }
        let start = buf.len();
        let mtu_probe = self.recovery.mtu_probe(now).filter(|_| self.queue.has_bulk());
        if let Some((len, true)) = mtu_probe {
            self.build_mtu_probe(now, buf, len);
            return Some(Transmit { segment_size: len, segments: 1 });
        }
        let mtu = self.recovery.path.size();
        let mut count = 0;
        let mut last = mtu;
        // In a train only the last datagram may be shorter.
        while count < max_segments.max(1) && last == mtu {
            // A probe without room precedes further bulk data; otherwise it would never leave.
            let Some(len) = self.build(now, buf, mtu_probe.is_none(), max_segments > count + 1, io) else {
                break;
            };
            last = len;
            count += 1;
        }
        self.queue.rotate();
        (count > 0).then(|| Transmit { segment_size: (buf.len() - start).min(mtu), segments: count })
    }

    /// Sets the competitors. Call this before [`poll_transmit`](Self::poll_transmit).
    pub fn set_crowd(&mut self, crowd: Crowd) {
        self.crowd = crowd;
        self.recovery.window.set_crowd(crowd);
    }

    /// Returns true if bulk data is queued.
    pub fn has_bulk(&self) -> bool {
        self.queue.has_bulk()
    }

    /// Returns true if bulk data is queued or in flight.
    pub fn is_sending(&self) -> bool {
        self.queue.has_bulk() || self.recovery.window.is_used()
    }

    /// Announced payload bytes that have not arrived.
    pub fn missing(&self) -> u64 {
        self.incoming.missing()
    }

    /// The time for which the shell may leave received data unread: a small part of the round trip.
    pub fn lull(&self) -> Option<Duration> {
        self.config.network?;
        Some(self.recovery.rtt.smoothed()? / 8)
    }

    /// Returns true if the peer is sending bulk data.
    pub fn is_receiving(&self) -> bool {
        !self.incoming.is_empty()
    }

    /// The time at which to call [`handle_timeout`](Self::handle_timeout); `None`: never. After that call the same time
    /// is not reported again, even while the socket is full.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.lost {
            return None;
        }
        let recovery = self.recovery.poll_timeout();
        let silence = self.answer_is_due().then(|| self.silence.deadline());
        let resumes = if self.queue.has_bulk() { self.recovery.window.poll_timeout() } else { None };
        earlier(earlier(self.received.poll_timeout(), recovery), earlier(resumes, silence))
    }

    /// The next event, oldest first.
    pub fn poll(&mut self) -> Option<Event> {
        (self.incoming.events.pop_front())
            .or_else(|| self.queue.settled.events.pop_front())
            .or_else(|| self.verdict.take())
    }

    /// Returns true if nothing is queued or waits for an acknowledgement.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.recovery.is_in_flight()
    }

    /// The present length of packets in bytes of UDP payload: [`Config::mtu`], or a longer one that has arrived.
    pub fn mtu(&self) -> usize {
        self.recovery.path.size()
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        Counters {
            transfers_out: self.queue.settled.transfers,
            bytes_out: self.queue.settled.bytes,
            withdrawn: self.queue.settled.withdrawn,
            transfers_in: self.incoming.transfers,
            bytes_in: self.incoming.bytes,
            ..self.counters
        }
    }

    pub(crate) fn held(&self) -> Held {
        self.incoming.held()
    }

    /// Handles the frames of a packet. Returns whether it asks for an acknowledgement, and for one without delay.
    fn handle_frames(
        &mut self,
        now: Instant,
        packet: &Packet<'_>,
        io: &mut impl Payloads,
    ) -> Result<(bool, bool), DatagramError> {
        let (mut eliciting, mut urgent, mut excess) = (false, false, None);
        for frame in Frames::new(packet.frames) {
            let frame = frame?;
            // A transfer in one packet needs no quick acknowledgement: most likely a reply will carry it.
            let whole = matches!(frame, Frame::Open { total, bytes, .. } if total == bytes.len() as u64);
            let progress = match frame {
                Frame::Ack(ack) => {
                    let (queue, counters) = (&mut self.queue, &mut self.counters);
                    (self.recovery).on_ack(now, packet.number, &ack, queue, counters)?;
                    continue;
                }
                Frame::Ping => Progress::Redundant,
                Frame::Open { transfer, header, total, bytes } => {
                    self.incoming.open(transfer, header, total, bytes, io)?
                }
                Frame::Data { transfer, offset, bytes } => match self.incoming.data(transfer, offset, bytes, io) {
                    // No room for more data whose header is missing. The header may be the next frame: go on.
                    Err(error @ DatagramError::Excess { .. }) => {
                        excess = Some(error);
                        continue;
                    }
                    progress => progress?,
                },
                Frame::Reset { transfer } => self.incoming.reset(transfer)?,
            };
            eliciting = true;
            // The peer does not know that data that it repeats had arrived.
            urgent |= match progress {
                Progress::New => false,
                Progress::Complete => !whole,
                Progress::Redundant => true,
            };
        }
        excess.map_or(Ok((eliciting, urgent)), Err)
    }

    /// True if sent data waits for the peer's acknowledgement.
    fn answer_is_due(&self) -> bool {
        self.recovery.is_in_flight() || self.recovery.is_probing() || self.queue.has_lost()
    }

    fn advance(&mut self, now: Instant) {
        if self.silence.last == now {
            return;
        }
        let due = self.answer_is_due();
        let planned = if due { self.poll_timeout() } else { None };
        self.silence.advance(now, planned, due);
        if let Some(silent_for) = self.silence.exceeded() {
            self.lost = true;
            self.queue.clear();
            self.incoming.clear();
            self.recovery.clear();
            self.verdict = Some(Event::Silent { silent_for });
        }
    }

    /// Appends a packet of `len` bytes that tests whether the path carries them.
    fn build_mtu_probe(&mut self, now: Instant, buf: &mut Vec<u8>, len: usize) {
        let start = buf.len();
        let (number, floor) = self.recovery.numbers();
        wire::begin(buf, self.config.key, self.config.me, number, floor);
        wire::put_ping(buf);
        wire::put_padding(buf, start + len - wire::CHECKSUM - buf.len());
        wire::seal(buf, start, self.config.peer);
        self.recovery.on_mtu_probe(now, len);
        self.counters.packets_out += 1;
        self.counters.mtu_probes += 1;
    }

    /// Appends a packet, if needed, and returns its length. `bulk`: it may carry bulk data; `more`: one may follow it.
    fn build(
        &mut self,
        now: Instant,
        buf: &mut Vec<u8>,
        bulk: bool,
        more: bool,
        io: &mut impl Payloads,
    ) -> Option<usize> {
        let mtu = self.recovery.path.size();
        let probe = self.recovery.is_probing();
        let keep_some = !self.queue.is_bulks_turn();
        let bulk = bulk && self.queue.has_bulk() && self.recovery.window.has_room(now, keep_some);
        let small = self.queue.has_small() && self.recovery.window.has_room(now, false);
        let ack_due = self.received.is_due();
        if !(bulk || small || probe || ack_due) {
            return None;
        }
        let start = buf.len();
        let end = start + mtu;
        let (number, floor) = self.recovery.numbers();
        wire::begin(buf, self.config.key, self.config.me, number, floor);
        let acks = ack_due || self.received.is_owed();
        if acks {
            self.received.put(now, self.config.window, self.crowd.sources, buf);
        }
        let mut space = Space::new(buf, end - wire::CHECKSUM);
        if bulk || small {
            self.queue.fill(&mut space, bulk, io);
        }
        let is_last = bulk && !self.queue.has_bulk();
        let Space { content, resent, .. } = space;
        let mut eliciting = !content.is_empty();
        if !eliciting && !acks && !probe {
            // Everything queued has been withdrawn.
            buf.truncate(start);
            return None;
        }
        if probe && !eliciting {
            wire::put_ping(buf);
            eliciting = true;
        }
        let unused = end - wire::CHECKSUM - buf.len();
        if more && unused > 0 && unused <= mtu / 8 && self.queue.has_small() {
            // The next small transfer does not fit: pad, so that its packet can join this train.
            wire::put_padding(buf, unused);
        }
        wire::seal(buf, start, self.config.peer);
        let len = buf.len() - start;
        self.recovery.on_sent(now, len, eliciting, content);
        if is_last {
            self.recovery.ask();
        }
        self.counters.packets_out += 1;
        self.counters.packets_resent += u64::from(resent);
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rank;
    use crate::sim::Memory;

    const NOW: Instant = Instant::from_nanos(0);

    fn connection(mtu: usize) -> Connection {
        let mut config = Config::new(1, Rank::new(0), Rank::new(1));
        config.mtu = mtu;
        Connection::new(config, NOW)
    }

    fn transmit(connection: &mut Connection, segments: usize) -> Option<(Transmit, usize)> {
        let mut buf = vec![0xee; 7];
        let train = connection.poll_transmit(NOW, &mut buf, segments, &mut Memory::default())?;
        assert_eq!(buf[..7], [0xee; 7], "what was in the buffer stays there");
        let len = buf.len() - 7;
        assert_eq!(len.div_ceil(train.segment_size), train.segments);
        Some((train, len))
    }

    #[test]
    fn trains_are_of_full_datagrams_but_the_last() {
        let mut connection = connection(1500);
        connection.send(Bytes::new(), Payload::Bytes(vec![0; 4000].into()));
        let (train, len) = transmit(&mut connection, 10).unwrap();
        assert_eq!((train.segment_size, train.segments), (1500, 3));
        assert!(len < 4500);
        let (ask, len) = transmit(&mut connection, 10).unwrap();
        assert_eq!((ask.segments, len), (1, wire::OVERHEAD + 1), "whether all has arrived");
        assert_eq!(transmit(&mut connection, 10), None);
    }

    #[test]
    fn no_train_is_longer_than_asked_for() {
        let mut connection = connection(1500);
        connection.send(Bytes::new(), Payload::Bytes(vec![0; 9000].into()));
        for _ in 0..3 {
            assert_eq!(transmit(&mut connection, 2).map(|(train, _)| train.segments), Some(2));
        }
    }

    #[test]
    fn small_transfers_share_datagrams_and_trains() {
        let mut connection = connection(1500);
        for _ in 0..40 {
            connection.send(Bytes::from_static(b"8 bytes."), Payload::Bytes(vec![0; 100].into()));
        }
        let (train, _) = transmit(&mut connection, 10).unwrap();
        assert_eq!((train.segment_size, train.segments), (1500, 4));
        assert_eq!(transmit(&mut connection, 10), None);
    }

    #[test]
    fn a_full_socket_makes_no_timer_spin() {
        let mut connection = connection(1500);
        connection.send(Bytes::new(), Payload::Bytes(vec![0; 9000].into()));
        transmit(&mut connection, 2).unwrap();
        let mut calls = 0;
        while let Some(due) = connection.poll_timeout() {
            calls += 1;
            connection.handle_timeout(due);
        }
        assert!(matches!(connection.poll(), Some(Event::Silent { .. })));
        assert!(calls < 5, "{calls} calls and nothing could be sent");
    }

    #[test]
    #[should_panic(expected = "an MTU of 576 bytes is below 1200")]
    fn a_packet_must_hold_a_header() {
        connection(576);
    }
}
