//! Two ends in one test: what one transmits, the other receives.

use super::*;
use crate::endpoint::Waker;
use crate::shm::control::Control;
use crate::shm::segment::Segment;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Lends what it is told to, keeps what arrives.
#[derive(Default)]
struct Desk {
    lent: HashMap<u64, Vec<u8>>,
    placed: HashMap<u64, Vec<u8>>,
    arrived: Vec<(Vec<u8>, Vec<u8>)>,
    reads: usize,
}

impl Handler for Desk {
    fn place(&mut self, _: Rank, header: &[u8], len: usize) -> Placement {
        match header.first() {
            Some(b'@') => {
                let token = self.placed.len() as u64;
                self.placed.insert(token, vec![0; len]);
                Placement::At(Token(token))
            }
            _ => Placement::Buffer,
        }
    }

    fn write(&mut self, token: Token, offset: usize, bytes: &[u8]) {
        let place = self.placed.get_mut(&token.0).expect("placed");
        place[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&mut self, token: Token, offset: usize, into: &mut [u8]) -> bool {
        self.reads += 1;
        let lent = self.lent.get(&token.0);
        lent.inspect(|lent| into.copy_from_slice(&lent[offset..offset + into.len()])).is_some()
    }

    fn deliver(&mut self, _: Rank, header: &[u8], payload: Received, _: &mut Outbox) {
        let bytes = match payload {
            Received::Bytes(bytes) => bytes,
            Received::Placed(token) => self.placed[&token.0].clone(),
        };
        self.arrived.push((header.to_vec(), bytes));
    }

    fn released(&mut self, _: Token, _: &mut Outbox) {}
    fn peer_lost(&mut self, _: Rank, _: Duration, _: &mut Outbox) {}
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn handle_timeout(&mut self, _: Instant, _: &mut Outbox) {}
}

fn links() -> (Link, Link) {
    let segment = Segment::create(Control::len(2)).unwrap();
    let link = |me| {
        let wakers = vec![Waker::new().unwrap(), Waker::new().unwrap()];
        let control = Control::new(segment.clone(), me, wakers);
        let (_, writer, reader) = control.take_rings().pop().unwrap();
        Link::new(writer, reader)
    };
    (link(0), link(1))
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 7) as u8 ^ (at >> 11) as u8).collect()
}

fn outgoing(header: &str, payload: Payload) -> Outgoing {
    Outgoing { to: Rank::new(1), header: Bytes::copy_from_slice(header.as_bytes()), payload }
}

fn receive(to: &mut Link, desk: &mut Desk) -> Result<TakenIn, Corrupt> {
    to.receive(Rank::new(0), desk, &mut Outbox::default(), &mut Traffic::default())
}

/// Until nothing moves any more.
fn exchange(from: &mut Link, to: &mut Link, near: &mut Desk, far: &mut Desk) {
    while from.transmit(near).unwrap() | receive(to, far).unwrap().handled {}
}

#[test]
fn transfers_of_all_lengths_arrive_whole() {
    let (mut near, mut far) = links();
    let (mut sending, mut receiving) = (Desk::default(), Desk::default());
    let piece = near.piece();
    let lens = [0, 1, 15, 16, 17, 1000, piece - 1, piece, piece + 1, 4 * piece, 9 * piece + 5];
    let mut wanted = Vec::new();
    for (turn, len) in lens.iter().cycle().take(5 * lens.len()).enumerate() {
        let header = format!("{}{turn}", if turn % 2 == 0 { '@' } else { ' ' });
        let payload = match turn % 3 {
            _ if *len == 0 => Payload::Empty,
            0 => Payload::Bytes(content(*len).into()),
            _ => {
                sending.lent.insert(turn as u64, content(*len));
                Payload::Lent { token: Token(turn as u64), len: *len }
            }
        };
        near.send(outgoing(&header, payload));
        wanted.push((header.into_bytes(), content(*len)));
        if turn % 4 == 3 {
            exchange(&mut near, &mut far, &mut sending, &mut receiving);
        }
    }
    exchange(&mut near, &mut far, &mut sending, &mut receiving);
    receiving.arrived.sort();
    wanted.sort();
    assert!(receiving.arrived == wanted);
    let mut released: Vec<u64> = near.released().map(|token| token.0).collect();
    released.sort_unstable();
    let mut lent: Vec<u64> = sending.lent.into_keys().collect();
    lent.sort_unstable();
    assert_eq!((released, near.unread(), near.is_waiting()), (lent, None, false));
}

#[test]
fn short_transfers_pass_a_long_one_by() {
    let (mut near, mut far) = links();
    let (mut sending, mut receiving) = (Desk::default(), Desk::default());
    let long = content(20 * near.piece());
    near.send(outgoing("long", Payload::Bytes(long.into())));
    near.transmit(&mut sending).unwrap();
    near.send(outgoing("short", Payload::Empty));
    exchange(&mut near, &mut far, &mut sending, &mut receiving);
    let headers: Vec<&[u8]> = receiving.arrived.iter().map(|(header, _)| &header[..]).collect();
    assert_eq!(headers, [&b"short"[..], b"long"]);
}

#[test]
fn what_is_withdrawn_does_not_arrive_and_disturbs_nothing() {
    let (mut near, mut far) = links();
    let (mut sending, mut receiving) = (Desk::default(), Desk::default());
    let len = 20 * near.piece();
    for (token, len) in [(1, len), (2, 100), (3, len)] {
        near.send(outgoing("@gone", Payload::Lent { token: Token(token), len }));
    }
    near.send(outgoing("here", Payload::Bytes(content(50).into())));
    near.send(outgoing("@here", Payload::Bytes(content(len).into())));
    // The first is withdrawn on its way, the others were never there.
    sending.lent.insert(1, content(len));
    near.transmit(&mut sending).unwrap();
    assert!(sending.reads > 2);
    sending.lent.clear();
    exchange(&mut near, &mut far, &mut sending, &mut receiving);
    let arrived: Vec<(&[u8], usize)> =
        receiving.arrived.iter().map(|(header, bytes)| (&header[..], bytes.len())).collect();
    assert_eq!(arrived, [(&b"here"[..], 50), (b"@here", len)]);
    assert!(receiving.arrived[1].1 == content(len));
    assert_eq!(near.released().count(), 3);
}

#[test]
fn records_that_make_no_sense_are_an_error() {
    let record = |kind, header, part, total| Record { kind, header, part, total }.encode();
    let bad = [
        [0xff; UNIT],
        [0; UNIT],
        // More than there is, or than was said.
        record(Kind::Whole, 0, 64, 64),
        record(Kind::Whole, 64, 0, 0),
        record(Kind::Whole, MAX_HEADER + 1, 0, 0),
        record(Kind::Whole, 0, 0, 5),
        record(Kind::Begin, 0, 0, usize::MAX),
        // Nothing has begun.
        record(Kind::More, 0, 0, 5),
        record(Kind::Withdrawn, 0, 0, 5),
    ];
    for bytes in bad {
        let (mut near, mut far) = links();
        near.writer.write(&bytes);
        near.writer.show();
        assert_eq!(receive(&mut far, &mut Desk::default()).unwrap_err(), Corrupt, "{bytes:?}");
    }
}

#[test]
fn giving_up_gives_everything_back() {
    let (mut near, _far) = links();
    let mut sending = Desk::default();
    let len = 20 * near.piece();
    for (token, len) in [(1, len), (2, len), (3, 10)] {
        sending.lent.insert(token, content(len));
        near.send(outgoing("x", Payload::Lent { token: Token(token), len }));
    }
    near.transmit(&mut sending).unwrap();
    near.give_up();
    assert_eq!((near.released().count(), near.is_waiting()), (3, false));
}
