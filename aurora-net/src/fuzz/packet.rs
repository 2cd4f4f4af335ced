//! Fuzzes the decoder of packets.

use super::{KEY, me, peer};
use crate::MAX_HEADER;
use crate::wire::{self, Frame, Frames, MAX_ACK_RANGES, PacketNumber};

/// Decodes `data` as a datagram, and as the frames of an intact packet. Panics if the decoder is wrong.
pub fn packet(data: &[u8]) {
    let claimed = wire::sender_of(KEY, data);
    if let Ok(packet) = wire::open(KEY, peer(), me(), data) {
        assert_eq!(claimed, Ok(peer()));
        assert_eq!(packet.frames.len() + wire::OVERHEAD, data.len());
        assert!(packet.floor <= packet.number);
        frames(packet.frames);
    }
    frames(data);
    envelope(data);
}

/// A sealed packet can be opened, but not with a flipped bit.
fn envelope(data: &[u8]) {
    let mut buf = Vec::new();
    let number = PacketNumber(data.len() as u64);
    wire::begin(&mut buf, KEY, peer(), number, PacketNumber(0));
    buf.extend_from_slice(data);
    wire::seal(&mut buf, 0, me());
    let packet = wire::open(KEY, peer(), me(), &buf).expect("sealed a moment ago");
    assert_eq!((packet.frames, packet.number), (data, number));
    let at = usize::from(data.first().copied().unwrap_or_default()) % buf.len();
    buf[at] ^= 1 << (data.len() % 8);
    assert!(wire::open(KEY, peer(), me(), &buf).is_err(), "a flipped bit in byte {at}");
}

fn frames(data: &[u8]) {
    let mut count = 0;
    for frame in Frames::new(data) {
        count += 1;
        match frame {
            Ok(frame) => survives(&frame),
            Err(_) => assert!(Frames::new(data).nth(count).is_none(), "something after a malformed frame"),
        }
    }
    assert!(count <= data.len());
}

/// A decoded frame can be encoded and decoded again.
fn survives(frame: &Frame<'_>) {
    let mut buf = Vec::new();
    match *frame {
        Frame::Ping => wire::put_ping(&mut buf),
        Frame::Reset { transfer } => wire::put_reset(&mut buf, transfer),
        Frame::Data { transfer, offset, bytes } => {
            assert!(!bytes.is_empty());
            wire::put_data(&mut buf, transfer, offset, bytes.len());
            buf.extend_from_slice(bytes);
        }
        Frame::Open { transfer, header, total, bytes } => {
            assert!(header.len() <= MAX_HEADER && bytes.len() as u64 <= total);
            wire::put_open(&mut buf, transfer, header, total, bytes.len());
            buf.extend_from_slice(bytes);
        }
        Frame::Ack(ref ack) => {
            wire::put_ack(&mut buf, ack.delay, u64::from(ack.window), u32::from(ack.sources), ack.ranges());
        }
    }
    let mut again = Frames::new(&buf);
    let Some(Ok(read)) = again.next() else { panic!("{frame:?} was written as {buf:?}") };
    assert!(again.next().is_none());
    let Frame::Ack(ref ack) = *frame else {
        assert_eq!(format!("{read:?}"), format!("{frame:?}"));
        return;
    };
    let Frame::Ack(read) = read else { panic!("{frame:?} was read as {read:?}") };
    assert_eq!((read.largest, read.delay, read.window), (ack.largest, ack.delay, ack.window));
    let mut below = ack.largest.0 + 1;
    for range in ack.ranges() {
        assert!(range.start < range.end && range.end <= below, "{range:?} below {below}");
        below = range.start;
    }
    assert!(read.ranges().eq(ack.ranges().take(MAX_ACK_RANGES)));
}
