//! The exact number of packets and bytes of a transfer, on a path without loss.

use super::*;
use crate::proto::{Connection, Instant};
use crate::sim::Memory;
use crate::wire::{self, DATA_LEN, Frame, Frames, OPEN_LEN, OVERHEAD};
use crate::{Payload, Rank};
use bytes::Bytes;

const KEY: u64 = 7;
const HEADER: usize = 20;
/// An acknowledgement of one range.
const ACK_LEN: usize = 1 + 6 + 4 + 4 + 2 + 1 + 2;
const TICK: Duration = Duration::from_micros(10);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Census {
    /// Packets with transfers.
    payload: usize,
    with_ack: usize,
    bytes: usize,
    /// Packets with an acknowledgement only.
    acks: usize,
    /// Packets with a ping only.
    pings: usize,
}

impl Census {
    fn count(&mut self, datagram: &[u8], from: Rank, to: Rank) {
        let packet = wire::open(KEY, from, to, datagram).unwrap();
        let frames: Vec<_> = Frames::new(packet.frames).map(Result::unwrap).collect();
        let has = |kind: fn(&Frame<'_>) -> bool| frames.iter().any(kind);
        let ack = has(|frame| matches!(frame, Frame::Ack(_)));
        if has(|frame| matches!(frame, Frame::Open { .. } | Frame::Data { .. })) {
            self.payload += 1;
            self.with_ack += usize::from(ack);
            self.bytes += datagram.len();
        } else if has(|frame| matches!(frame, Frame::Ping)) {
            self.pings += 1;
        } else {
            assert_eq!(datagram.len(), OVERHEAD + ACK_LEN, "an acknowledgement and nothing else");
            self.acks += 1;
        }
    }
}

/// Two ends that send alternately. A datagram arrives at once.
struct Pair {
    ends: [Connection; 2],
    memories: [Memory; 2],
    census: [Census; 2],
    delivered: usize,
}

impl Pair {
    fn new(mtu: usize) -> Self {
        let config = |me: usize| Config {
            mtu,
            mtu_limit: mtu,
            window: 1 << 24,
            network: None,
            ..Config::new(KEY, Rank::new(me), Rank::new(1 - me))
        };
        let end = |me| Connection::new(config(me), Instant::default());
        Pair {
            ends: [end(0), end(1)],
            memories: [Memory::default(), Memory::default()],
            census: [Census::default(); 2],
            delivered: 0,
        }
    }

    fn send(&mut self, from: usize, len: usize) {
        let payload = self.memories[from].lend(vec![1; len]);
        self.ends[from].send(Bytes::from_static(&[b'p'; HEADER]), payload);
    }

    fn run(mut self) -> [Census; 2] {
        let mut now = Instant::default();
        while self.ends.iter().any(|end| !end.is_idle() || end.poll_timeout().is_some()) {
            now += TICK;
            for me in [0, 1] {
                self.ends[me].handle_timeout(now);
                let mut datagram = Vec::new();
                self.ends[me].poll_transmit(now, &mut datagram, 1, &mut self.memories[me]);
                if !datagram.is_empty() {
                    self.census[me].count(&datagram, Rank::new(me), Rank::new(1 - me));
                    self.ends[1 - me].handle_datagram(now, &datagram, &mut self.memories[1 - me]).unwrap();
                }
                while self.ends[me].poll().is_some() {
                    self.delivered += 1;
                }
            }
        }
        assert!(self.delivered > 0);
        assert!(self.ends.iter().all(|end| end.counters().packets_resent == 0));
        self.census
    }
}

/// The packets that a transfer needs, and their bytes.
fn least(mtu: usize, len: usize) -> (usize, usize) {
    let first = mtu - OVERHEAD - OPEN_LEN - HEADER;
    let other = mtu - OVERHEAD - DATA_LEN;
    let others = len.saturating_sub(first).div_ceil(other);
    (1 + others, len + HEADER + OPEN_LEN + others * DATA_LEN + (1 + others) * OVERHEAD)
}

#[test]
fn a_transfer_takes_no_packet_and_no_byte_more_than_it_must() {
    for mtu in [1472, 8972] {
        let first = mtu - OVERHEAD - OPEN_LEN - HEADER;
        for len in [0, 1, first, first + 1, 3 * mtu, 704 * 704 * 4 / 16, 1 << 20] {
            let mut pair = Pair::new(mtu);
            pair.send(0, len);
            let [there, back] = pair.run();
            assert_eq!((there.payload, there.bytes), least(mtu, len), "{len} bytes in packets of {mtu}");
            assert_eq!((there.acks, back.payload), (0, 0));
            // One ping at the end of bulk data, so that the loss of its last packet is detected.
            assert!(there.pings <= usize::from(len > first), "{there:?}");
            // Every second packet of Ethernet's size, every jumbo packet, the end and the ping.
            let acks = if mtu > 4096 { there.payload } else { there.payload.div_ceil(2) };
            assert!(back.acks <= acks + there.pings + 1, "{acks}: {back:?} of {there:?}");
        }
    }
}

#[test]
fn acknowledgements_ride_on_data_where_it_flows_both_ways() {
    for mtu in [1472, 8972] {
        let mut pair = Pair::new(mtu);
        pair.send(0, 1 << 20);
        pair.send(1, 1 << 20);
        for census in pair.run() {
            assert!(census.with_ack + 1 >= census.payload / 2, "{census:?}");
            assert!(census.acks <= 2 && census.pings <= 1, "at the end: {census:?}");
        }
    }
}

#[test]
fn small_transfers_share_packets() {
    let mut pair = Pair::new(1472);
    for _ in 0..400 {
        pair.send(0, 8);
    }
    let [there, back] = pair.run();
    let each = OPEN_LEN + HEADER + 8;
    assert_eq!(there.payload, 400_usize.div_ceil((1472 - OVERHEAD) / each));
    assert_eq!(there.bytes, 400 * each + there.payload * OVERHEAD);
    assert!(back.acks <= there.payload && there.pings == 0);
}

#[test]
fn a_request_and_its_answer_are_two_packets_and_an_acknowledgement() {
    let mut pair = Pair::new(1472);
    pair.ends[0].send(Bytes::from_static(&[b'?'; HEADER]), Payload::Empty);
    pair.send(1, 8);
    let [there, back] = pair.run();
    assert_eq!((there.payload, back.payload, back.with_ack), (1, 1, 1));
    assert_eq!((there.acks, back.acks), (1, 0));
}
