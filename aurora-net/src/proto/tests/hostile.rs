//! Hostile datagrams cause no panic, no unbounded memory, and no wrong bytes.

use super::*;
use crate::proto::{Connection, DatagramError, Event, Instant};
use crate::sim::Memory;
use crate::wire::{self, PacketNumber};
use crate::{Payload, Rank, Received};
use bytes::Bytes;
use proptest::prelude::*;

const KEY: u64 = 0x1122_3344_5566_7788;
const NOW: Instant = Instant::from_nanos(1_000_000);

fn connection(me: usize) -> Connection {
    Connection::new(Config::new(KEY, Rank::new(me), Rank::new(1 - me)), NOW)
}

/// All datagrams of rank 0 for a few transfers without a reply.
fn datagrams() -> Vec<Vec<u8>> {
    let mut sender = connection(0);
    let mut memory = Memory::default();
    let lent = memory.lend(bytes(1, 9000));
    sender.send(Bytes::from_static(b"place lent"), lent);
    sender.send(Bytes::from_static(b"buffer"), Payload::Bytes(Bytes::from(bytes(2, 3000))));
    sender.send(Bytes::from_static(b"nothing"), Payload::Empty);
    let mut now = NOW;
    let mut datagrams = Vec::new();
    for _ in 0..10 {
        let mut buf = Vec::new();
        while let Some(train) = sender.poll_transmit(now, &mut buf, 4, &mut memory) {
            datagrams.extend(buf.chunks(train.segment_size).map(<[u8]>::to_vec));
            buf.clear();
        }
        now += 30 * MS;
        sender.handle_timeout(now);
    }
    datagrams
}

fn deliveries(receiver: &mut Connection, memory: &mut Memory) -> Vec<(Bytes, Vec<u8>)> {
    std::iter::from_fn(|| receiver.poll())
        .filter_map(|event| match event {
            Event::Delivered { header, payload: Received::Bytes(bytes) } => Some((header, bytes)),
            Event::Delivered { header, payload: Received::Placed(token) } => Some((header, memory.take(token)?)),
            _ => None,
        })
        .collect()
}

fn is_right(header: &[u8], payload: &[u8]) -> bool {
    match header {
        b"place lent" => payload == bytes(1, 9000),
        b"buffer" => payload == bytes(2, 3000),
        b"nothing" => payload.is_empty(),
        _ => false,
    }
}

/// A packet with arbitrary frames and the right key and checksum.
fn sealed(number: u64, distance: u64, frames: &[u8]) -> Vec<u8> {
    let mut buf = Vec::new();
    let floor = PacketNumber(number.saturating_sub(distance));
    wire::begin(&mut buf, KEY, Rank::new(0), PacketNumber(number), floor);
    buf.extend_from_slice(frames);
    wire::seal(&mut buf, 0, Rank::new(1));
    buf
}

proptest! {
    #[test]
    fn random_bytes_are_refused(datagram in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (mut receiver, mut memory) = (connection(1), Memory::default());
        prop_assert!(receiver.handle_datagram(NOW, &datagram, &mut memory).is_err());
        prop_assert!(receiver.poll().is_none());
    }

    #[test]
    fn damaged_datagrams_are_refused(
        which in any::<prop::sample::Index>(), bit in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(),
    ) {
        let (mut receiver, mut memory) = (connection(1), Memory::default());
        let good = which.get(&datagrams()).clone();
        let mut flipped = good.clone();
        let bit = bit.index(8 * good.len());
        flipped[bit / 8] ^= 1 << (bit % 8);
        let key_is_hit = bit < 64;
        let error = receiver.handle_datagram(NOW, &flipped, &mut memory).unwrap_err();
        prop_assert_eq!(error == DatagramError::ForeignKey, key_is_hit, "{}", error);
        let cut = &good[..cut.index(good.len())];
        prop_assert!(receiver.handle_datagram(NOW, cut, &mut memory).is_err());
        prop_assert!(receiver.poll().is_none());
    }

    #[test]
    fn replays_deliver_nothing_twice(picks in prop::collection::vec(any::<prop::sample::Index>(), 0..200)) {
        let (mut receiver, mut memory) = (connection(1), Memory::default());
        let datagrams: Vec<Vec<u8>> = datagrams();
        let mut seen = Vec::new();
        for pick in picks {
            let datagram: &Vec<u8> = pick.get(&datagrams);
            receiver.handle_datagram(NOW, datagram, &mut memory).unwrap();
            seen.extend(deliveries(&mut receiver, &mut memory));
        }
        prop_assert!(seen.iter().all(|(header, payload)| is_right(header, payload)));
        let headers: std::collections::BTreeSet<_> = seen.iter().map(|(header, _)| header).collect();
        prop_assert_eq!(headers.len(), seen.len());
        prop_assert!(memory.written <= 9000);
    }

    /// A peer with the key that sends nonsense.
    #[test]
    fn sealed_nonsense_never_panics(
        packets in prop::collection::vec(
            (
                0u64..50, 0u64..70_000, prop::collection::vec(mad_frame(), 0..6),
                prop::collection::vec(any::<u8>(), 0..20),
            ), 0..60),
    ) {
        let (mut receiver, mut memory) = (connection(1), Memory::default());
        receiver.send(Bytes::from_static(b"x"), Payload::Bytes(Bytes::from(vec![0; 5000])));
        let mut buf = Vec::new();
        let mut now = NOW;
        for (number, distance, frames, tail) in packets {
            let mut body: Vec<u8> = frames.concat();
            body.extend(tail);
            let _ = receiver.handle_datagram(now, &sealed(number, distance, &body), &mut memory);
            let _ = deliveries(&mut receiver, &mut memory);
            while receiver.poll_transmit(now, &mut buf, 4, &mut memory).is_some() {}
            buf.clear();
            now += MS;
            receiver.handle_timeout(now);
        }
    }
}

/// Well-formed frames with arbitrary numbers.
fn mad_frame() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0u64..6, Just((1 << 48) - 1)];
    let size = prop_oneof![0u64..40, Just(1u64 << 40), Just((1 << 48) - 1)];
    (0..5, number, size, 0usize..30, any::<bool>()).prop_map(|(kind, number, size, len, place)| {
        let mut buf = Vec::new();
        let header: &[u8] = if place { b"place" } else { b"buffer" };
        // The handler limits a placed payload; the handler of this test allocates any length.
        let total = if place { size.min(1 << 20) } else { size };
        match kind {
            0 => wire::put_ping(&mut buf),
            1 => wire::put_reset(&mut buf, number),
            2 => wire::put_open(&mut buf, number, header, total, len),
            3 => wire::put_data(&mut buf, number, size, len),
            _ => wire::put_ack(&mut buf, MS, number, number as u32, std::iter::once(0..number + 1)),
        }
        if kind == 2 || kind == 3 {
            buf.extend(vec![9; len]);
        }
        buf
    })
}

#[test]
fn foreign_datagrams_are_distinguished() {
    let (mut receiver, mut memory) = (connection(1), Memory::default());
    let good = &datagrams()[0];
    let mut handle = |datagram: &[u8]| receiver.handle_datagram(NOW, datagram, &mut memory);
    let mut foreign = good.clone();
    foreign[..8].copy_from_slice(&1u64.to_le_bytes());
    assert_eq!(handle(&foreign), Err(DatagramError::ForeignKey));
    assert_eq!(handle(&[]), Err(DatagramError::Truncated { len: 0 }));
    let mut reflected = Vec::new();
    wire::begin(&mut reflected, KEY, Rank::new(1), PacketNumber(0), PacketNumber(0));
    wire::seal(&mut reflected, 0, Rank::new(1));
    assert!(matches!(handle(&reflected), Err(DatagramError::ForeignRank { .. })));
    assert_eq!(handle(good), Ok(()));
}

#[test]
fn memory_for_what_is_incomplete_is_bounded() {
    let (mut receiver, mut memory) = (connection(1), Memory::default());
    let window = Config::new(KEY, 1.into(), 0.into()).window;
    let mut frames = Vec::new();
    let mut refused = 0;
    for i in 0..20_000 {
        frames.clear();
        if i % 2 == 0 {
            // Announces much and sends little.
            wire::put_open(&mut frames, i, b"buffer", 1 << 40, 1);
            frames.push(1);
        } else {
            // Data of a transfer that never opens.
            wire::put_data(&mut frames, 1 << 30, i * 2000, 1000);
            frames.extend([2; 1000]);
        }
        let datagram = sealed(i, 0, &frames);
        refused += u32::from(receiver.handle_datagram(NOW, &datagram, &mut memory).is_err());
        let held = receiver.held();
        assert!(held.early <= 2 * window && held.buffered <= 6 * window && held.transfers < 1000, "{held:?}");
    }
    assert!(refused > 15_000);
}

#[test]
fn a_header_is_read_behind_data_that_there_is_no_room_for() {
    let (mut receiver, mut memory) = (connection(1), Memory::default());
    let mut frames = Vec::new();
    let mut number = 0;
    // All of a transfer except its header, which was lost, until the receiver keeps nothing more.
    loop {
        frames.clear();
        wire::put_data(&mut frames, 5, 1 + number * 1000, 1000);
        frames.extend([2; 1000]);
        number += 1;
        if receiver.handle_datagram(NOW, &sealed(number, 0, &frames), &mut memory).is_err() {
            break;
        }
    }
    // The sender's next packet has more of that data before another header. If dropped, it is built again unchanged.
    wire::put_open(&mut frames, 9, b"buffer", 3, 3);
    frames.extend(*b"abc");
    let outcome = receiver.handle_datagram(NOW, &sealed(number + 1, 0, &frames), &mut memory);
    assert!(matches!(outcome, Err(DatagramError::Excess { .. })), "not acknowledged: {outcome:?}");
    assert_eq!(deliveries(&mut receiver, &mut memory), [(Bytes::from_static(b"buffer"), b"abc".to_vec())]);
}
